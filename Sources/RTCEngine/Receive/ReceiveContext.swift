// What the receive streams of one connection have in common: who we are in RTCP, where frame memory comes from, the
// round trip they learn together, and the counts of what was dropped.

package import RTCBase

/// What all receive streams of a connection share during a call.
package struct ReceiveContext: Sendable {
    /// The SSRC that our RTCP speaks for.
    package let localSSRC: UInt32
    package let pool: FrameBufferPool
    package var roundTrip = RoundTripEstimator()
    package var drops = DropCounters()

    package init(localSSRC: UInt32, pool: FrameBufferPool) {
        self.localSSRC = localSSRC
        self.pool = pool
    }
}

/// The earlier of two deadlines, nil being never.
func earlier(_ a: MonotonicTime?, _ b: MonotonicTime?) -> MonotonicTime? {
    guard let a else { return b }
    guard let b else { return a }
    return min(a, b)
}
