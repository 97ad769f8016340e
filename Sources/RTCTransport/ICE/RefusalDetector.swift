// Notices that the far end's port is closed. In: datagrams that arrive, refusals (ICMP port unreachable) of datagrams we
// sent, time. Out: when to probe and to listen for refusals, and the verdict.
//
// The kernel reports a refusal only for something sent, and only while asked to, which is not done while datagrams arrive
// (`CNice/ErrorWatch`). So: after a short silence listen, send a STUN binding indication (RFC 8489 §6.3.2, dropped without
// an answer by the peer) and go on doing so. Two refusals some time apart with nothing heard between end it: a single one
// may come from a firewall that is being reloaded. Silence alone is never a verdict here.

package import RTCBase

/// Decides from silence and refusals whether the peer's process is gone.
package struct RefusalDetector: Sendable {
    package enum Action: Hashable, Sendable {
        case none
        /// Listen for refusals, unless that is done already, and send a probe.
        case probe
    }

    private enum Phase {
        case stopped
        case listening(until: MonotonicTime)
        case probing(next: MonotonicTime, interval: Int64, refusedAt: MonotonicTime?)
    }

    private var phase = Phase.stopped
    /// Something arrived since the last look.
    private var hasHeard = false

    package init() {}

    package var isProbing: Bool { if case .probing = phase { true } else { false } }
    package var isStopped: Bool { if case .stopped = phase { true } else { false } }

    package var nextDeadline: MonotonicTime? {
        switch phase {
        case .stopped: nil
        case .listening(let until): until
        case .probing(let next, _, _): next
        }
    }

    package mutating func start(now: MonotonicTime) {
        hasHeard = false
        phase = .listening(until: now.adding(milliseconds: Self.silenceMilliseconds))
    }

    package mutating func stop() { phase = .stopped }

    /// A datagram arrived while listening; the cheap path, for every packet.
    package mutating func handleDatagram() { hasHeard = true }

    /// Something arrived of which nobody tells what; while probing. A refusal from before it counts no more.
    package mutating func handleHeard() {
        guard case .probing(let next, let interval, _) = phase else { return }
        phase = .probing(next: next, interval: interval, refusedAt: nil)
    }

    package mutating func handleTimeout(now: MonotonicTime) -> Action {
        guard let deadline = nextDeadline, deadline <= now else { return .none }
        if hasHeard {
            start(now: now)
            return .none
        }
        switch phase {
        case .stopped:
            return .none
        case .listening:
            phase = .probing(next: now.adding(milliseconds: Self.silenceMilliseconds), interval: Self.silenceMilliseconds, refusedAt: nil)
        case .probing(_, let interval, let refusedAt):
            let longer = min(interval &* 2, Self.maxIntervalMilliseconds)
            phase = .probing(next: now.adding(milliseconds: longer), interval: longer, refusedAt: refusedAt)
        }
        return .probe
    }

    /// A datagram to the peer's address was refused. True when the peer is gone for certain.
    package mutating func handleRefusal(now: MonotonicTime) -> Bool {
        guard !hasHeard, case .probing(let next, let interval, let refusedAt) = phase else { return false }
        guard let refusedAt else {
            let again = min(next, now.adding(milliseconds: Self.confirmMilliseconds))
            phase = .probing(next: again, interval: interval, refusedAt: now)
            return false
        }
        return now >= refusedAt.adding(milliseconds: Self.confirmMilliseconds)
    }

    /// Eight frames at 30 fps: a stream that runs is never probed.
    private static let silenceMilliseconds: Int64 = 250
    /// Between probes of a session in which nothing is sent to us.
    private static let maxIntervalMilliseconds: Int64 = 1000
    /// Between the first refusal and the probe whose refusal confirms it.
    private static let confirmMilliseconds: Int64 = 40
}
