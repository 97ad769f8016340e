// The round trip of the path as this end can know it: how long an answered NACK took (includes the peer's pacer, which
// is what a repeat has to wait for), or what the transport says (ICE or SCTP), until there is such a sample. In:
// samples. Out: the interval after which to ask again, and limits for waiting. Smoothing as in RFC 6298 §2.

import RTCBase

/// Smoothed round trip and its variation, in nanoseconds.
package struct RoundTripEstimator: Hashable, Sendable {
    /// From answered requests.
    private var smoothed: Int64?
    private var variation: Int64 = 0
    /// From the transport.
    private var reported: Int64?

    package init() {}

    /// The best guess.
    package var nanoseconds: Int64 { smoothed ?? reported ?? Self.initial }

    /// The path without the queue of the moment: the shorter of the two measures. Answered requests come through the
    /// congested link and the peer's pacer, and spacing key-frame requests by that would stretch a freeze after a dip.
    package var pathNanoseconds: Int64 { min(smoothed ?? nanoseconds, reported ?? nanoseconds) }

    package mutating func report(nanoseconds: Int64) {
        guard nanoseconds > 0 else { return }
        reported = min(nanoseconds, Self.maximum)
    }

    package mutating func addSample(nanoseconds sample: Int64) {
        guard sample > 0, sample <= Self.maximum else { return }
        guard let previous = smoothed else {
            smoothed = sample
            variation = sample / 4
            return
        }
        variation += (abs(sample - previous) - variation) / 4
        smoothed = previous + (sample - previous) / 8
    }

    /// How long to wait for the answer to a request before repeating it.
    package var repeatInterval: Int64 {
        let base = nanoseconds
        let margin = min(max(smoothed == nil ? base / 8 : variation * 3, 10_000_000), base / 2 + 10_000_000)
        return min(max(base + margin, 20_000_000), 500_000_000)
    }

    /// Age of a gap at which a key frame should be on its way as well: four requests went unanswered. Sooner would be
    /// wrong: the fourth answer is there before a key frame could be, and costs one packet.
    package var keyFrameRequestAge: Int64 { min(max(4 * repeatInterval + 20_000_000, 150_000_000), 800_000_000) }

    /// Age of a gap at which it is a confirmed loss. Frames after it need it, so waiting longer than
    /// `keyFrameRequestAge` costs no time: whatever comes first, the repair or the key frame, ends the wait.
    package var patience: Int64 { min(max(7 * repeatInterval, 400_000_000), 1_000_000_000) }

    /// Until anything is known: a link across a continent.
    private static let initial: Int64 = 100_000_000
    private static let maximum: Int64 = 2_000_000_000
}
