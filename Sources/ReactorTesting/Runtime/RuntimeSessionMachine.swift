// The life of the runtime's one session (wire-protocol 3.1): start, clients that come and go, the wait for somebody to come
// back, the end. In: what happened and when. Out: the transitions that were made, and whether the session has to be closed
// now. Left out: connections themselves, which are counted by id here and live elsewhere.

internal import RTCBase

/// Pure; the owner calls `handleTimeout` at `nextDeadline`.
struct RuntimeSessionMachine {
    enum State: String, Sendable, CaseIterable {
        case created, ready, waiting, streaming, orphaned, closing, terminated

        /// A session that clients can reach.
        var isLive: Bool { self == .waiting || self == .streaming || self == .orphaned }
    }

    /// Why a call of a client is refused in this state.
    enum Refusal: Error, Hashable {
        case loading
        case terminated
        case conflict(State)
    }

    /// One entry of the runtime's event log; `from == to` for what changes nothing.
    struct Transition: Hashable, Sendable {
        var event: String
        var from: State
        var to: State
        var detail: [String: String] = [:]
    }

    private(set) var state = State.created
    /// Connections whose channels are open.
    private(set) var openConnections: Set<ConnectionKey> = []
    /// When a session without a client ends.
    private(set) var orphanDeadline: MonotonicTime?
    /// The runtime ends with the session.
    private var isShuttingDown = false
    /// Made since the owner took them.
    private(set) var transitions: [Transition] = []
    private let orphanTimeout: Duration

    /// - Parameter orphanTimeout: how long a session lives without a client.
    init(orphanTimeout: Duration = .seconds(60)) { self.orphanTimeout = orphanTimeout }

    mutating func takeTransitions() -> [Transition] {
        defer { transitions.removeAll() }
        return transitions
    }

    // MARK: Events

    /// The model can serve sessions.
    mutating func modelLoaded() {
        guard state == .created else { return }
        move(to: .ready, "initialization_success")
    }

    mutating func start(now: MonotonicTime) throws(Refusal) {
        switch state {
        case .created: throw .loading
        case .terminated: throw .terminated
        case .waiting, .streaming, .orphaned, .closing: throw .conflict(state)
        case .ready:
            openConnections = []
            orphanDeadline = now + orphanTimeout
            move(to: .waiting, "start_session")
        }
    }

    /// Both channels of a connection are open.
    mutating func connectionOpened(_ key: ConnectionKey) {
        guard state.isLive, openConnections.insert(key).inserted else { return }
        orphanDeadline = nil
        move(to: .streaming, "connection_opened", ["conn_id": String(key.id)])
    }

    /// A connection is gone, whether it was open or not.
    mutating func connectionClosed(_ key: ConnectionKey, now: MonotonicTime) {
        guard openConnections.remove(key) != nil, state == .streaming else { return }
        guard openConnections.isEmpty else { return note("connection_closed", ["conn_id": String(key.id)]) }
        orphanDeadline = now + orphanTimeout
        move(to: .orphaned, "connection_closed", ["conn_id": String(key.id)])
    }

    /// Ends the session: the owner closes its connections and calls `closed()`.
    mutating func stop(reason: String = "stopped") throws(Refusal) {
        switch state {
        case .created: throw .loading
        case .terminated: throw .terminated
        case .ready, .closing: throw .conflict(state)
        case .waiting, .streaming, .orphaned: beginClosing("stop_session", reason)
        }
    }

    /// True when the session has had no client for too long and has to be closed.
    mutating func handleTimeout(now: MonotonicTime) -> Bool {
        guard let orphanDeadline, orphanDeadline <= now, state == .waiting || state == .orphaned else { return false }
        beginClosing("timeout", "timed_out")
        return true
    }

    /// All connections are closed.
    mutating func closed() {
        guard state == .closing else { return }
        move(to: isShuttingDown ? .terminated : .ready, "cleanup_complete")
    }

    /// The runtime ends. True when a session lives and has to be closed first.
    mutating func shutDown() -> Bool {
        isShuttingDown = true
        if state.isLive {
            beginClosing("shutdown", "shutdown")
            return true
        }
        if state != .closing, state != .terminated { move(to: .terminated, "shutdown") }
        return false
    }

    /// Something worth a line in the event log that changes no state.
    mutating func note(_ event: String, _ detail: [String: String] = [:]) { move(to: state, event, detail) }

    var nextDeadline: MonotonicTime? { orphanDeadline }

    private mutating func beginClosing(_ event: String, _ reason: String) {
        openConnections = []
        orphanDeadline = nil
        move(to: .closing, event, ["reason": reason])
    }

    private mutating func move(to next: State, _ event: String, _ detail: [String: String] = [:]) {
        assert((orphanDeadline == nil) == !(next == .waiting || next == .orphaned))
        // Nobody takes them when nobody looks; the newest count.
        if transitions.count >= Self.mostTransitions { transitions.removeFirst() }
        transitions.append(Transition(event: event, from: state, to: next, detail: detail))
        state = next
    }

    private static let mostTransitions = 256
}

/// One negotiation: a reconnect under the same id is another one.
struct ConnectionKey: Hashable, Sendable {
    /// As in the URL.
    var id: Int
    var generation: UInt64
}
