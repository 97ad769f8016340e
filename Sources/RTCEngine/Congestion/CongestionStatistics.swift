/// What the congestion controller saw and did, for statistics and tests.
package struct CongestionStatistics: Hashable, Sendable {
    package var packetsSent: UInt64 = 0
    package var packetsAcknowledged: UInt64 = 0
    /// Reported missing and not repaired by a later report.
    package var packetsLost: UInt64 = 0
    package var feedbackReports: UInt64 = 0
    /// Numbers in feedback that were never sent, or too long ago.
    package var unknownNumbers: UInt64 = 0
    package var overuses: UInt64 = 0
    package var probesSent: UInt64 = 0
    package var probesAnswered: UInt64 = 0
    /// Without the queue of the moment; zero until known.
    package var minimumRoundTripNanoseconds: Int64 = 0
    package var queueingDelayMilliseconds: Double = 0
    package var acknowledgedBitsPerSecond: Int64 = 0

    package init() {}
}
