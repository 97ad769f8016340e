// Flows of paced packets under `CongestionController` over one simulated bottleneck, in virtual time: no media, no
// retransmission, only what the estimate depends on. Each flow is an encoder that follows its target in frames of 30 a
// second, a pacer, and a receiver that writes transport-wide feedback. Processes may be held off their core. Reports the
// estimate against the link, the queue, and what arrived.

package import RTCBase
package import RTCEngine
import RTCWire

package struct FlowSimulation {
    package struct Flow: Sendable {
        /// Seconds after the start of the simulation.
        package var startSeconds = 0.0
        package var limits = BitrateLimits()
        /// What the encoder could use from a time on, in order of time; empty for no bound.
        package var demand: [(atSeconds: Double, bitsPerSecond: Int64)] = []
        /// Frames differ in size by up to this share of their mean.
        package var frameSpread = 0.2
        /// 20 ms packets of so many bytes beside the video; zero for none.
        package var audioBytes = 0
        /// When the sender, and when the receiver is held off its core.
        package var senderStalls: [Range<MonotonicTime>] = []
        package var receiverStalls: [Range<MonotonicTime>] = []

        package init() {}
    }

    package struct Settings: Sendable {
        package var seed: UInt64
        package var forward: LinkConditions
        package var backward: LinkConditions
        /// New weather towards the receivers, in order of time.
        package var changes: [(atSeconds: Double, conditions: LinkConditions)] = []
        package var flows = [Flow()]
        package var seconds = 60.0

        package init(seed: UInt64, forward: LinkConditions, backward: LinkConditions) {
            self.seed = seed
            self.forward = forward
            self.backward = backward
        }
    }

    package struct Sample: Sendable {
        package var seconds: Double
        package var flow: Int
        package var estimate: Double
        package var acknowledged: Double
        /// Bits per second that the link could have carried over the last 100 ms; infinite when unlimited.
        package var linkRate: Double
        /// As the controller sees it.
        package var queueMilliseconds: Double
    }

    package struct Arrival: Sendable {
        package var seconds: Double
        package var flow: Int
        package var byteCount: Int
        /// Above the link's own delay and the packet's own time on it: queue and jitter.
        package var queueMilliseconds: Double
    }

    package struct Report: Sendable {
        /// Ten a second and flow.
        package var samples: [Sample] = []
        package var arrivals: [Arrival] = []
        package var statistics: [CongestionStatistics] = []
        package var violations: [String] = []
        package var skippedFrames = 0
    }

    private let settings: Settings
    private var changes: [(atSeconds: Double, conditions: LinkConditions)]
    private var clock = VirtualClock()
    private let start: MonotonicTime
    private var flows: [SimulatedFlow] = []
    private var forward: SimulatedLink
    private var backward: SimulatedLink
    private var nextSample: MonotonicTime
    private var report = Report()
    private var datagram = SimulatedLink.Arrival()

    /// The start of virtual time, to place stalls and outages.
    package static var start: MonotonicTime { VirtualClock().now }

    package init(_ settings: Settings) {
        self.settings = settings
        changes = settings.changes
        start = clock.now
        nextSample = start
        forward = SimulatedLink(settings.forward, seed: settings.seed)
        backward = SimulatedLink(settings.backward, seed: settings.seed &+ 0x5EED)
        for (index, flow) in settings.flows.enumerated() {
            flows.append(SimulatedFlow(flow, index: index, start: start, seed: settings.seed &+ UInt64(index) &* 977))
        }
    }

    package mutating func run() -> Report {
        let end = start.adding(nanoseconds: Int64(settings.seconds * 1e9))
        while clock.now < end {
            step()
            var next = min(nextSample, end)
            if let change = changes.first { next = min(next, time(change.atSeconds)) }
            if let deadline = forward.nextDeadline() { next = min(next, deadline) }
            if let deadline = backward.nextDeadline() { next = min(next, deadline) }
            for flow in flows { next = min(next, flow.nextDeadline(now: clock.now) ?? next) }
            clock.advance(to: [next], limit: end)
        }
        report.statistics = flows.map(\.controller.statistics)
        report.skippedFrames = flows.reduce(0) { $0 + $1.skippedFrames }
        return report
    }

    private func time(_ seconds: Double) -> MonotonicTime { start.adding(nanoseconds: Int64(seconds * 1e9)) }

    private mutating func step() {
        let now = clock.now
        while let change = changes.first, time(change.atSeconds) <= now {
            forward.conditions = change.conditions
            changes.removeFirst()
        }
        while forward.receive(now: now, into: &datagram) {
            let sent = flows[datagram.tag].arrive(datagram.bytes)
            let rate = forward.conditions.capacity.bits(from: now.adding(milliseconds: -100), to: now) * 10
            let ownMilliseconds = rate > 0 ? Double(datagram.bytes.count * 8) / rate * 1e3 : 0
            report.arrivals.append(
                Arrival(
                    seconds: now.milliseconds(since: start) / 1e3, flow: datagram.tag, byteCount: datagram.bytes.count,
                    queueMilliseconds: now.milliseconds(since: sent) - forward.conditions.delayMilliseconds - ownMilliseconds))
        }
        while backward.receive(now: now, into: &datagram) { flows[datagram.tag].feedback.append(datagram.bytes) }
        for index in flows.indices {
            flows[index].step(now: now, forward: &forward, backward: &backward)
            if let deadline = flows[index].controller.nextDeadline(), deadline <= now, !flows[index].isStalled(now) {
                report.violations.append("deadline in the past after a timeout was handled")
            }
        }
        if now >= nextSample { sample(now) }
    }

    private mutating func sample(_ now: MonotonicTime) {
        nextSample = now.adding(milliseconds: 100)
        let linkRate = forward.conditions.capacity.bits(from: now.adding(milliseconds: -100), to: now) * 10
        for (index, flow) in flows.enumerated() where now >= flow.begin {
            let statistics = flow.controller.statistics
            report.samples.append(
                Sample(
                    seconds: now.milliseconds(since: start) / 1e3, flow: index,
                    estimate: Double(flow.controller.targets.estimate.bitsPerSecond),
                    acknowledged: Double(statistics.acknowledgedBitsPerSecond), linkRate: linkRate,
                    queueMilliseconds: statistics.queueingDelayMilliseconds))
        }
    }
}

