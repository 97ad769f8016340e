// Congestion control of one connection, the sender's half (Proposals/0005; draft-ietf-rmcat-gcc-02 is where it comes
// from). In: every packet at its egress, transport-wide feedback, receiver reports and REMB from peers that have nothing
// better, what the encoders could use. Out: `TargetRates`, and probes for the pacer. Delay and loss each give a bound and
// the lower one is the estimate. What the peer says is checked against what was sent; times of the two clocks are only
// compared as differences. Late scheduling of either side is no congestion: see `ArrivalGroups` and `QueueingDelay`.

package import RTCBase

/// How fast a connection may send.
package struct CongestionController: Sendable {
    var limits: BitrateLimits
    /// What the encoders could use together.
    var demand: Bitrate
    var history = SentPacketHistory()
    var delay: DelayEstimator
    var loss = LossBasedEstimator()
    var probes = ProbeController()
    var probeResults = ProbeEstimator()
    var roundTrip = RoundTripFloor()
    /// By send time: whether the sender makes what it may.
    var sentRate = AckedBitrate()
    /// A bound from the peer; only peers without transport-wide feedback are believed.
    var remb: Double?
    var reported = ReportedLossControl()
    /// One after the highest number that feedback spoke of.
    var toldEnd: Int64?
    var lastFeedback: MonotonicTime?
    /// Seconds between reports, smoothed; peers take 50 to 250 ms.
    var feedbackInterval = 0.1
    /// Wakes since feedback came, with packets on their way; see `handleTimeout`.
    var silentWakes = 0
    var nextWake: MonotonicTime?
    /// The estimate when the silence began.
    var beforeSilence: Double?
    package internal(set) var statistics = CongestionStatistics()

    package init(limits: BitrateLimits, now: MonotonicTime) {
        self.limits = limits.ordered
        demand = self.limits.max
        delay = DelayEstimator(estimate: Double(self.limits.start.bitsPerSecond), limits: self.limits.range)
    }

    package mutating func onSent(_ packet: SentPacket) {
        guard history.append(packet) else { return }
        statistics.packetsSent &+= 1
        sentRate.add(arrival: packet.time.nanoseconds, byteCount: packet.byteCount)
        if packet.probe != nil { probeResults.onSent(packet) }
        if nextWake == nil { nextWake = packet.time.adding(nanoseconds: Self.wakeInterval) }
        if statistics.packetsSent == 1 { probes.start(estimate: estimate, ceiling: ceiling, now: packet.time) }
    }

    package mutating func setLimits(_ limits: BitrateLimits, now: MonotonicTime) {
        let old = self.limits
        self.limits = limits.ordered
        delay.rate.setLimits(self.limits.range)
        if statistics.packetsSent == 0, old.start != self.limits.start { delay.rate.set(Double(self.limits.start.bitsPerSecond)) }
        probes.onDemand(estimate: estimate, ceiling: ceiling, now: now)
    }

    /// What the encoders could use: probes go no further, and making less than the estimate is no congestion (CC-01).
    package mutating func setDemand(_ wanted: Bitrate, now: MonotonicTime) {
        let grew = wanted > demand
        demand = max(wanted, limits.min)
        if grew { probes.onDemand(estimate: estimate, ceiling: ceiling, now: now) }
    }

    package mutating func handleTimeout(now: MonotonicTime) {
        guard let due = nextWake, due <= now else { return }
        history.expire(sentBefore: now.adding(nanoseconds: -Self.patience))
        guard history.outstandingBytes > 0 else {
            nextWake = nil
            return
        }
        nextWake = now.adding(nanoseconds: Self.wakeInterval)
        guard lastFeedback != nil else { return }
        // A wake that is late was late for the feedback as well.
        silentWakes += 1
        if silentWakes >= Self.wakesOfSilence { onSilence() }
    }

    package func nextDeadline() -> MonotonicTime? { nextWake }

    /// The next probe to send; to be asked after each call.
    package mutating func takeProbe() -> Probe? {
        guard let probe = probes.takeProbe() else { return nil }
        statistics.probesSent &+= 1
        probeResults.begin(probe)
        return probe
    }

    package var targets: TargetRates {
        let estimate = estimate
        var pacing = max(estimate * (delay.rate.isDraining ? Self.drainPacing : Self.pacing), Self.leastPacing)
        if let carried = delay.rate.capacity, let full = delay.rate.lastOveruse, let now = lastFeedback,
            now.nanoseconds(since: full) < Self.fullNanoseconds
        {
            // Faster than the path carries only moves the wait from the pacer to the path, where it meets the bursts of
            // others: which of two flows waits for the other must not depend on the order of their frames.
            let known = max(1 - delay.rate.capacityChange, 0.01)
            pacing = min(pacing, max(estimate * Self.smoothPacing, carried * Self.carriedPacing) / known)
        }
        return TargetRates(
            estimate: Bitrate(bitsPerSecond: Int64(estimate)), pacing: Bitrate(bitsPerSecond: Int64(pacing)),
            padding: Bitrate(bitsPerSecond: 0), congestionWindow: congestionWindow)
    }

    /// Bytes sent that feedback has not spoken about yet, and that are not so old that it never will.
    package var outstanding: DataSize { DataSize(bytes: history.outstandingBytes) }

    /// Bits per second.
    var estimate: Double {
        let bound = lastFeedback == nil ? min(reported.bound ?? .infinity, remb ?? .infinity) : loss.bound ?? .infinity
        let top = lastFeedback == nil && reported.bound != nil ? bound : min(delay.rate.estimate, bound)
        return min(max(top, limits.range.lowerBound), limits.range.upperBound)
    }

    /// How far probes go.
    var ceiling: Double { min(limits.range.upperBound, Double(demand.bitsPerSecond) * Self.demandMargin) }

    private var congestionWindow: DataSize? {
        guard lastFeedback != nil, let roundTrip = roundTrip.nanoseconds else { return nil }
        let seconds =
            Double(roundTrip) / 1e9 + feedbackInterval * Self.windowIntervals + delay.heapSeconds * Self.windowHeaps + Self.windowSeconds
        return DataSize(bytes: max(Int64(estimate / 8 * seconds), Self.leastWindow))
    }

    /// No feedback for a second: the path or the peer is gone for the moment. What is sent into it is bounded by the
    /// window; the estimate goes down slowly and not far, for an outage says nothing about the path after it.
    private mutating func onSilence() {
        let before = beforeSilence ?? delay.rate.estimate
        beforeSilence = before
        delay.rate.set(max(delay.rate.estimate * Self.silenceShare, before * Self.silenceFloor))
    }

    static let wakeInterval: Int64 = 250_000_000
    private static let wakesOfSilence = 4
    private static let silenceShare = 0.9
    private static let silenceFloor = 0.7
    /// Nothing is waited for longer; a window full of lost packets opens again.
    private static let patience: Int64 = 1_000_000_000
    /// libwebrtc pacing_controller.h takes 2.5 as well.
    private static let pacing = 2.5
    private static let drainPacing = 1.5
    private static let smoothPacing = 1.25
    private static let carriedPacing = 1.15
    /// So long after the path was full last its capacity counts as known.
    private static let fullNanoseconds: Int64 = 15_000_000_000
    private static let leastPacing = 100_000.0
    private static let demandMargin = 1.15
    /// A queue this long is on its way at most, besides what the path holds and what one lost report hides.
    private static let windowSeconds = 0.04
    private static let windowIntervals = 1.3
    private static let windowHeaps = 2.0
    private static let leastWindow: Int64 = 6_000
}

extension BitrateLimits {
    var range: ClosedRange<Double> { Double(min.bitsPerSecond)...Double(max.bitsPerSecond) }
}
