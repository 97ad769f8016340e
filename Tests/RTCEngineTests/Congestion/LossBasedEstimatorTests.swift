import RTCBase
import RTCEngine
import RTCSimulation
import Testing

@Suite("LossBasedEstimator")
struct LossBasedEstimatorTests {
    private var now = MonotonicTime(milliseconds: 1_000)
    private var loss = LossBasedEstimator()
    private var generator = SplitMix64(seed: 5)

    /// Half seconds of 100 packets each, `fraction` of them lost.
    private mutating func run(_ windows: Int, fraction: Double, isQueueing: Bool = false, stopsAtBound: Bool = false) {
        for _ in 0..<windows {
            for _ in 0..<50 {
                if stopsAtBound, loss.bound != nil { return }
                now = now.adding(milliseconds: 10)
                for _ in 0..<2 { loss.add(isLost: generator.chance(fraction), sent: now) }
                loss.update(
                    carried: 2e6 * (1 - fraction), estimate: 2e6, isQueueing: isQueueing, responseNanoseconds: 100_000_000, now: now)
            }
        }
    }

    @Test("random loss costs a trial at most and is usual from then on", arguments: [0.02, 0.05, 0.1, 0.2])
    mutating func random(fraction: Double) {
        run(20, fraction: fraction)
        #expect(loss.bound == nil)
        #expect(abs(loss.usualFraction - fraction) < 0.06)
        run(20, fraction: fraction)
        #expect(loss.bound == nil)
    }

    @Test("loss that goes away with the rate leaves a bound, which rises")
    mutating func congestive() throws {
        run(10, fraction: 0)
        run(8, fraction: 0.2, stopsAtBound: true)
        let bound = try #require(loss.bound)
        #expect(bound < 1.7e6)
        run(6, fraction: 0)
        let later = try #require(loss.bound)
        #expect(later > bound)
        loss.release(above: 1e6)
        #expect(loss.bound == nil)
    }

    @Test("while a queue stands, and in an outage, loss says nothing")
    mutating func silent() {
        run(10, fraction: 0.3, isQueueing: true)
        #expect(loss.bound == nil)
        run(10, fraction: 1)
        #expect(loss.bound == nil)
    }

    @Test("one burst is no state")
    mutating func burst() {
        run(10, fraction: 0)
        run(1, fraction: 0.4)
        run(1, fraction: 0)
        #expect(loss.bound == nil)
    }

    @Test("CC-05 a packet that came after all is not lost")
    mutating func repair() {
        for _ in 0..<20 {
            for index in 0..<100 {
                now = now.adding(milliseconds: 5)
                loss.add(isLost: index % 5 == 0, sent: now)
                if index % 5 == 0 { loss.repair() }
            }
            loss.update(carried: 2e6, estimate: 2e6, isQueueing: false, responseNanoseconds: 100_000_000, now: now)
        }
        #expect(loss.bound == nil)
        #expect(loss.lastFraction == 0)
    }
}
