import RTCBase
import RTCSimulation
import Testing

@Suite("Outcome")
struct OutcomeTests {
    private static func scenario(_ change: (inout Scenario) -> Void) -> Scenario {
        var forward = LinkConditions(delayMilliseconds: 20)
        forward.rateBitsPerSecond = 2_000_000
        var settings = PeerSimulation.Settings(seed: 1, forward: forward, backward: LinkConditions(delayMilliseconds: 20))
        settings.seconds = 8
        var scenario = Scenario(profile: "test", settings: settings, summary: "")
        change(&scenario)
        return scenario
    }

    @Test("what was demanded and did not happen is told with numbers, what was not demanded is not")
    func judgement() {
        let free = Outcome(
            Self.scenario {
                $0.steady = [5..<8]
                $0.limits = ScenarioLimits()
                $0.limits.steadyShare = nil
                $0.limits.queueingDelay95Milliseconds = nil
            })
        #expect(free.failures.isEmpty)
        #expect(free.steadyShares.count == 1)
        let strict = Outcome(
            Self.scenario {
                $0.steady = [5..<8]
                $0.dropEnds = [7.95]
                $0.limits.steadyShare = 9...10
                $0.limits.recoverySeconds = -1
                $0.limits.queueingDelay95Milliseconds = 0
                $0.limits.deliveredShare = 2
                $0.limits.linkUse = 2
                $0.limits.pauseBeyondLinkMilliseconds = -1
            })
        #expect(strict.failures.count == 6)
        #expect(strict.failures.contains { $0.contains("from 5 to 8 s") })
    }

    @Test("over a trace, a pause counts only beyond the link's own silence")
    func pauses() throws {
        // 3 Mbit/s with a silence of 1.5 s.
        let silence = (0..<2_000).map { UInt32($0 * 4) }.filter { !(4_000..<5_500).contains($0) }
        let trace = try DeliveryTrace(milliseconds: silence)
        let outcome = Outcome(.trace(trace, name: "LTE", isLTE: true))
        #expect(outcome.longestPauseMilliseconds > 1_400)
        #expect(outcome.pauseBeyondLinkMilliseconds < 1_000)
        #expect(outcome.linkUse > 0.3 && outcome.linkUse <= 1)
        #expect(outcome.report.violations.isEmpty)
    }
}
