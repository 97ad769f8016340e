/// The life of a session as the app sees it: which operation runs, what it emits, what is torn down, and whether the session is ended.
///
/// In: calls of the app, results of the shell's asynchronous steps, losses (`Event`). Out: what to do, in order (`Action`).
/// Left out: the steps themselves (HTTP, offer, answer, waiting), media, replies. Rules: wire-protocol 9 and 2.5, api.md C2, C3, C8.
///
/// **How the shell drives it.** One place calls `handle(_:)`, copies `status`, `sessionID`, `tracks` and `readyGeneration` into the
/// snapshot for synchronous readers, then executes the actions in order without suspending. Work is started, never awaited, there;
/// its results come back as events. Each `startAttempt` ends with exactly one `transportReady` or `stepFailed`, also after
/// `cancelAttempt`; each `endSession` with one `endFinished`.
///
/// ```
/// connect      connectCalled(1)          -> emitStatus(connecting), startAttempt(g1, create)
///              sessionCreated("s", g1)   -> emitSessionID("s"), emitStatus(waiting)
///              capabilitiesReceived(g1)  -> emitCapabilities
///              connectionRegistered(g1)  ->
///              tracksReceived(g1)        -> emitTrackReceived per track
///              transportReady(g1)        -> emitStatus(ready), sendResumesAndPing, resolve(1, success)
/// loss         transportLost(g1)         -> emitError(DISCONNECTED), failPending, closeTransport(g1), emitStatus(disconnected)
/// reconnect    reconnectCalled(2)        -> emitStatus(connecting), emitStatus(waiting), startAttempt(g2, reconnect)
///              tracksReceived(g2), transportReady(g2) as above
/// disconnect   disconnectCalled(3)       -> failPending, closeTransport(g2), endSession("s", token)
///              endFinished(token)        -> emitStatus(disconnected), emitSessionID(nil), resolve(3, success)
/// ```
///
/// A session that this client created is ended by `disconnect()`, by a failed or cancelled `connect()` (also when the answer to the
/// create request comes after the fact), and by a new `connect()` after a loss. It is left alone by `close()`, and after a loss
/// while a reconnect is possible. Locally there is one session with a fixed id, so a new attempt waits there until earlier ends are done;
/// otherwise the end of the old session would hit the new one.
package struct SessionMachine: Sendable {
    package internal(set) var status = SessionStatus.disconnected
    package internal(set) var sessionID: String?
    /// Known from the first attempt of a session on; kept over a loss.
    package internal(set) var capabilities: Capabilities?
    package internal(set) var connectionID: UInt32?
    package internal(set) var tracks = TrackTable()
    /// Events ignored because their generation is over, or because nothing waited for them.
    package internal(set) var staleEvents: UInt64 = 0

    /// Local runtime: one session at a time, with a fixed id.
    let isLocal: Bool
    var phase = Phase.idle
    /// Number of the last attempt made.
    var lastGeneration: UInt64 = 0
    var lastEndToken: UInt64 = 0
    /// This client made `sessionID`.
    var ownsSession = false
    /// What the last session-id event said; a failed connect clears the id without one.
    var emittedSessionID: String?
    /// Attempts that have not reported their end, and whether a session they still create has to be ended.
    var unsettled: [Generation: LateSession] = [:]
    /// End requests under way.
    var pendingEnds: Set<EndToken> = []
    /// What the platform said about the coming end.
    var announcedEnd: String?

    enum Phase: Hashable, Sendable {
        case idle
        /// `connect()` runs. Not started while earlier ends hold it back.
        case connecting(CallID, Attempt, isStarted: Bool)
        /// `reconnect()` runs, for all these callers.
        case reconnecting([CallID], Attempt, isStarted: Bool)
        case ready(Generation)
        /// `disconnect()` waits for ends and for attempts that may still create a session.
        case disconnecting([CallID])
        case closed
    }

    enum LateSession: Hashable, Sendable {
        /// The attempt is the running one, or it creates nothing.
        case none
        case end
        /// `close()` leaves sessions alone.
        case leave
    }

    package init(isLocal: Bool) { self.isLocal = isLocal }

    package var isClosed: Bool { phase == .closed }

    /// The platform has said that the session ends: the loss that follows is final.
    package var isEndAnnounced: Bool { announcedEnd != nil }

    /// The connection that calls may use; `nil` also while `disconnect()` runs and the status still says ready.
    // Not inlined: the optimizer of Swift 6.3.1 stops with an ownership error in a caller that takes `phase` apart this way.
    @inline(never)
    package var readyGeneration: Generation? {
        if case .ready(let generation) = phase { return generation }
        return nil
    }

    /// Throws INVALID_STATE unless calls over the connection are possible now.
    package func requireReady(for operation: CoreError.Operation, call: String) throws(CoreError) {
        switch phase {
        case .ready: return
        case .closed:
            throw CoreError(.invalidState, "\(call) on a closed client; create a new one", operation: operation)
        case .disconnecting:
            throw CoreError(.invalidState, "\(call) while disconnect() is in progress", operation: operation)
        default:
            throw CoreError(
                .invalidState, "\(call) needs status ready, and it is \(status.rawValue); wait for connect() or reconnect() to return",
                operation: operation)
        }
    }

    /// Track bookkeeping of calls that are not part of the lifecycle.
    package mutating func withTracks<Result>(
        _ body: (inout TrackTable) throws(CoreError) -> Result
    ) throws(CoreError) -> Result {
        try body(&tracks)
    }

    package mutating func handle(_ event: Event) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .connectCalled(let call, let sessionID, let connectionID):
            connect(call, sessionID: sessionID, connectionID: connectionID, &actions)
        case .reconnectCalled(let call): reconnect(call, &actions)
        case .disconnectCalled(let call): disconnect(call, &actions)
        case .closeCalled: close(&actions)
        case .cancelled(let call): cancel(call, &actions)
        case .sessionCreated(let id, let generation): sessionCreated(id, generation, &actions)
        case .sessionAdopted(let id, let generation): sessionAdopted(id, generation, &actions)
        case .capabilitiesReceived(let capabilities, let generation):
            guard case .connecting = phase, isRunning(generation) else { return ignoreStale() }
            self.capabilities = capabilities
            tracks.declare(capabilities.tracks)
            actions.append(.emitCapabilities(capabilities))
        case .connectionRegistered(let id, let generation):
            guard isRunning(generation) else { return ignoreStale() }
            connectionID = id
        case .tracksReceived(let received, let generation):
            guard isRunning(generation) else { return ignoreStale() }
            for track in received {
                tracks.setMID(track.mid, of: track.name)
                actions.append(.emitTrackReceived(track))
            }
        case .transportReady(let generation): transportReady(generation, &actions)
        case .stepFailed(let error, let generation): stepFailed(error, generation, &actions)
        case .timedOut(let error, let generation): timedOut(error, generation, &actions)
        case .transportLost(let cause, let generation): transportLost(cause, generation, &actions)
        case .endAnnounced(let reason, let generation):
            guard phase == .ready(generation) else { return ignoreStale() }
            announcedEnd = reason
        case .endFinished(let token):
            guard pendingEnds.remove(token) != nil else { return ignoreStale() }
        }
        continueHeldWork(&actions)
        checkInvariants()
        return actions
    }
}

