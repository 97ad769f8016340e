import RTCBase
import RTCEngine
import RTCSimulation
import Testing

@Suite("Pacer")
struct PacerTests {
    private let megabit = Bitrate(bitsPerSecond: 1_000_000)

    /// Sends packets of 1000 bytes until the pacer says no; how many.
    private func burst(_ pacer: inout Pacer, now: MonotonicTime) -> Int {
        var count = 0
        while pacer.maySend(now: now) {
            pacer.onSent(byteCount: 1000, now: now)
            count += 1
        }
        return count
    }

    @Test("5 ms leave at once, the rest in steps of 5 ms or more, at the rate on average")
    func steady() {
        var pacer = Pacer(rate: Bitrate(bitsPerSecond: 5_000_000), now: start)
        var now = start
        var (bytes, timers) = (0, 0)
        var last = start
        while now.milliseconds(since: start) < 1000 {
            pacer.advance(to: now, isBacklogged: timers > 0)
            bytes += 1000 * burst(&pacer, now: now)
            timers += 1
            last = now
            now = pacer.nextSend
            #expect(now.milliseconds(since: last) >= 5)
        }
        #expect(timers <= 200)
        #expect(abs(Double(bytes) * 8 - 5_000_000) < 60_000)
    }

    @Test("a late wake makes up for at most 10 ms, whatever the delay", arguments: [1, 4, 12, 100, 1000] as [Int64])
    func late(milliseconds: Int64) {
        var pacer = Pacer(rate: Bitrate(bitsPerSecond: 8_000_000), now: start)
        pacer.advance(to: start, isBacklogged: false)
        _ = burst(&pacer, now: start)
        let wake = pacer.nextSend.adding(milliseconds: milliseconds)
        pacer.advance(to: wake, isBacklogged: true)
        // One packet is a millisecond: the burst, what was missed up to the bound, and the packet that crosses it.
        let count = burst(&pacer, now: wake)
        #expect(count == 5 + Int(min(milliseconds, 10)))
    }

    @Test("idle time gives no credit")
    func idle() {
        var pacer = Pacer(rate: Bitrate(bitsPerSecond: 8_000_000), now: start)
        let later = start.adding(milliseconds: 5000)
        pacer.advance(to: later, isBacklogged: false)
        let count = burst(&pacer, now: later)
        #expect(count == 5)
    }

    @Test("a probe leaves at its own rate in steps of a millisecond, and does not cost the media after it")
    func probe() {
        var pacer = Pacer(rate: megabit, now: start)
        pacer.advance(to: start, isBacklogged: true)
        pacer.start(Probe(cluster: 3, rate: Bitrate(bitsPerSecond: 8_000_000), minimumBytes: 15_000, minimumPackets: 5), now: start)
        var times: [Int64] = []
        var now = start
        while pacer.probeCluster == 3 {
            pacer.advance(to: now, isBacklogged: true)
            while pacer.maySend(now: now), pacer.probeCluster != nil {
                pacer.onSent(byteCount: 1000, now: now)
                times.append(now.nanoseconds(since: start) / 1_000_000)
            }
            now = max(pacer.nextSend, now)
        }
        #expect(times == Array(0..<15))
        #expect(pacer.maySend(now: now))
    }

    @Test("a probe that cannot be filled ends by itself")
    func staleProbe() {
        var pacer = Pacer(rate: megabit, now: start)
        pacer.start(Probe(cluster: 1, rate: megabit, minimumBytes: 2000, minimumPackets: 5), now: start)
        pacer.advance(to: start.adding(milliseconds: 200), isBacklogged: false)
        #expect(pacer.probeCluster == nil)
    }

    @Test("padding is due only as far as nothing else left")
    func padding() {
        var pacer = Pacer(rate: megabit, now: start)
        #expect(!pacer.paddingIsDue(now: start))
        pacer.setRate(megabit, padding: Bitrate(bitsPerSecond: 80_000))
        pacer.advance(to: start, isBacklogged: false)
        #expect(pacer.paddingIsDue(now: start))
        pacer.onSent(byteCount: 1000, now: start)
        #expect(!pacer.paddingIsDue(now: start.adding(milliseconds: 90)))
        #expect(pacer.paddingIsDue(now: start.adding(milliseconds: 101)))
        #expect(pacer.nextPadding.map { $0 > start } == true)
    }
}