extension FlowSimulation.Report {
    /// Estimates of a flow within `seconds`.
    package func estimates(flow: Int = 0, within seconds: Range<Double>) -> [Double] {
        samples.filter { $0.flow == flow && seconds.contains($0.seconds) }.map(\.estimate)
    }

    package func mean(flow: Int = 0, within seconds: Range<Double>) -> Double {
        let values = estimates(flow: flow, within: seconds)
        return values.isEmpty ? 0 : values.reduce(0, +) / Double(values.count)
    }

    /// Bits per second that arrived.
    package func carried(flow: Int = 0, within seconds: Range<Double>) -> Double {
        let bytes = arrivals.lazy.filter { $0.flow == flow && seconds.contains($0.seconds) }.reduce(0) { $0 + $1.byteCount }
        return Double(bytes) * 8 / (seconds.upperBound - seconds.lowerBound)
    }

    /// Over the packets of all flows.
    package func queue(percentile: Double, within seconds: Range<Double>) -> Double {
        let delays = arrivals.lazy.filter { seconds.contains($0.seconds) }.map(\.queueMilliseconds).sorted()
        return delays.isEmpty ? 0 : delays[min(delays.count - 1, Int(Double(delays.count) * percentile / 100))]
    }

    /// Seconds after `seconds` until the estimate first is at least `bitsPerSecond`; nil when it never is.
    package func seconds(until bitsPerSecond: Double, flow: Int = 0, after seconds: Double) -> Double? {
        samples.first { $0.flow == flow && $0.seconds >= seconds && $0.estimate >= bitsPerSecond }.map { $0.seconds - seconds }
    }
}
