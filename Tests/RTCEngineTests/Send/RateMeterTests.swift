import RTCBase
import RTCEngine
import Testing

@Suite("RateMeter")
struct RateMeterTests {
    @Test("the rate of the last half second; silence is zero")
    func rate() {
        var meter = RateMeter(initial: Bitrate(bitsPerSecond: 48_000))
        let assumed = meter.bitsPerSecond(now: start)
        #expect(assumed == 48_000)
        for index in 0..<100 as Range<Int64> { meter.add(byteCount: 100, now: start.adding(milliseconds: index * 20)) }
        let measured = meter.bitsPerSecond(now: start.adding(milliseconds: 2000))
        #expect(abs(measured - 40_000) < 1_700)
        let silence = meter.bitsPerSecond(now: start.adding(milliseconds: 4000))
        #expect(silence < 100)
    }

    @Test("equal parts, no more than each can use, the rest to the others")
    func shares() {
        var shares: [Int64] = []
        RateShare.divide(900, ceilings: [.max, .max, .max], into: &shares)
        #expect(shares == [300, 300, 300])
        RateShare.divide(900, ceilings: [100, -1, .max, 350], into: &shares)
        #expect(shares == [100, 0, 450, 350])
        RateShare.divide(900, ceilings: [100, 200], into: &shares)
        #expect(shares == [100, 200])
        RateShare.divide(-5, ceilings: [.max, .max], into: &shares)
        #expect(shares == [0, 0])
        RateShare.divide(900, ceilings: [], into: &shares)
        #expect(shares.isEmpty)
    }
}
