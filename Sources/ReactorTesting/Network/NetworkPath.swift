internal import RTCBase
internal import RTCPeer
private import Synchronization

/// Both directions between the runtime and one connection. Any thread.
final class NetworkPath: DatagramImpairment {
    private struct State {
        var silence = LocalSilence.none
        var outgoing: ShapedLink
        var incoming: ShapedLink
    }

    private let state: Mutex<State>
    private let tally: NetworkTally

    /// - Parameter number: of the connection; sets its chance apart from that of others.
    init(_ conditions: NetworkConditions, number: UInt64, tally: NetworkTally) {
        self.tally = tally
        state = Mutex(
            State(
                outgoing: ShapedLink(conditions, stream: 2 &* number),
                incoming: ShapedLink(conditions, stream: 2 &* number &+ 1)))
    }

    func set(_ conditions: NetworkConditions) {
        let now = NetworkThread.now()
        let overflowed = state.withLock { state in
            (state.outgoing.set(conditions, now: now), state.incoming.set(conditions, now: now))
        }
        tally.count(.overflowed, .outgoing, by: overflowed.0)
        tally.count(.overflowed, .incoming, by: overflowed.1)
    }

    func setSilence(_ silence: LocalSilence) { state.withLock { $0.silence = silence } }

    // MARK: DatagramImpairment

    func take(_ datagram: UnsafeRawBufferPointer, _ direction: DatagramDirection, now: MonotonicTime) -> Bool {
        let fate: ShapedLink.Fate? = state.withLock { state in
            if state.silence.covers(datagram) { return nil }
            return direction == .outgoing
                ? state.outgoing.send(datagram.bytes, now: now) : state.incoming.send(datagram.bytes, now: now)
        }
        switch fate {
        case .passes:
            tally.count(.passed, direction)
            return false
        case .waits: break
        case .lost: tally.count(.lost, direction)
        case .overflowed: tally.count(.overflowed, direction)
        case .cutOff: tally.count(.cutOff, direction)
        case nil: tally.count(.silenced, direction)
        }
        return true
    }

    func next(_ direction: DatagramDirection, now: MonotonicTime, into datagram: inout [UInt8]) -> Bool {
        while true {
            let (isThere, isSilenced) = state.withLock { state in
                let isThere =
                    direction == .outgoing
                    ? state.outgoing.receive(now: now, into: &datagram) : state.incoming.receive(now: now, into: &datagram)
                return (isThere, isThere && datagram.withUnsafeBytes { state.silence.covers($0) })
            }
            guard isThere else { return false }
            tally.count(isSilenced ? .silenced : .passed, direction)
            if !isSilenced { return true }
        }
    }

    func nextDeadline() -> MonotonicTime? {
        state.withLock { state in
            guard let outgoing = state.outgoing.nextDeadline() else { return state.incoming.nextDeadline() }
            return state.incoming.nextDeadline().map { min($0, outgoing) } ?? outgoing
        }
    }
}

extension LocalSilence {
    fileprivate func covers(_ datagram: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .none: false
        // SRTP and SRTCP (RFC 7983 §7).
        case .media: datagram.first.map { (128...191).contains($0) } ?? false
        case .everything: true
        }
    }
}
