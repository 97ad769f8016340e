import RTCBase
import RTCEngine
import Testing

@Suite("ProbeController")
struct ProbeControllerTests {
    private let now = MonotonicTime(milliseconds: 1_000)

    private func after(_ milliseconds: Int64) -> MonotonicTime { now.adding(milliseconds: milliseconds) }

    private func started(ceiling: Double = 20e6) -> ProbeController {
        var probes = ProbeController()
        probes.start(estimate: 500_000, ceiling: ceiling, now: now)
        return probes
    }

    @Test("three and six times the start, no further than what is wanted")
    func start() {
        var probes = started()
        let first = probes.takeProbe()
        let second = probes.takeProbe()
        #expect(first?.rate.bitsPerSecond == 1_500_000 && second?.rate.bitsPerSecond == 3_000_000)
        #expect(first?.cluster != second?.cluster)
        #expect(first?.minimumBytes == 2_812 && first?.minimumPackets == 5)
        let taken1 = probes.takeProbe()
        #expect(taken1 == nil)
        var small = started(ceiling: 800_000)
        let taken2 = small.takeProbe()
        #expect(taken2?.rate.bitsPerSecond == 800_000)
        let taken3 = small.takeProbe()
        #expect(taken3 == nil)
    }

    @Test("a probe that got through is followed by twice as much, one that did not by none")
    func results() throws {
        var probes = started()
        _ = probes.takeProbe()
        let second = probes.takeProbe()
        let probe = try #require(second)
        var other = probes
        probes.onResult(.init(probe: probe, bitsPerSecond: 3e6, isFull: true), estimate: 2.7e6, ceiling: 20e6, now: after(100))
        let taken4 = probes.takeProbe()
        #expect(taken4?.rate.bitsPerSecond == 6_000_000)
        other.onResult(.init(probe: probe, bitsPerSecond: 1e6, isFull: false), estimate: 1e6, ceiling: 20e6, now: after(100))
        let taken5 = other.takeProbe()
        #expect(taken5 == nil)
    }

    @Test("CC-01 app-limited: every five seconds while more is wanted than the estimate")
    func appLimited() {
        var probes = started(ceiling: 800_000)
        while probes.takeProbe() != nil {}
        probes.poll(estimate: 500_000, ceiling: 400_000, isAppLimited: true, now: after(10_000))
        let taken6 = probes.takeProbe()
        #expect(taken6 == nil)
        // First the probes of the start, again.
        for attempt: Int64 in 1...3 {
            probes.poll(estimate: 500_000, ceiling: 2e6, isAppLimited: false, now: after(attempt * 500))
            let again = probes.takeProbe()
            #expect(again?.rate.bitsPerSecond == 1_500_000)
        }
        probes.poll(estimate: 500_000, ceiling: 2e6, isAppLimited: true, now: after(4_000))
        let taken7 = probes.takeProbe()
        #expect(taken7 == nil)
        probes.poll(estimate: 500_000, ceiling: 2e6, isAppLimited: true, now: after(6_600))
        let taken8 = probes.takeProbe()
        #expect(taken8?.rate.bitsPerSecond == 1_000_000)
        probes.onDemand(estimate: 500_000, ceiling: 2e6, now: after(8_000))
        let taken9 = probes.takeProbe()
        #expect(taken9 != nil)
    }

    @Test("CC-07 after a drop, until the old rate is near again")
    func recovery() {
        var probes = started()
        while probes.takeProbe() != nil {}
        probes.onDrop(from: 2e6, now: after(10_000))
        probes.onDrop(from: 600_000, now: after(10_500))
        probes.poll(estimate: 300_000, ceiling: 20e6, isAppLimited: false, now: after(11_000))
        let taken10 = probes.takeProbe()
        #expect(taken10 == nil)
        probes.poll(estimate: 300_000, ceiling: 20e6, isAppLimited: false, now: after(12_100))
        let taken11 = probes.takeProbe()
        #expect(taken11?.rate.bitsPerSecond == 600_000)
        probes.poll(estimate: 1.6e6, ceiling: 20e6, isAppLimited: false, now: after(15_000))
        let taken12 = probes.takeProbe()
        #expect(taken12 == nil)
    }
}