// MARK: - Parts

extension SessionMachine {
    /// Starts an attempt that waited for earlier ends, and finishes `disconnect()` when nothing is left to wait for.
    mutating func continueHeldWork(_ actions: inout [Action]) {
        switch phase {
        case .connecting(let call, let attempt, isStarted: false) where mayStart:
            phase = .connecting(call, attempt, isStarted: true)
            unsettled[attempt.generation] = LateSession.none
            actions.append(.startAttempt(attempt))
        case .reconnecting(let calls, let attempt, isStarted: false) where mayStart:
            phase = .reconnecting(calls, attempt, isStarted: true)
            unsettled[attempt.generation] = LateSession.none
            actions.append(.startAttempt(attempt))
        case .disconnecting(let calls) where pendingEnds.isEmpty && !unsettled.values.contains(.end):
            forgetSession()
            phase = .idle
            setStatus(.disconnected, &actions)
            if emittedSessionID != nil {
                emittedSessionID = nil
                actions.append(.emitSessionID(nil))
            }
            for call in calls { actions.append(.resolve(call, .success)) }
        default: break
        }
    }

    var mayStart: Bool { !isLocal || (pendingEnds.isEmpty && !unsettled.values.contains(.end)) }

    /// Gives up a running attempt.
    mutating func stop(_ attempt: Attempt, isStarted: Bool, lateSession: LateSession, _ actions: inout [Action]) {
        guard isStarted else { return }
        // Only a create request can leave a session behind, and only while its answer is out.
        let mayCreate = attempt.purpose == .create && sessionID == nil
        unsettled[attempt.generation] = mayCreate ? lateSession : LateSession.none
        actions.append(.cancelAttempt(attempt.generation))
        actions.append(.closeTransport(attempt.generation))
    }

