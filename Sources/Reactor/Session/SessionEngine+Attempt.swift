internal import RTCBase
internal import RTCPeer
internal import ReactorCore

// One attempt: session, signalling, transport, readiness (wire protocol §0). Every step reports to the machine; the attempt
// ends with exactly one `transportReady` or `stepFailed`.
extension SessionEngine {
    func start(_ attempt: Attempt) {
        let connection = Connection(generation: attempt.generation, isReconnect: attempt.isReconnect)
        connections[attempt.generation] = connection
        timing = ConnectTiming(began: NetworkThread.now())
        connection.task = Task { await run(attempt) }
    }

    private func run(_ attempt: Attempt) async {
        let generation = attempt.generation
        let operation: CoreError.Operation = attempt.isReconnect ? .reconnect : .connect
        let limit = configuration.connectTimeout.map { limit in
            Task {
                try await Task.sleep(for: limit.forSleep)
                let failure = CoreError(
                    .requestTimeout, "timed out: \(operation.rawValue) did not complete within \(limit)", operation: operation)
                perform(.timedOut(failure, generation))
            }
        }
        defer { limit?.cancel() }
        do {
            try await runSteps(attempt)
            // Lost between the last channel's opening and here: nobody would hear of it again.
            if let loss = connections[generation]?.lossBeforeReady { throw loss.failure }
            connections[generation]?.isSettled = true
            perform(.transportReady(generation))
        } catch {
            connections[generation]?.isSettled = true
            perform(.stepFailed(CoreError(error, operation: operation), generation))
            // Whatever the machine said about it, a failed attempt leaves no transport behind.
            closeConnection(generation)
        }
        connections[generation]?.task = nil
    }

    private func runSteps(_ attempt: Attempt) async throws {
        let generation = attempt.generation
        let operation: CoreError.Operation = attempt.isReconnect ? .reconnect : .connect
        let api = apiClient(operation)
        let (sessionID, capabilities) = try await session(for: attempt, api: api)

        let signaling = try SignalingClient(api: api, clientInfo: .swift, sessionID: sessionID)
        // The two requests know nothing of each other, so they travel together.
        async let servers = signaling.iceServers()
        async let registered = register(attempt, signaling)
        let iceServers = PeerConfiguration.Server.list(try await servers)

        let peer = try await makePeer(tracks: capabilities.tracks.map { TrackDeclaration($0) }, servers: iceServers, generation)
        guard let connection = connections[generation] else { throw CancellationError() }
        connection.peer = peer
        let offer: LocalOffer
        do throws(PeerError) {
            offer = try await peer.makeOffer()
        } catch {
            throw CoreError(error, operation: operation)
        }
        timing.offered(now: NetworkThread.now())
        var connectionID = try await registered
        if attempt.connectionID == nil { perform(.connectionRegistered(connectionID, generation)) }
        try await signaling.sendOffer(
            offer.sdp, trackMapping: offer.sections.map(SDPOfferBody.TrackMapping.init), connection: connectionID,
            isReconnect: attempt.isReconnect && attempt.connectionID != nil)
        connection.signaling = signaling
        connection.connectionID = connectionID
        connection.firstMid = offer.sections.first?.mid ?? "0"
        connection.isGatheringDone = connection.isGatheringDone || offer.gatheringComplete
        sendCandidates(generation)

        let answer = try await signaling.waitForAnswer(connection: connectionID)
        if let replaced = answer.connectionID, replaced != connectionID {
            connectionID = replaced
            connection.connectionID = replaced
            perform(.connectionRegistered(replaced, generation))
        }
        try Task.checkCancellation()
        let applied: AppliedAnswer
        do throws(PeerError) {
            applied = try await peer.apply(answer: answer.answer)
        } catch {
            throw CoreError(error, operation: operation)
        }
        timing.answered(now: NetworkThread.now())
        for track in applied.rejectedTracks {
            log(.warning, "the server takes no media for a track", ["track": track.track, "reason": track.reason])
            connection.rejections[track.track] = track.reason
        }
        await applyBitrates(to: peer)
        // A session whose every received track was refused would be ready and never show anything.
        if applied.receivedTracks.isEmpty, let rejected = applied.rejectedTracks.first {
            throw CoreError(.transportError, rejected.reason, operation: operation)
        }
        perform(
            .tracksReceived(applied.receivedTracks.map { SessionMachine.ReceivedTrack(name: $0.track, mid: $0.mid) }, generation))
        try await waitForReadiness(generation, operation: operation)
    }

