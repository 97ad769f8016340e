import Foundation
import RTCBase
import RTCEngine
import RTCSimulation

/// Texts about single runs.
enum RunReport {
    static func printFailure(_ outcome: Outcome) {
        let scenario = outcome.scenario
        print("FAILED seed \(scenario.settings.seed), profile \(scenario.profile) (\(scenario.summary))")
        for failure in outcome.failures { print("    \(failure)") }
        if NetworkProfile.named(scenario.profile) != nil {
            print("    again: reactor-simulate --seed \(scenario.settings.seed) --profile \(scenario.profile) --samples")
        }
        // Seen at once, also when the output goes to a file.
        fflush(nil)
    }

    static func printOne(_ outcome: Outcome, showsSamples: Bool) {
        let scenario = outcome.scenario
        print("seed \(scenario.settings.seed), profile \(scenario.profile): \(scenario.summary), \(outcome.report.steps) steps")
        for (index, flow) in outcome.report.flows.enumerated() {
            if showsSamples {
                printSamples(flow, scenario: scenario)
                printPauses(flow, scenario: scenario)
            }
            let send = flow.send
            print(
                "flow \(index): frames made \(flow.framesMade), skipped \(flow.framesSkipped), arrived \(flow.framesDelivered)"
                    + " (\(number(flow.deliveredShare * 100, digits: 2)) %), key \(flow.keyFramesMade), sizes changed \(flow.resolutionChanges)"
            )
            print(
                "    latency p50 \(number(flow.latency.milliseconds(percentile: 50))) p95 \(number(flow.latency.milliseconds(percentile: 95)))"
                    + " ms, longest pause \(number(flow.longestPauseMilliseconds)) ms; audio \(flow.audioDelivered)/\(flow.audioSent), p95"
                    + " \(number(flow.audioLatency.milliseconds(percentile: 95))) ms")
            print(
                "    packets \(send?.packetsSent ?? 0), again \(send?.retransmittedPackets ?? 0), padding \(send?.paddingPackets ?? 0),"
                    + " PLIs \(send?.plisReceived ?? 0), frames dropped by the pacer \(send?.framesDropped ?? 0);"
                    + " overuses \(flow.congestion.overuses), probes \(flow.congestion.probesSent)")
            if let receive = flow.receive {
                print(
                    "    received again \(receive.retransmittedReceived), lost \(receive.packetsLost), NACKs \(receive.nacksSent), frames"
                        + " dropped by the receiver \(receive.framesDropped), key \(receive.keyFrames)")
            }
        }
        print(
            "estimate % \(outcome.steadyShares.map { number($0 * 100, digits: 1) }), back after"
                + " \(outcome.recoverySeconds.map { number($0, digits: 1) }) s, link used \(number(outcome.linkUse * 100)) %, queueing delay p50"
                + " \(number(outcome.report.queueingDelay.milliseconds(percentile: 50))) p95 \(number(outcome.queueingDelay95Milliseconds)) max"
                + " \(number(outcome.report.queueingDelay.maxMilliseconds)) ms, overflows \(outcome.report.overflowCount)")
        if outcome.failures.isEmpty { print("all demands met") } else { printFailure(outcome) }
    }

    static func printTraces(_ outcomes: [Outcome]) {
        print(
            pad("trace", 28) + pad("kbit/s", 8) + pad("seconds", 9) + pad("used %", 8) + pad("queue p50/p95/max ms", 22)
                + pad("frames %", 10)
                + pad("skipped", 9) + pad("latency p50/p95 ms", 20) + "longest pause, beyond the link's ms")
        for outcome in outcomes {
            guard let flow = outcome.report.flows.first, case .trace(let trace, _) = outcome.scenario.settings.forward.capacity else {
                continue
            }
            let queue = outcome.report.queueingDelay
            let delays = [queue.milliseconds(percentile: 50), queue.milliseconds(percentile: 95), queue.maxMilliseconds]
            let latencies = [50, 95].map { number(flow.latency.milliseconds(percentile: $0)) }
            print(
                pad(outcome.scenario.profile, 28) + pad(number(trace.meanBitsPerSecond / 1_000), 8)
                    + pad(number(outcome.scenario.settings.seconds), 9) + pad(number(outcome.linkUse * 100, digits: 1), 8)
                    + pad(delays.map { number($0) }.joined(separator: " / "), 22) + pad(number(flow.deliveredShare * 100, digits: 2), 10)
                    + pad("\(flow.framesSkipped)", 9) + pad(latencies.joined(separator: " / "), 20)
                    + "\(number(flow.longestPauseMilliseconds)), \(number(outcome.pauseBeyondLinkMilliseconds))")
        }
    }

    private static func printSamples(_ flow: FlowReport, scenario: Scenario) {
        print("   s  capacity  estimate   encoder   arrived kbit/s  pacer ms  queue seen ms")
        let capacity = scenario.settings.forward.capacity
        var second = 1.0
        while second <= scenario.settings.seconds {
            let span = PeerSimulation.time(second - 1)..<PeerSimulation.time(second)
            let inside = flow.samples.filter { span.contains($0.time) }
            if let last = inside.last {
                let available = capacity.bits(from: span.lowerBound, to: span.upperBound)
                let estimate = inside.reduce(0) { $0 + $1.estimate } / Double(inside.count)
                print(
                    [
                        right(number(second), 4), right(number(available / 1_000), 10), right(number(estimate / 1_000), 10),
                        right(number(last.encoderRate / 1_000), 10), right(number(inside.reduce(0) { $0 + $1.arrivedBits } / 1_000), 10),
                        right(number((inside.map(\.pacerQueueSeconds).max() ?? 0) * 1_000), 10),
                        right(number(inside.reduce(0) { $0 + $1.seenQueueMilliseconds } / Double(inside.count)), 15),
                    ].joined())
            }
            second += 1
        }
    }

    /// Pauses of more than half a second, with what the link could have carried meanwhile.
    private static func printPauses(_ flow: FlowReport, scenario: Scenario) {
        let capacity = scenario.settings.forward.capacity
        for pause in flow.longPauses where pause.upperBound.milliseconds(since: pause.lowerBound) > 500 {
            let begin = pause.lowerBound.milliseconds(since: PeerSimulation.start) / 1_000
            var text =
                "no frame for \(number(pause.upperBound.milliseconds(since: pause.lowerBound))) ms from \(number(begin, digits: 2)) s on"
            text += "; the link could carry \(number(capacity.bits(from: pause.lowerBound, to: pause.upperBound) / 8_000, digits: 1)) kB"
            if case .trace(let trace, let start) = capacity {
                let silence = trace.silence(from: pause.lowerBound, to: pause.upperBound, start: start)
                text += " and was silent for \(number(silence.sumMilliseconds)) ms"
            }
            print(text)
        }
    }

    private static func right(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(1, width - text.count)) + text }
}
