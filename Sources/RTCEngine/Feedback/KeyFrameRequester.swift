// When to ask the peer for a key frame, and how. In: that one is needed, that one came, the round trip. Out: a PLI
// (RFC 4585 §6.3.1), or a FIR (RFC 5104 §4.3.1) when that is all that was negotiated or PLIs stay unanswered. A key frame
// is the most expensive repair there is, so requests keep a distance (RTP-17) and stop as soon as the need is gone.

package import RTCBase

/// Key-frame requests of one stream.
package struct KeyFrameRequester: Sendable {
    package enum Request: Hashable, Sendable {
        case pictureLoss
        /// With the command's sequence number: each one is a new request.
        case fullIntra(sequence: UInt8)
    }

    private let usesPLI: Bool
    private let usesFIR: Bool
    /// Since when a key frame is needed; nil when it is not.
    private var neededSince: MonotonicTime?
    private var lastRequest: MonotonicTime?
    /// Requests since the last key frame.
    private var unanswered = 0
    private var nextSequence: UInt8 = 0

    package init(usesPLI: Bool, usesFIR: Bool) {
        self.usesPLI = usesPLI
        self.usesFIR = usesFIR
    }

    package var isNeeded: Bool { neededSince != nil }

    package mutating func need(now: MonotonicTime) {
        guard usesPLI || usesFIR else { return }
        if neededSince == nil { neededSince = now }
    }

    /// A key frame came, or what was missing was repaired.
    package mutating func satisfied() {
        neededSince = nil
        unanswered = 0
    }

    package func nextDeadline(roundTrip: Int64) -> MonotonicTime? {
        guard let neededSince else { return nil }
        guard let lastRequest else { return neededSince }
        return max(neededSince, lastRequest.adding(nanoseconds: distance(roundTrip)))
    }

    package mutating func takeRequest(now: MonotonicTime, roundTrip: Int64) -> Request? {
        guard let due = nextDeadline(roundTrip: roundTrip), due <= now else { return nil }
        lastRequest = now
        unanswered += 1
        guard usesFIR, !usesPLI || unanswered % 4 == 0 else { return .pictureLoss }
        defer { nextSequence &+= 1 }
        return .fullIntra(sequence: nextSequence)
    }

    /// Between two requests: time for the answer to arrive, and never more than three a second. The key frame that
    /// answers is large and paced, so a request that stays unanswered is repeated more slowly.
    private func distance(_ roundTrip: Int64) -> Int64 {
        max(roundTrip + roundTrip / 4, Self.minimumDistance) * (unanswered > 2 ? 2 : 1)
    }

    private static let minimumDistance: Int64 = 300_000_000
}
