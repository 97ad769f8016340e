// What the app asks for: connect, reconnect, disconnect, close, and cancellation of those (api.md C2, C8).

extension SessionMachine {
    mutating func connect(_ call: CallID, sessionID wanted: String?, connectionID: UInt32?, _ actions: inout [Action]) {
        if let refusal = refusal(of: .connect, name: "connect()") {
            actions.append(.resolve(call, .failure(refusal)))
            return
        }
        // A session of our own from before a loss: nobody will reconnect to it now.
        let rejoinsOwnSession = wanted != nil && wanted == sessionID && ownsSession
        if !rejoinsOwnSession { endOwnedSession(&actions) }
        forgetSession()
        let purpose: Attempt.Purpose
        if let wanted {
            purpose = .adopt(sessionID: wanted)
            if rejoinsOwnSession {
                // Known before the attempt says so: a failure before that must still end it.
                sessionID = wanted
                ownsSession = true
            }
        } else {
            purpose = .create
        }
        self.connectionID = connectionID
        setStatus(.connecting, &actions)
        phase = .connecting(call, makeAttempt(purpose, connectionID: connectionID), isStarted: false)
    }

    mutating func reconnect(_ call: CallID, _ actions: inout [Action]) {
        let name = "reconnect()"
        switch phase {
        case .reconnecting(let calls, let attempt, let isStarted):
            phase = .reconnecting(calls + [call], attempt, isStarted: isStarted)
            return
        case .connecting, .disconnecting, .closed:
            actions.append(.resolve(call, .failure(inProgressError(.reconnect, name: name))))
            return
        case .idle, .ready: break
        }
        guard let sessionID, let capabilities else {
            actions.append(
                .resolve(call, .failure(CoreError(.invalidState, "reconnect() without a session", operation: .reconnect))))
            return
        }
        if case .ready(let generation) = phase {
            leaveReady(.disconnected, "reconnect() replaces the connection", generation, &actions)
            setStatus(.disconnected, &actions)
        }
        announcedEnd = nil
        setStatus(.connecting, &actions)
        setStatus(.waiting, &actions)
        let attempt = makeAttempt(.reconnect(sessionID: sessionID, capabilities: capabilities), connectionID: connectionID)
        phase = .reconnecting([call], attempt, isStarted: false)
    }

    mutating func disconnect(_ call: CallID, _ actions: inout [Action]) {
        switch phase {
        case .closed:
            actions.append(.resolve(call, .success))
            return
        case .disconnecting(let calls):
            phase = .disconnecting(calls + [call])
            return
        case .connecting(let connectCall, let attempt, let isStarted):
            stop(attempt, isStarted: isStarted, lateSession: .end, &actions)
            actions.append(.resolve(connectCall, .failure(aborted(.connect, by: "disconnect() was called"))))
        case .reconnecting(let calls, let attempt, let isStarted):
            stop(attempt, isStarted: isStarted, lateSession: .end, &actions)
            for waiting in calls { actions.append(.resolve(waiting, .failure(aborted(.reconnect, by: "disconnect() was called")))) }
        case .ready(let generation): leaveReady(.disconnected, "disconnect() was called", generation, &actions)
        case .idle: break
        }
        endOwnedSession(&actions)
        phase = .disconnecting([call])
    }

    mutating func close(_ actions: inout [Action]) {
        let cause = "the client was closed"
        switch phase {
        case .closed: return
        case .connecting(let call, let attempt, let isStarted):
            stop(attempt, isStarted: isStarted, lateSession: .leave, &actions)
            actions.append(.resolve(call, .failure(aborted(.connect, by: cause))))
        case .reconnecting(let calls, let attempt, let isStarted):
            stop(attempt, isStarted: isStarted, lateSession: .leave, &actions)
            for call in calls { actions.append(.resolve(call, .failure(aborted(.reconnect, by: cause)))) }
        case .ready(let generation): leaveReady(.aborted, cause, generation, &actions)
        case .disconnecting(let calls):
            // What disconnect() began goes on without a caller.
            for call in calls { actions.append(.resolve(call, .failure(aborted(.disconnect, by: cause)))) }
        case .idle: break
        }
        forgetSession()
        status = .disconnected
        phase = .closed
        actions.append(.finish)
    }

    mutating func cancel(_ call: CallID, _ actions: inout [Action]) {
        switch phase {
        case .connecting(call, let attempt, let isStarted):
            stop(attempt, isStarted: isStarted, lateSession: .end, &actions)
            endOwnedSession(&actions)
            forgetSession()
            phase = .idle
            setStatus(.disconnected, &actions)
            actions.append(.resolve(call, .cancelled))
        case .reconnecting(var calls, let attempt, let isStarted):
            guard let index = calls.firstIndex(of: call) else { return }
            calls.remove(at: index)
            if calls.isEmpty {
                stop(attempt, isStarted: isStarted, lateSession: .none, &actions)
                phase = .idle
                setStatus(.disconnected, &actions)
            } else {
                phase = .reconnecting(calls, attempt, isStarted: isStarted)
            }
            actions.append(.resolve(call, .cancelled))
        default: return  // disconnect() runs to its end, and a finished call has nothing to cancel.
        }
    }
}
