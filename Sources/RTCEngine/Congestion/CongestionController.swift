package import RTCBase
package import RTCWire

/// How fast a connection may send.
package struct CongestionController: Sendable {
    private var limits: BitrateLimits
    private var demand: Bitrate
    private var estimate: Bitrate

    package init(limits: BitrateLimits, now: MonotonicTime) {
        self.limits = limits.ordered
        estimate = self.limits.start
        demand = self.limits.max
    }

    package mutating func onSent(_ packet: SentPacket) {}
    package mutating func handle(_ feedback: TransportFeedback, now: MonotonicTime) {}
    package mutating func handleLoss(fraction: UInt8, roundTripNanoseconds: Int64?, now: MonotonicTime) {}
    package mutating func handleREMB(_ bitrate: Bitrate, now: MonotonicTime) {}
    package mutating func setLimits(_ limits: BitrateLimits, now: MonotonicTime) { self.limits = limits.ordered }
    package mutating func setDemand(_ wanted: Bitrate, now: MonotonicTime) { demand = wanted }

    package mutating func handleTimeout(now: MonotonicTime) {}
    package func nextDeadline() -> MonotonicTime? { nil }
    /// The next probe to send; asked for after each call that may have made one.
    package mutating func takeProbe() -> Probe? { nil }

    package var targets: TargetRates {
        TargetRates(
            estimate: estimate, pacing: Bitrate(bitsPerSecond: estimate.bitsPerSecond * 5 / 2), padding: Bitrate(bitsPerSecond: 0),
            congestionWindow: nil)
    }
    /// Bytes sent that feedback has not spoken about yet, and that are not so old that it never will.
    package var outstanding: DataSize { DataSize(bytes: 0) }
    package private(set) var statistics = CongestionStatistics()
}