    // MARK: Session

    private func session(for attempt: Attempt, api: APIClient) async throws -> (id: String, Capabilities) {
        let generation = attempt.generation
        let coordinator = CoordinatorClient(api: api, clientInfo: .swift)
        var session: SessionDescriptor
        switch attempt.purpose {
        case .reconnect(let id, let capabilities):
            return (id, capabilities)
        case .adopt(let id):
            session = try await coordinator.session(id)
            perform(.sessionAdopted(id: session.sessionID, generation))
        case .create:
            session = try await createSession(coordinator)
            timing.created(now: NetworkThread.now())
            perform(.sessionCreated(id: session.sessionID, generation))
        }
        try Task.checkCancellation()
        if !session.isConnectable { session = try await coordinator.waitUntilConnectable(session.sessionID) }
        guard let capabilities = session.capabilities else {
            throw CoreError(.decodeFailed, "the session has no capabilities", operation: api.operation)
        }
        timing.sessionReady(now: NetworkThread.now())
        perform(.capabilitiesReceived(capabilities, generation))
        return (session.sessionID, capabilities)
    }

    /// Creating a session is not abandoned half way: a request that is out is answered within its grace even when the
    /// attempt was cancelled, so that a session made meanwhile is known and can be ended (wire protocol §2.5, api.md C8). One that
    /// is not out yet, because the token is still to come, does not go out.
    private func createSession(_ coordinator: CoordinatorClient) async throws -> SessionDescriptor {
        let model = self.model
        let gate = RequestGate()
        var coordinator = coordinator
        coordinator.api.gate = gate
        let request = Task { try await coordinator.createSession(model: model) }
        return try await withTaskCancellationHandler {
            try await request.value
        } onCancel: {
            if gate.close() { return request.cancel() }
            Task {
                try? await Task.sleep(for: .seconds(5))
                request.cancel()
            }
        }
    }

    private nonisolated func register(_ attempt: Attempt, _ signaling: SignalingClient) async throws -> UInt32 {
        if let id = attempt.connectionID { return id }
        return try await signaling.registerConnection()
    }

    // MARK: Transport

    private func makePeer(tracks: [TrackDeclaration], servers: [PeerConfiguration.Server], _ generation: Generation) async throws
        -> PeerConnection
    {
        var settings = PeerConfiguration()
        settings.iceServers = servers
        settings.relayOnly = configuration.iceTransport == .relay
        settings.channels = [MessageChannel.data.rawValue, MessageChannel.control.rawValue]
        let ping = try ControlClientMessage.notification(.ping).encode()
        settings.firstMessages = [(MessageChannel.control.rawValue, ping)]
        var remotes: [String: RemoteTrack] = [:]
        var locals: [String: LocalTrack] = [:]
        for declaration in tracks {
            let track = state.track(named: declaration.name)
            switch declaration.direction {
            case .recvonly: remotes[declaration.name] = track.remote
            case .sendonly: locals[declaration.name] = track.local(declaration.kind)
            }
        }
        do throws(PeerError) {
            return try await PeerConnection(
                configuration: settings, tracks: tracks, remoteTracks: remotes, localTracks: locals
            ) { [weak self] event in
                self?.assumeIsolated { $0.handle(event, generation) }
            }
        } catch {
            throw CoreError(error, operation: .connect)
        }
    }

