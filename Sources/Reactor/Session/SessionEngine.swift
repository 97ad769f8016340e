// The engine behind a client: drives the session machine, runs its work, and moves messages between calls and channels.
// In: calls of the façade, results of HTTP steps, events of the peer connection. Out: the snapshot for synchronous readers,
// events, resumed callers. It runs on the network thread, so a message goes from the socket to the waiting call in one stack.
// It never holds the client.

internal import RTCBase
internal import RTCPeer
internal import ReactorCore

/// One client's session logic; an actor on the network thread.
actor SessionEngine {
    nonisolated let model: String
    nonisolated let endpoint: APIEndpoint
    nonisolated let configuration: ReactorConfiguration
    nonisolated let state: ClientState
    nonisolated let tokens: TokenSource
    private nonisolated let executor = NetworkThread.executor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    var machine: SessionMachine
    /// The attempts and connections that have not been let go of, by generation.
    var connections: [Generation: Connection] = [:]
    private var callers: [CallID: CheckedContinuation<Void, any Error>] = [:]
    private var lastCall: UInt64 = 0

    var dataCalls = RequestCorrelator<CheckedContinuation<Reply, any Error>>(channel: .data)
    var controlCalls = RequestCorrelator<CheckedContinuation<Reply, any Error>>(channel: .control)
    private var timer: PeerTimer?
    private var armedDeadline: MonotonicTime?
    var nextPing: MonotonicTime?
    var drops = DropCounters()
    var timing = ConnectTiming() {
        didSet { state.write { $0.timing = timing } }
    }
    var lastStats: StatsMemory?
    var reconnectPlan: ReconnectPlan
    var reconnectTimer: PeerTimer?
    /// The attempt of the plan that runs.
    var automaticCall: CallID?
    /// Set by the app; kept over reconnects.
    var bitrates = BitrateSettings()

    init(
        model: String, endpoint: APIEndpoint, tokens: (any TokenProvider)?, configuration: ReactorConfiguration, state: ClientState
    ) {
        self.model = model
        self.endpoint = endpoint
        self.configuration = configuration
        self.state = state
        self.tokens = TokenSource(provider: tokens, model: model)
        machine = SessionMachine(isLocal: endpoint.isLocal)
        reconnectPlan = ReconnectPlan(configuration.reconnectPolicy)
    }

    // MARK: Lifecycle calls

    func connect(sessionID: String?, connectionID: UInt32?) async throws {
        try await lifecycleCall { .connectCalled($0, sessionID: sessionID, connectionID: connectionID) }
    }

    func reconnect() async throws { try await lifecycleCall { .reconnectCalled($0) } }

    /// Not cancelled with its caller's task, and harmless without a session. Throws only when the client is closed meanwhile.
    func disconnect() async throws {
        let call = makeCall()
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            callers[call] = continuation
            perform(.disconnectCalled(call))
        }
    }

    /// Any thread; returns at once.
    nonisolated func postClose(isRelease: Bool) {
        NetworkThread.execute { [self] in
            assumeIsolated { engine in
                if isRelease, let id = engine.machine.sessionID, !engine.machine.isClosed {
                    engine.log(.warning, "client released without disconnect(): the session stays on the server", ["session": id])
                }
                engine.perform(.closeCalled)
            }
        }
    }

    private func lifecycleCall(_ event: (CallID) -> SessionMachine.Event) async throws {
        try Task.checkCancellation()
        let call = makeCall()
        let event = event(call)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                callers[call] = continuation
                perform(event)
            }
        } onCancel: {
            // Enqueued on the network thread, so it comes after the event above.
            NetworkThread.execute { [weak self] in self?.assumeIsolated { $0.perform(.cancelled(call)) } }
        }
    }

    func makeCall() -> CallID {
        lastCall += 1
        return CallID(lastCall)
    }

    // MARK: The machine

    /// The one doorway: what happened goes in, the snapshot is written, and the actions are carried out in order.
    func perform(_ event: SessionMachine.Event) {
        yieldToApp(event)
        let loss = lossToRepair(event)
        let actions = machine.handle(event)
        publishSnapshot()
        for action in actions { execute(action) }
        if let loss { repairLoss(published: loss) }
        rearm()
    }

    func publishSnapshot() {
        let status = ReactorStatus(machine.status)
        let declarations = machine.tracks.entries.map { TrackDeclaration($0.track) }
        var mids: [String: String] = [:]
        for entry in machine.tracks.entries { mids[entry.track.name] = entry.mid }
        let isControlOpen = machine.readyGeneration.map { connections[$0]?.isOpen(.control) ?? false } ?? false
        var isDeclarationNew = false
        state.write { snapshot in
            guard !snapshot.isClosed else { return }
            isDeclarationNew = snapshot.declarations != declarations
            snapshot.status = status
            snapshot.sessionID = machine.sessionID
            snapshot.declarations = declarations
            snapshot.mids = mids
            snapshot.paused = machine.tracks.pausedNames
            // What a caller has given up is not taken back by an engine that has not heard of it yet.
            snapshot.published = machine.tracks.publishedNames.subtracting(snapshot.unpublishing)
            snapshot.isControlOpen = isControlOpen
        }
        state.announceTrackChanges()
        if isDeclarationNew {
            warnOfIdleHandlers(declarations)
            state.hub.post(tracks: TrackList(state.declaredTracks))
        }
    }

    /// Handlers may be registered before the session says which way a track goes.
    private func warnOfIdleHandlers(_ declarations: [TrackDeclaration]) {
        for track in declarations where track.direction == .sendonly && state.track(named: track.name).remote.hasConsumers {
            log(.warning, "frames are waited for on a track that this client sends; none will come", ["track": track.name])
        }
    }

    private func execute(_ action: SessionMachine.Action) {
        switch action {
        case .emitStatus(let status):
            log(.debug, "status changed", ["status": status.rawValue])
            state.hub.post(status: ReactorStatus(status))
            if status == .ready {
                timing.ready(now: NetworkThread.now())
                log(.debug, "connected", timing.metadata)
                configuration.metrics?.connected(state.timings)
                if machine.readyGeneration.flatMap({ connections[$0] })?.isReconnect == true { configuration.metrics?.reconnected() }
            }
        case .emitSessionID(let id):
            log(.debug, "session id changed", ["session": id ?? "none"])
            state.hub.post(sessionID: id)
        case .emitCapabilities:
            break  // Seen in the snapshot.
        case .emitTrackReceived(let track):
            state.hub.post(trackReceived: state.track(named: track.name))
        case .emitError(let error):
            log(.debug, "error event", ["code": error.code.rawValue, "message": error.message])
            state.hub.post(error: ReactorError.event(error))
        case .startAttempt(let attempt):
            start(attempt)
        case .cancelAttempt(let generation):
            connections[generation]?.cancel()
        case .closeTransport(let generation):
            closeConnection(generation)
        case .endSession(let id, let token):
            endSession(id, token)
        case .failPending(let code, let message):
            failPending(code, message)
        case .sendResumesAndPing(let names):
            becomeReady(resuming: names)
        case .resolve(let call, let outcome):
            resolve(call, outcome)
        case .finish:
            // Timers belong to the network thread, and this is the last time the engine is surely on it.
            timer = nil
            reconnectTimer = nil
            for generation in Array(connections.keys) { closeConnection(generation) }
            nextPing = nil
        }
    }

    private func resolve(_ call: CallID, _ outcome: CallOutcome) {
        if endedAutomatically(call, outcome) { return }
        guard let caller = callers.removeValue(forKey: call) else { return }
        switch outcome {
        case .success: caller.resume()
        case .failure(let error): caller.resume(throwing: ReactorError(error))
        case .cancelled: caller.resume(throwing: CancellationError())
        }
    }

    private func endSession(_ id: String, _ token: EndToken) {
        let client = CoordinatorClient(api: apiClient(.disconnect), clientInfo: .swift)
        Task {
            do {
                try await client.terminate(id)
            } catch {
                log(.warning, "the session could not be ended on the server", ["session": id, "error": "\(error)"])
            }
            perform(.endFinished(token))
        }
    }

    // MARK: Time

    /// One timer: the next ping and the first deadline of a call.
    func rearm() {
        var earliest = nextPing
        let call = min(dataCalls.nextDeadline() ?? .max, controlCalls.nextDeadline() ?? .max)
        if call < .max { earliest = min(earliest ?? MonotonicTime(nanoseconds: .max), MonotonicTime(nanoseconds: call)) }
        // Only ever set to an earlier time: setting a timer wakes the thread's poll, and most deadlines are met long before
        // they are due. A timer that fires too early looks again and is set anew.
        guard let earliest, armedDeadline.map({ earliest < $0 }) ?? true else { return }
        if timer == nil {
            timer = PeerTimer { [weak self] in self?.assumeIsolated { $0.timerFired() } }
        }
        armedDeadline = earliest
        timer?.set(deadline: earliest)
    }

    private func timerFired() {
        armedDeadline = nil
        let now = NetworkThread.now()
        failExpiredCalls(now: now)
        if let due = nextPing, due <= now {
            nextPing = now.adding(milliseconds: Self.pingMilliseconds)
            sendControl(.ping)
        }
        rearm()
    }

    /// Wire protocol §5.7: half of the runtime's limit.
    static let pingMilliseconds: Int64 = 10_000

    // MARK: Helpers

    nonisolated func apiClient(_ operation: CoreError.Operation) -> APIClient {
        let tokens = self.tokens
        return APIClient(endpoint: endpoint, operation: operation) { sessionID in try await tokens.token(sessionID: sessionID) }
    }

    nonisolated func log(
        _ level: ReactorLogger.Level, _ message: @autoclosure () -> String, _ metadata: @autoclosure () -> [String: String] = [:]
    ) {
        configuration.logger?.log(level, "session", message(), metadata())
    }

}

extension ClientInfo {
    static var swift: ClientInfo { ClientInfo(sdkVersion: ReactorSDK.version, sdkType: "swift") }
}

extension ReactorStatus {
    init(_ status: SessionStatus) {
        self =
            switch status {
            case .disconnected: .disconnected
            case .connecting: .connecting
            case .waiting: .waiting
            case .ready: .ready
            }
    }
}

extension TrackDeclaration {
    init(_ track: DeclaredTrack) {
        self.init(
            name: track.name, kind: track.kind == .video ? .video : .audio,
            direction: track.direction == .sendonly ? .sendonly : .recvonly)
    }
}
