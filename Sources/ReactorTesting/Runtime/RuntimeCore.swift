// The heart of the embedded runtime: the session machine, the connections and everything between them. In: the calls of the
// HTTP routes, events of peer connections, the clock. Out: answers, messages, tracks that flow, the model's tasks. It runs on
// the network thread, where the peer connections are, so a message goes from the socket to its answer in one stack; the
// model's code never runs there.

internal import RTCBase
internal import RTCPeer
internal import Reactor
internal import ReactorCore

/// The state of one runtime; an actor on the network thread.
actor RuntimeCore {
    nonisolated let model: any LocalModel
    /// As the model declared them at the start.
    nonisolated let tracks: [LocalTrack]
    nonisolated let modelName: String
    nonisolated let schemaDocument: WireValue
    nonisolated let settings: RuntimeSettings
    nonisolated let contract: CommandContract
    nonisolated let uploads: UploadStore
    /// Nil: sessions are not recorded.
    nonisolated let recordings: RecordingLibrary?
    nonisolated let network: NetworkShaper
    private nonisolated let executor = NetworkThread.executor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    var machine: RuntimeSessionMachine
    var session: LiveSession?
    var slots: PublisherSlots
    /// By the id in the URL.
    var connections: [Int: RuntimeConnection] = [:]
    /// The newest ids that were given out in this session, which are not given out again soon.
    var registered = RecentIDs()
    /// Candidates that came before their offer; bounded.
    var earlyCandidates: [Int: [String]] = [:]
    var drops = DropCounters()
    private var lastGeneration: UInt64 = 0
    private var timer: PeerTimer?
    private var armedDeadline: MonotonicTime?
    private var waitingForEnd: [CheckedContinuation<Void, Never>] = []

    init(
        model: any LocalModel, settings: RuntimeSettings, uploads: UploadStore = UploadStore(),
        recordings: RecordingLibrary? = nil, network: NetworkShaper = NetworkShaper(.perfect)
    ) {
        self.model = model
        self.settings = settings
        self.uploads = uploads
        self.recordings = recordings
        self.network = network
        tracks = model.tracks
        modelName = model.name
        let commands = model.commands
        schemaDocument = ModelSchema.document(name: modelName, tracks: tracks, commands: commands ?? [])
        contract = CommandContract(commands)
        machine = RuntimeSessionMachine(orphanTimeout: settings.orphanTimeout)
        slots = PublisherSlots(tracks: [String]())
        machine.modelLoaded()
    }

    // MARK: The session

    func start(recordingID: String?) throws(RouteFailure) {
        do throws(RuntimeSessionMachine.Refusal) {
            try machine.start(now: NetworkThread.now())
        } catch {
            throw RouteFailure(error, verb: "start")
        }
        slots = PublisherSlots(tracks: tracks.filter { $0.direction == .sendonly }.map(\.name))
        registered = RecentIDs()
        earlyCandidates = [:]
        // A place that was taken while the session before ended.
        uploads.removeAll()
        let outputs = tracks.filter { $0.direction == .recvonly }
        let recorder = recordings?.makeRecorder(
            id: recordingID, pictureRate: outputs.first { $0.kind == .video }?.rate,
            hasSound: outputs.contains { $0.kind == .audio })
        let media = SessionMedia(tracks: tracks, recorder: recorder)
        let handle = LocalSession(id: RuntimeBodies.sessionID, core: self, media: media)
        session = LiveSession(tracks: tracks, media: media, recorder: recorder, handle: handle)
        publish()
    }

    /// Ends the session of the machine's `closing` state: tells the clients, closes their connections, and is ready for the next.
    func finishSession(_ notice: ServerMessage.Content?) async {
        let ending = session
        session = nil
        let leaving = connections.values.sorted { $0.key.generation < $1.key.generation }
        for connection in leaving where connection.isOpen {
            if connection.encoding == nil { use(.v1, for: connection) }
            if let notice { send(ServerMessage(channel: .control, requestID: "", content: notice), to: connection) }
        }
        for connection in leaving { detach(connection, from: ending) }
        ending?.end()
        publish()
        // In a task that is not cancelled: the caller may be the model's own, and that one is by now.
        await Task { await closeAll(leaving.compactMap(\.peer)) { await Self.close($0) } }.value
        uploads.removeAll()
        machine.closed()
        publish()
        let waiting = waitingForEnd
        waitingForEnd = []
        for continuation in waiting { continuation.resume() }
    }

    /// Ends the runtime; returns when nothing is left.
    func shutDown() async {
        if machine.shutDown() {
            await finishSession(.sessionEnded(reason: Self.shutdownReason))
        } else if machine.state == .closing {
            await withCheckedContinuation { waitingForEnd.append($0) }
        }
        publish()
        timer = nil
    }

    func closeAll(_ peers: [PeerConnection], _ close: @escaping @Sendable (PeerConnection) async -> Void) async {
        await withTaskGroup { group in
            for peer in peers { group.addTask { await close(peer) } }
        }
    }

    /// What was sent reaches the client first, as long as it still answers.
    private static func close(_ peer: PeerConnection) async {
        for _ in 0..<drainMilliseconds {
            guard await peer.unacknowledgedBytes > 0 else { break }
            try? await Task.sleep(for: .milliseconds(1))
        }
        await peer.close()
    }

    // MARK: Connections

    func makeKey(id: Int) -> ConnectionKey {
        lastGeneration += 1
        return ConnectionKey(id: id, generation: lastGeneration)
    }

    /// The connection is gone, for whatever reason; the session goes on.
    func drop(_ connection: RuntimeConnection) {
        detach(connection, from: session)
        if let peer = connection.peer { Task { await peer.close() } }
        publish()
    }

    func detach(_ connection: RuntimeConnection, from session: LiveSession?) {
        if connections[connection.key.id] === connection { connections[connection.key.id] = nil }
        connection.commands.finish()
        for input in connection.inputs.values { input.setForwarding(false) }
        slots.releaseAll(of: connection.key)
        session?.media.remove(connection.outputs)
        machine.connectionClosed(connection.key, now: NetworkThread.now())
    }

    /// Both channels of a connection are open for the first time.
    func opened(_ connection: RuntimeConnection) {
        guard let session else { return }
        machine.connectionOpened(connection.key)
        if connection.encoding == nil {
            connection.encodingDeadline = NetworkThread.now().adding(milliseconds: Self.encodingMilliseconds)
        }
        session.media.add(connection.outputs)
        let key = connection.key
        let handle = session.handle
        session.commandTasks[key] = connection.commands.start(first: { [model, settings] in
            do {
                try await model.clientConnected(in: handle)
            } catch {
                if Task.isCancelled { return }
                settings.log(.error, "the model's clientConnected(in:) failed", ["error": String(describing: error)])
            }
        }) { [weak self] request in
            await self?.carryOut(request, of: key, in: handle)
        } atEnd: { [weak self] in
            await self?.forgetCommands(of: key)
        }
        if session.run == nil {
            session.run = Task.detached { [model, settings] in
                do {
                    try await model.run(in: handle)
                } catch {
                    // What fails because the session is over is no news.
                    if Task.isCancelled { return }
                    settings.log(.error, "the model's run(in:) failed", ["error": String(describing: error)])
                }
            }
        }
        publish()
    }

    /// All that the connection asked for is carried out, and it asks for nothing more.
    private func forgetCommands(of key: ConnectionKey) { session?.commandTasks[key] = nil }

    // MARK: Time

    /// Tells what changed and sets the timer. Every change of the machine or of the connections ends here.
    func publish() {
        for transition in machine.takeTransitions() {
            settings.onTransition?(transition)
            settings.log(
                .debug, "runtime event",
                transition.detail.merging(["event": transition.event, "state": transition.to.rawValue]) { first, _ in first })
        }
        rearm()
    }

    private func rearm() {
        var earliest = machine.nextDeadline
        for connection in connections.values {
            guard let deadline = nextDeadline(connection) else { continue }
            earliest = earliest.map { min($0, deadline) } ?? deadline
        }
        guard machine.state != .terminated, let earliest else { return }
        // Only ever set to an earlier time; a timer that fires too early looks again.
        guard armedDeadline.map({ earliest < $0 }) ?? true else { return }
        if timer == nil {
            timer = PeerTimer { [weak self] in self?.assumeIsolated { $0.timerFired() } }
        }
        armedDeadline = earliest
        timer?.set(deadline: earliest)
    }

    func nextDeadline(_ connection: RuntimeConnection) -> MonotonicTime? {
        if !connection.isOpen { return connection.deadline }
        let pingDeadline = settings.pingTimeout.map { connection.lastHeard + $0 }
        guard let encodingDeadline = connection.encodingDeadline else { return pingDeadline }
        return pingDeadline.map { min($0, encodingDeadline) } ?? encodingDeadline
    }

    private func timerFired() {
        let now = NetworkThread.now()
        if let armedDeadline, let timeout = settings.pingTimeout, now - armedDeadline > timeout / 4 {
            // This process was held up: what its clients said meanwhile is still in the sockets.
            for connection in connections.values { connection.lastHeard = now }
        }
        armedDeadline = nil
        for connection in Array(connections.values) {
            if let deadline = connection.encodingDeadline, deadline <= now { use(.v1, for: connection) }
            guard let deadline = nextDeadline(connection), deadline <= now else { continue }
            let event = connection.isOpen ? "client_silent" : "negotiation_timed_out"
            machine.note(event, ["conn_id": String(connection.key.id)])
            drop(connection)
        }
        if machine.handleTimeout(now: now) { Task { await finishSession(nil) } }
        publish()
    }

    // MARK: Constants

    /// As the vendor's runtime words it (wire-protocol 8.5).
    static let shutdownReason = "Session ended: the server is shutting down."
    static let mostConnections = 64
    /// A client says something as soon as it can (wire-protocol 5.2). One that does not is spoken to in protobuf after this, until
    /// it says something.
    private static let encodingMilliseconds: Int64 = 500
    private static let drainMilliseconds = 250
}

extension RouteFailure {
    init(_ refusal: RuntimeSessionMachine.Refusal, verb: String) {
        switch refusal {
        case .loading: self.init(503, "the model is loading", retryAfterSeconds: 1)
        case .terminated: self.init(503, "the runtime is terminated")
        case .conflict(let state): self.init(409, "cannot \(verb) session while \(state.rawValue)")
        }
    }
}
