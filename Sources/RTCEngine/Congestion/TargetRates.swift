package import RTCBase

/// What the congestion controller wants of the sender now.
package struct TargetRates: Hashable, Sendable {
    /// What all streams together may make: the sum of encoder rates, retransmissions and headers.
    package var estimate: Bitrate
    /// How fast the pacer may send what waits; above the estimate, so that a frame leaves before the next comes.
    package var pacing: Bitrate
    /// Padding wanted when there is nothing else to send; zero nearly always.
    package var padding: Bitrate
    /// Most bytes on their way at once (`CongestionController.outstanding`); video and retransmissions wait above it,
    /// audio does not. Nil as long as the peer sends no transport-wide feedback.
    package var congestionWindow: DataSize?

    package init(estimate: Bitrate, pacing: Bitrate, padding: Bitrate, congestionWindow: DataSize?) {
        self.estimate = estimate
        self.pacing = pacing
        self.padding = padding
        self.congestionWindow = congestionWindow
    }
}