    mutating func leaveReady(_ code: ErrorCode, _ message: String, _ generation: Generation, _ actions: inout [Action]) {
        tracks.leaveReady()
        actions.append(.failPending(code, message: message))
        actions.append(.closeTransport(generation))
    }

    mutating func endOwnedSession(_ actions: inout [Action]) {
        guard ownsSession, let id = sessionID else { return }
        ownsSession = false
        actions.append(.endSession(id: id, makeEndToken()))
    }

    mutating func forgetSession() {
        sessionID = nil
        ownsSession = false
        capabilities = nil
        connectionID = nil
        announcedEnd = nil
        tracks.removeAll()
    }

    /// The attempt's task is over. A given-up attempt was waited for; one that nobody knows is stale.
    mutating func settle(_ generation: Generation) {
        if unsettled.removeValue(forKey: generation) == nil { staleEvents += 1 }
    }

    mutating func setStatus(_ new: SessionStatus, _ actions: inout [Action]) {
        guard status != new else { return }
        status = new
        actions.append(.emitStatus(new))
    }

    mutating func makeAttempt(_ purpose: Attempt.Purpose, connectionID: UInt32?) -> Attempt {
        lastGeneration += 1
        return Attempt(generation: Generation(lastGeneration), purpose: purpose, connectionID: connectionID)
    }

    mutating func makeEndToken() -> EndToken {
        lastEndToken += 1
        let token = EndToken(lastEndToken)
        pendingEnds.insert(token)
        return token
    }

    func isRunning(_ generation: Generation) -> Bool {
        switch phase {
        case .connecting(_, let attempt, isStarted: true), .reconnecting(_, let attempt, isStarted: true):
            attempt.generation == generation
        default: false
        }
    }

    mutating func ignoreStale() -> [Action] {
        staleEvents += 1
        return []
    }

    func refusal(of operation: CoreError.Operation, name: String) -> CoreError? {
        switch phase {
        case .idle: nil
        case .disconnecting, .closed: inProgressError(operation, name: name)
        default: CoreError(.invalidState, "\(name) while status is \(status.rawValue)", operation: operation)
        }
    }

    func inProgressError(_ operation: CoreError.Operation, name: String) -> CoreError {
        let text =
            switch phase {
            case .closed: "\(name) on a closed client; create a new one"
            case .disconnecting: "\(name) while disconnect() is in progress; wait for it to return"
            case .connecting: "\(name) while connect() is in progress; wait for it to return"
            default: "\(name) while status is \(status.rawValue)"
            }
        return CoreError(.invalidState, text, operation: operation)
    }

    func aborted(_ operation: CoreError.Operation, by cause: String) -> CoreError {
        CoreError(.aborted, "\(operation.rawValue) was aborted: \(cause)", operation: operation)
    }

    func checkInvariants() {
        switch phase {
        case .idle: assert(status == .disconnected)
        case .connecting: assert(status == .connecting || status == .waiting)
        case .reconnecting: assert(status == .waiting && sessionID != nil)
        case .ready: assert(status == .ready && sessionID != nil && capabilities != nil)
        case .disconnecting: assert(!ownsSession)
        case .closed: assert(status == .disconnected && sessionID == nil && tracks.entries.isEmpty)
        }
        assert(!ownsSession || sessionID != nil)
        assert(tracks.publishedNames.isEmpty || readyGeneration != nil)
    }
}
