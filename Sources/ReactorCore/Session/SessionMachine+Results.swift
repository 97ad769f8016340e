// What the shell's asynchronous work came to: steps of an attempt, loss of a connection (wire-protocol 9.1, 2.5).

extension SessionMachine {
    mutating func sessionCreated(_ id: String, _ generation: Generation, _ actions: inout [Action]) {
        if case .connecting(_, let attempt, _) = phase, attempt.generation == generation, attempt.purpose == .create, sessionID == nil {
            enterWaiting(id, owned: true, &actions)
        } else if unsettled[generation] == .end {
            // The attempt was given up while its request was out: nobody else can end what it made.
            actions.append(.endSession(id: id, makeEndToken()))
        } else {
            staleEvents += 1
        }
    }

    mutating func sessionAdopted(_ id: String, _ generation: Generation, _ actions: inout [Action]) {
        guard case .connecting(_, let attempt, _) = phase, attempt.generation == generation, status == .connecting,
            attempt.purpose == .adopt(sessionID: id)
        else {
            staleEvents += 1
            return
        }
        enterWaiting(id, owned: ownsSession, &actions)
    }

    mutating func enterWaiting(_ id: String, owned: Bool, _ actions: inout [Action]) {
        sessionID = id
        ownsSession = owned
        emittedSessionID = id
        actions.append(.emitSessionID(id))
        setStatus(.waiting, &actions)
    }

    mutating func transportReady(_ generation: Generation, _ actions: inout [Action]) {
        let wasRunning = isRunning(generation)
        settle(generation)
        guard wasRunning else { return }
        guard status == .waiting, capabilities != nil else {
            // The shell skipped a step. Failing beats a connect() that never returns.
            let error = CoreError(.internalError, "the connection came up before the session was known")
            fail(error, generation, &actions)
            return
        }
        let calls: [CallID]
        switch phase {
        case .connecting(let call, _, _): calls = [call]
        case .reconnecting(let waiting, _, _): calls = waiting
        default: calls = []
        }
        phase = .ready(generation)
        setStatus(.ready, &actions)
        actions.append(.sendResumesAndPing(tracks.outputNames))
        for call in calls { actions.append(.resolve(call, .success)) }
    }

    mutating func stepFailed(_ error: CoreError, _ generation: Generation, _ actions: inout [Action]) {
        let wasRunning = isRunning(generation)
        settle(generation)
        guard wasRunning else { return }
        fail(error, generation, &actions)
    }

    /// The client's own limit ran out: the call ends now, whatever its request still waits for.
    mutating func timedOut(_ error: CoreError, _ generation: Generation, _ actions: inout [Action]) {
        guard isRunning(generation) else {
            staleEvents += 1
            return
        }
        giveUpRunning(generation, &actions)
        fail(error, generation, &actions)
    }

    /// Stops the running attempt's task. A session that it may still be creating has to be ended.
    private mutating func giveUpRunning(_ generation: Generation, _ actions: inout [Action]) {
        actions.append(.cancelAttempt(generation))
        if case .connecting(_, let attempt, _) = phase, attempt.purpose == .create, sessionID == nil { unsettled[generation] = .end }
    }

    mutating func transportLost(_ cause: String, _ generation: Generation, _ actions: inout [Action]) {
        let message = "peer connection state: \(cause)" + (announcedEnd.map { " (the session ended: \($0))" } ?? "")
        if isRunning(generation) {
            // The attempt's task would go on waiting for what will not come.
            giveUpRunning(generation, &actions)
            fail(CoreError(.transportError, message), generation, &actions)
        } else if phase == .ready(generation) {
            actions.append(.emitError(CoreError(.disconnected, message)))
            leaveReady(.disconnected, message, generation, &actions)
            phase = .idle
            setStatus(.disconnected, &actions)
        } else {
            staleEvents += 1
        }
    }

    /// Ends the running attempt with an error: event first, then teardown, then the status, then the callers.
    mutating func fail(_ error: CoreError, _ generation: Generation, _ actions: inout [Action]) {
        switch phase {
        case .connecting(let call, _, _):
            let failure = error.during(.connect)
            actions.append(.emitError(failure))
            actions.append(.closeTransport(generation))
            endOwnedSession(&actions)
            forgetSession()
            phase = .idle
            setStatus(.disconnected, &actions)
            actions.append(.resolve(call, .failure(failure)))
        case .reconnecting(let calls, _, _):
            let failure = error.during(.reconnect)
            actions.append(.emitError(failure))
            actions.append(.closeTransport(generation))
            phase = .idle
            setStatus(.disconnected, &actions)
            for call in calls { actions.append(.resolve(call, .failure(failure))) }
        default: break
        }
    }
}
