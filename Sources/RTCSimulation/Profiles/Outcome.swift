// What a run came to, held against what its scenario demands. Numbers that were not asked for are there as well: the
// tables of the command line show them.

import RTCBase

package struct Outcome: Sendable {
    package let scenario: Scenario
    package let report: PeerSimulation.Report
    /// Mean of the estimate over the capacity, by steady span.
    package private(set) var steadyShares: [Double] = []
    /// By drop; infinite when it did not come back before the run or the rate changed again.
    package private(set) var recoverySeconds: [Double] = []
    package private(set) var demandSeconds: Double?
    /// Of two flows, what the larger one has of both.
    package private(set) var largerShare: Double?
    /// Bits that arrived over the capacity, over the whole run.
    package private(set) var linkUse = 0.0
    package private(set) var queueingDelay95Milliseconds = 0.0
    package private(set) var deliveredShare = 0.0
    package private(set) var longestPauseMilliseconds = 0.0
    package private(set) var pauseBeyondLinkMilliseconds = 0.0
    /// Demands that were not met, with numbers; empty in a good run.
    package private(set) var failures: [String] = []

    package init(_ scenario: Scenario) {
        self.scenario = scenario
        var simulation = PeerSimulation(scenario.settings)
        report = simulation.run()
        measure()
        judge()
    }

    private mutating func measure() {
        let capacity = scenario.settings.forward.capacity
        queueingDelay95Milliseconds = report.queueingDelay.milliseconds(percentile: 95)
        deliveredShare = report.flows.map(\.deliveredShare).min() ?? 0
        longestPauseMilliseconds = report.flows.map(\.longestPauseMilliseconds).max() ?? 0
        let samples = report.flows.first?.samples ?? []
        steadyShares = scenario.steady.map { Self.meanShare(samples, within: Self.times($0), of: capacity) }
        recoverySeconds = scenario.dropEnds.map { Self.recovery(samples, after: $0, capacity: capacity) }
        if let rise = scenario.demandRise {
            let reached = samples.first { $0.time >= PeerSimulation.time(rise.second) && $0.encoderRate >= rise.bitsPerSecond * 0.9 }
            demandSeconds = reached.map { $0.time.milliseconds(since: PeerSimulation.time(rise.second)) / 1_000 } ?? .infinity
        }
        if let span = scenario.sharing, report.flows.count == 2 {
            let bits = report.flows.map { $0.arrivedBits(within: Self.times(span)) }
            largerShare = max(bits[0], bits[1]) / max(1, bits[0] + bits[1])
        }
        let whole = PeerSimulation.start..<PeerSimulation.time(scenario.settings.seconds)
        let arrived = report.flows.reduce(0) { $0 + $1.arrivedBits(within: whole) }
        linkUse = arrived / max(1, capacity.bits(from: whole.lowerBound, to: whole.upperBound))
        if case .trace(let trace, let start) = capacity {
            for pause in report.flows.flatMap(\.longPauses) {
                let silence = trace.longestGapMilliseconds(from: pause.lowerBound, to: pause.upperBound, start: start)
                pauseBeyondLinkMilliseconds = max(
                    pauseBeyondLinkMilliseconds, pause.upperBound.milliseconds(since: pause.lowerBound) - silence)
            }
        }
    }

    private mutating func judge() {
        let limits = scenario.limits
        failures = report.violations.map { "violation: \($0)" }
        if let range = limits.steadyShare {
            for (span, share) in zip(scenario.steady, steadyShares) where !range.contains(share) {
                failures.append("estimate at \(percent(share)) of the capacity from \(Int(span.lowerBound)) to \(Int(span.upperBound)) s")
            }
        }
        if let limit = limits.recoverySeconds {
            for (end, seconds) in zip(scenario.dropEnds, recoverySeconds) where seconds > limit {
                failures.append("80 % of the capacity \(seconds) s after the drop that ended at \(Int(end)) s")
            }
            if let demandSeconds, demandSeconds > limit { failures.append("the wanted rate after \(demandSeconds) s") }
        }
        if let limit = limits.queueingDelay95Milliseconds, queueingDelay95Milliseconds >= limit {
            failures.append("queueing delay p95 \(queueingDelay95Milliseconds) ms")
        }
        if let limit = limits.deliveredShare, deliveredShare < limit {
            failures.append("\(percent(deliveredShare)) of the frames delivered")
        }
        if let limit = limits.largerShare, let largerShare, largerShare > limit { failures.append("one flow has \(percent(largerShare))") }
        if let limit = limits.linkUse, linkUse < limit { failures.append("\(percent(linkUse)) of the link used") }
        if let limit = limits.pauseBeyondLinkMilliseconds, pauseBeyondLinkMilliseconds > limit {
            failures.append("no frame for \(Int(pauseBeyondLinkMilliseconds)) ms beyond the link's own silence")
        }
    }

    private static func times(_ span: Range<Double>) -> Range<MonotonicTime> {
        PeerSimulation.time(span.lowerBound)..<PeerSimulation.time(span.upperBound)
    }

    private static func meanShare(_ samples: [FlowSample], within span: Range<MonotonicTime>, of capacity: LinkCapacity) -> Double {
        let inside = samples.filter { span.contains($0.time) }
        guard !inside.isEmpty else { return 0 }
        let mean = inside.reduce(0) { $0 + $1.estimate } / Double(inside.count)
        let seconds = span.upperBound.milliseconds(since: span.lowerBound) / 1_000
        return mean / (capacity.bits(from: span.lowerBound, to: span.upperBound) / seconds)
    }

    private static func recovery(_ samples: [FlowSample], after second: Double, capacity: LinkCapacity) -> Double {
        let end = PeerSimulation.time(second)
        let wanted = capacity.bits(from: end, to: end.adding(milliseconds: 100)) * 10 * 0.8
        guard let sample = samples.first(where: { $0.time > end && $0.estimate >= wanted }) else { return .infinity }
        return sample.time.milliseconds(since: end) / 1_000
    }
}

private func percent(_ share: Double) -> String { "\((share * 1_000).rounded() / 10) %" }
