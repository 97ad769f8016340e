// Requests for key frames from the peer, and when one is passed on to the encoder. In: PLI and FIR (RFC 4585 §6.3.1,
// RFC 5104 §4.3.1), key frames made, time. Out: at most two requests a second (RTP-19): a key frame is many times the size
// of another, so answering each of twenty requests would be a queue, not an answer.

package import RTCBase

/// The key-frame answers of one stream.
package struct KeyFrameLimiter: Sendable {
    /// A request that was not passed on yet.
    private var isWanted = false
    /// When a request was last passed on, or a key frame made.
    private var lastAnswer: MonotonicTime?
    /// The newest FIR of each asker: the same number again is a repeat (RFC 5104 §4.3.1.2).
    private var commands: [(ssrc: UInt32, sequence: UInt8)] = []

    package init() { commands.reserveCapacity(Self.maxAskers) }

    package mutating func request() { isWanted = true }

    /// False for a repeat of a command that was seen.
    package mutating func command(_ sequence: UInt8, from ssrc: UInt32) -> Bool {
        if let index = commands.firstIndex(where: { $0.ssrc == ssrc }) {
            guard commands[index].sequence != sequence else { return false }
            commands[index].sequence = sequence
        } else {
            if commands.count == Self.maxAskers { commands.removeFirst() }
            commands.append((ssrc, sequence))
        }
        isWanted = true
        return true
    }

    /// The encoder made a key frame: it answers what was asked until now.
    package mutating func noteKeyFrame(now: MonotonicTime) {
        isWanted = false
        lastAnswer = now
    }

    package var nextDeadline: MonotonicTime? {
        guard isWanted else { return nil }
        return lastAnswer?.adding(nanoseconds: Self.distance) ?? MonotonicTime(nanoseconds: .min)
    }

    /// A request may be passed on now.
    package func isDue(now: MonotonicTime) -> Bool { nextDeadline.map { $0 <= now } ?? false }

    /// True when the encoder is to make a key frame now.
    package mutating func takeRequest(now: MonotonicTime) -> Bool {
        guard isDue(now: now) else { return false }
        isWanted = false
        lastAnswer = now
        return true
    }

    package mutating func reset() {
        isWanted = false
        lastAnswer = nil
    }

    private static let distance: Int64 = 500_000_000
    private static let maxAskers = 16
}
