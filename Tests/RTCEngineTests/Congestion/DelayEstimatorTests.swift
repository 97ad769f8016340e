import RTCBase
import RTCEngine
import Testing

@Suite("DelayEstimator")
struct DelayEstimatorTests {
    @Test("the reference time goes on over the wrap of its 24 bits, an older one stays older")
    func reference() {
        var delay = DelayEstimator(estimate: 1e6, limits: 50_000...20e6)
        let first = delay.referenceNanoseconds(8_388_600)
        let wrapped = delay.referenceNanoseconds(-8_388_606)
        #expect(wrapped - first == 10 * 64_000_000)
        let check1 = delay.referenceNanoseconds(8_388_601) - first == 64_000_000
        #expect(check1)
        let check2 = delay.referenceNanoseconds(-8_388_605) - first == 11 * 64_000_000
        #expect(check2)
    }

    @Test("packets that wait longer and longer lower the estimate to what arrives")
    func overuse() {
        var delay = DelayEstimator(estimate: 2e6, limits: 50_000...2e6)
        var lowered = false
        // 1 Mbit/s for a second, then 2 Mbit/s into 1 Mbit/s: every packet of 1250 bytes takes 10 ms and comes each 5 ms.
        for index in 0..<300 where !lowered {
            let sent = MonotonicTime(milliseconds: 1_000 + Int64(index) * 10 - Int64(max(0, index - 100)) * 5)
            let arrival = Int64(1_020 + index * 10) * 1_000_000
            delay.onArrival(SentPacket(number: Int64(index), byteCount: 1_250, time: sent), arrival: arrival, isCounted: false)
            if index % 10 == 0 {
                lowered = delay.update(
                    isAppLimited: false, usualLoss: 0, responseNanoseconds: 100_000_000,
                    now: MonotonicTime(nanoseconds: arrival + 20_000_000))
            }
        }
        #expect(lowered)
        #expect(delay.rate.estimate < 1.1e6)
        #expect(!delay.isQuiet)
    }

    @Test("a delay that stands at 30 ms is a queue on a smooth path, and none where single groups differ by as much")
    func jitter() {
        func lowers(roughMilliseconds: Int64) -> Bool {
            var delay = DelayEstimator(estimate: 8e6, limits: 50_000...20e6)
            var lowered = false
            for index in 0..<600 {
                let sent = MonotonicTime(milliseconds: 1_000 + Int64(index) * 20)
                // An empty path for three seconds, then a delay that rises to 28 ms, slower than any trend.
                let standing = Int64(min(max(index - 150, 0), 420)) * 66_667
                let wait = standing + (index % 2 == 0 ? 0 : roughMilliseconds * 1_000_000)
                let arrival = sent.nanoseconds + 20_000_000 + wait
                delay.onArrival(SentPacket(number: Int64(index), byteCount: 20_000, time: sent), arrival: arrival, isCounted: false)
                guard index % 3 == 0 else { continue }
                let isLower = delay.update(
                    isAppLimited: false, usualLoss: 0, responseNanoseconds: 100_000_000,
                    now: MonotonicTime(nanoseconds: arrival + 20_000_000))
                lowered = lowered || isLower
            }
            return lowered
        }
        #expect(lowers(roughMilliseconds: 0))
        #expect(!lowers(roughMilliseconds: 14))
    }
}