    private func waitForReadiness(_ generation: Generation, operation: CoreError.Operation) async throws {
        let limit = Task {
            try await Task.sleep(for: .seconds(Self.readinessSeconds))
            connections[generation]?.failReadiness(
                CoreError.transportReadinessTimedOut(seconds: Self.readinessSeconds, operation: operation))
        }
        defer { limit.cancel() }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            guard let connection = connections[generation] else { return continuation.resume(throwing: CancellationError()) }
            connection.waitForReadiness(continuation)
        }
    }

    /// Wire protocol §9: the readiness gate.
    static var readinessSeconds: Int { 30 }

    /// One request at a time, in order, each with what has gathered meanwhile; failures are logged only (§2.7).
    func sendCandidates(_ generation: Generation) {
        guard let connection = connections[generation], !connection.isSendingCandidates, let signaling = connection.signaling,
            let id = connection.connectionID
        else { return }
        let isFinal = connection.isGatheringDone && !connection.wasFinalSent
        guard !connection.candidates.isEmpty || isFinal else { return }
        let mid = connection.firstMid ?? "0"
        let batch = connection.candidates.map { IceCandidatesBody.Candidate(text: $0, mid: mid, mLineIndex: 0) }
        connection.candidates = []
        connection.wasFinalSent = connection.wasFinalSent || isFinal
        connection.isSendingCandidates = true
        Task {
            do {
                try await signaling.sendCandidates(batch, isFinal: isFinal, connection: id)
            } catch {
                log(.debug, "candidates were not delivered", ["error": "\(error)"])
            }
            connections[generation]?.isSendingCandidates = false
            sendCandidates(generation)
        }
    }

    func closeConnection(_ generation: Generation) {
        guard let connection = connections[generation] else { return }
        connection.cancel()
        let peer = connection.peer
        connection.peer = nil
        if connection.isSettled { connections[generation] = nil }
        guard let peer else { return }
        Task { await peer.close() }
    }

    // MARK: Events of the peer

    private func handle(_ event: PeerEvent, _ generation: Generation) {
        guard let connection = connections[generation], !connection.isCancelled else { return drops.count(.staleGeneration) }
        switch event {
        case .localCandidate(let candidate):
            connection.candidates.append(candidate)
            sendCandidates(generation)
        case .gatheringDone:
            connection.isGatheringDone = true
            sendCandidates(generation)
        case .iceConnected:
            timing.iceConnected(now: NetworkThread.now())
        case .dtlsConnected:
            timing.dtlsConnected(now: NetworkThread.now())
        case .channelOpened(let label):
            connection.channelOpened(label)
        case .channelClosed(let label):
            connection.channelClosed(label)
            publishSnapshot()
        case .message(let label, let isText, let bytes):
            guard let channel = MessageChannel(rawValue: label) else { return drops.count(.unknownChannel) }
            receive(bytes, isText: isText, channel: channel, generation: generation)
        case .mediaStarted(let track):
            log(.debug, "media started", ["track": track])
        case .warning(let text):
            log(.warning, "ICE configuration", ["reason": text])
        case .lost(let loss):
            if connection.isSettled {
                perform(.transportLost(cause: loss.causeText, generation))
            } else {
                connection.lost(loss)
            }
        }
    }
}

extension PeerConfiguration.Server {
    /// One entry per URL, each with the credentials of its own server.
    static func list(_ response: IceServersResponse) -> [PeerConfiguration.Server] {
        response.servers.flatMap { server in
            server.uris.map { PeerConfiguration.Server(url: $0, username: server.username, credential: server.password) }
        }
    }
}

extension Attempt {
    var isReconnect: Bool {
        if case .reconnect = purpose { return true }
        return false
    }
}

extension CoreError {
    /// Any failure of a step, in the words of the error record.
    init(_ error: any Error, operation: Operation) {
        switch error {
        case let error as CoreError: self = error.during(operation)
        case let error as ReactorError: self.init(error, operation: operation)
        case let error as PeerError: self.init(error, operation: operation)
        case is CancellationError: self.init(.aborted, "\(operation.rawValue) was cancelled", operation: operation)
        default: self.init(.internalError, "\(error)", operation: operation)
        }
    }

    init(_ error: PeerError, operation: Operation) {
        let code: ErrorCode =
            switch error.kind {
            case .invalidState: .invalidState
            case .malformedDescription: .decodeFailed
            case .negotiation, .transport, .backpressure: .transportError
            case .configuration: .badRequest
            case .messageTooLarge: .messageTooLarge
            }
        self.init(code, error.message, operation: operation)
    }

    private init(_ error: ReactorError, operation: Operation) {
        self.init(
            ErrorCode(rawValue: error.code.rawValue), error.message, operation: error.operation.flatMap(Operation.init) ?? operation,
            status: error.status, retryAfterMilliseconds: error.retryAfterMS, recoverable: error.recoverable)
    }
}

extension SDPOfferBody.TrackMapping {
    init(_ section: LocalOffer.Section) {
        self.init(
            track: DeclaredTrack(
                name: section.track.name, kind: section.track.kind == .video ? .video : .audio,
                direction: section.track.direction == .sendonly ? .sendonly : .recvonly),
            mid: section.mid)
    }
}
