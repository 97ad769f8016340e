// Whole peers over a simulated path, in virtual time: one or more flows of media share a forward link, their feedback shares a
// backward one. Time goes from deadline to deadline; after each step what must always hold is checked. One seed and one
// set of settings are one run, on every machine. No threads, no clock.

package import RTCBase
package import RTCEngine

package struct PeerSimulation {
    package struct Flow: Sendable {
        package var call = SimulatedCall()
        package var encoder = SyntheticEncoder.Settings()
        package var limits = BitrateLimits(max: Bitrate(bitsPerSecond: 40_000_000))
        /// What the encoder may make, from a second of the run on.
        package var ceilings: [(second: Double, bitsPerSecond: Int64)] = []
        package var beginSecond = 0.0

        package init() {}
    }

    package struct Settings: Sendable {
        package var seed: UInt64
        package var seconds = 60.0
        package var forward: LinkConditions
        package var backward: LinkConditions
        package var flows = [Flow()]
        package var senderHeldOff = HeldOff()
        package var receiverHeldOff = HeldOff()

        package init(seed: UInt64, forward: LinkConditions, backward: LinkConditions) {
            self.seed = seed
            self.forward = forward
            self.backward = backward
        }
    }

    package struct Report: Sendable {
        package var flows: [FlowReport] = []
        /// Of everything that entered the forward link's queue.
        package var queueingDelay = DelayHistogram()
        package var overflowCount = 0
        package var steps = 0
        /// What must never happen and did; empty in a good run.
        package var violations: [String] = []
    }

    /// The start of virtual time, to place steps and outages.
    package static var start: MonotonicTime { VirtualClock().now }
    /// A moment of the run.
    package static func time(_ second: Double) -> MonotonicTime { start.adding(nanoseconds: Int64(second * 1e9)) }

    private let settings: Settings
    private var clock = VirtualClock()
    private var flows: [MediaFlow]
    private var forward: SimulatedLink
    private var backward: SimulatedLink
    private var senderHeldOff: HeldOff
    private var receiverHeldOff: HeldOff
    private var arrival = SimulatedLink.Arrival()
    private var nextSample: MonotonicTime
    private var report = Report()

    package init(_ settings: Settings) {
        self.settings = settings
        let end = Self.time(settings.seconds)
        let roundTrip = Int64((settings.forward.delayMilliseconds + settings.backward.delayMilliseconds) * 1e6)
        flows = settings.flows.enumerated().map { index, flow in
            var call = flow.call
            call.ssrc &+= UInt32(index) << 16
            call.codec = flow.encoder.codec
            return MediaFlow(
                MediaFlow.Settings(
                    call: call, encoder: flow.encoder, limits: flow.limits,
                    ceilings: flow.ceilings.map { (Self.time($0.second), $0.bitsPerSecond) }, begin: Self.time(flow.beginSecond), end: end,
                    seed: settings.seed &+ UInt64(index) &* 7_919, roundTripNanoseconds: max(1_000_000, roundTrip)), index: index)
        }
        forward = SimulatedLink(settings.forward, seed: settings.seed)
        backward = SimulatedLink(settings.backward, seed: settings.seed &+ 0x5EED)
        senderHeldOff = settings.senderHeldOff
        receiverHeldOff = settings.receiverHeldOff
        nextSample = Self.start.adding(milliseconds: Self.sampleMilliseconds)
    }

    package mutating func run() -> Report {
        // What is under way at the end may still arrive.
        let limit = Self.time(settings.seconds).adding(milliseconds: 2_000)
        var stepsAtOnce = 0
        while clock.now < limit {
            let before = clock.now
            clock.advance(to: step(), limit: limit)
            report.steps += 1
            stepsAtOnce = clock.now.nanoseconds(since: before) > 1_000 ? 0 : stepsAtOnce + 1
            if stepsAtOnce > Self.maxStepsAtOnce {
                report.violations.append("\(clock.now.milliseconds(since: Self.start)) ms: time stands still")
                break
            }
        }
        return finish()
    }

    /// Does what is due; the time of the next step.
    private mutating func step() -> MonotonicTime {
        let now = clock.now
        var next = nextSample
        let senderReturns = senderHeldOff.end(at: now)
        let receiverReturns = receiverHeldOff.end(at: now)
        if senderReturns == nil { for index in flows.indices { flows[index].runSender(now: now, forward: &forward) } }
        if receiverReturns == nil {
            while forward.receive(now: now, into: &arrival) {
                flows[arrival.tag / 2].handleArrival(arrival.bytes, isRTCP: arrival.tag % 2 == 1, now: now, backward: &backward)
            }
            for index in flows.indices { flows[index].runReceiver(now: now, backward: &backward) }
        }
        if senderReturns == nil {
            while backward.receive(now: now, into: &arrival) {
                flows[arrival.tag / 2].handleFeedback(arrival.bytes, now: now, forward: &forward)
            }
        }
        if nextSample <= now {
            for index in flows.indices { flows[index].sample(now: now) }
            nextSample = nextSample.adding(milliseconds: Self.sampleMilliseconds)
            next = nextSample
        }
        for index in flows.indices {
            if senderReturns == nil, receiverReturns == nil { flows[index].check(now: now) }
            if senderReturns == nil, let deadline = flows[index].nextSenderDeadline() { next = min(next, deadline) }
            if receiverReturns == nil, let deadline = flows[index].nextReceiverDeadline() { next = min(next, deadline) }
        }
        if receiverReturns == nil, let deadline = forward.nextDeadline() { next = min(next, deadline) }
        if senderReturns == nil, let deadline = backward.nextDeadline() { next = min(next, deadline) }
        if let senderReturns { next = min(next, senderReturns) }
        if let receiverReturns { next = min(next, receiverReturns) }
        return next
    }

    private mutating func finish() -> Report {
        for index in flows.indices {
            report.flows.append(flows[index].finish(now: clock.now))
            report.violations += flows[index].violations
        }
        report.queueingDelay = forward.queueingDelay
        report.overflowCount = forward.overflowCount
        checkBounds(of: forward, settings.forward, name: "forward")
        checkBounds(of: backward, settings.backward, name: "backward")
        return report
    }

    private mutating func checkBounds(of link: SimulatedLink, _ conditions: LinkConditions, name: String) {
        if let limit = conditions.queueMilliseconds {
            if Double(link.maxWaitNanoseconds) / 1e6 > limit {
                report.violations.append("the \(name) queue held \(link.maxWaitNanoseconds) ns")
            }
        } else if link.maxWaitingBytes > conditions.queueBytes {
            report.violations.append("the \(name) queue held \(link.maxWaitingBytes) bytes")
        }
    }

    private static let sampleMilliseconds: Int64 = 100
    /// Within a microsecond each; all deadlines of two engines and links together are far fewer.
    private static let maxStepsAtOnce = 1_000
}
