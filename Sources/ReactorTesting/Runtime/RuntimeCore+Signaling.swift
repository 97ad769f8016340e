internal import RTCBase
internal import RTCPeer
internal import Reactor
internal import ReactorCore

// The HTTP routes (wire-protocol 3.1, 3.2).
extension RuntimeCore: RuntimeService {
    func startSession(sessionID: String?) async throws(RouteFailure) -> WireValue {
        try start(recordingID: sessionID)
        return await descriptor()
    }

    func descriptor() async -> WireValue {
        RuntimeBodies.descriptor(
            name: modelName, tracks: tracks, state: machine.state, recordsSessions: recordings != nil,
            chunkSeconds: RecordingGrid.chunkSeconds)
    }

    func stopSession(moderates: Bool, reason: String) async throws(RouteFailure) {
        do throws(RuntimeSessionMachine.Refusal) {
            try machine.stop()
        } catch {
            throw RouteFailure(error, verb: "stop")
        }
        await finishSession(Self.endNotice(moderates: moderates, reason: reason))
    }

    /// What the clients hear of a stop; a moderated one outranks a reason (wire-protocol 8.5).
    static func endNotice(moderates: Bool, reason: String) -> ServerMessage.Content? {
        if moderates {
            var moderation = Moderation()
            moderation.action = "terminate"
            moderation.message = "Session terminated due to policy violation."
            return .moderation(moderation)
        }
        return reason.isEmpty ? nil : .sessionEnded(reason: String(reason.prefix(64)))
    }

    func schema() async throws(RouteFailure) -> WireValue { schemaDocument }

    func requireSession(_ id: String) async throws(RouteFailure) {
        guard machine.state.isLive else { throw RouteFailure(400, "No session running") }
        guard id == RuntimeBodies.sessionID else { throw RouteFailure(404, "Unknown session") }
    }

    func iceServers() async -> WireValue { RuntimeBodies.iceServers(settings.iceServers) }

    func health() async -> (isHealthy: Bool, state: String, detail: String?) {
        switch machine.state {
        case .created: (true, "loading", nil)
        case .ready, .closing: (true, "available", nil)
        case .waiting, .streaming, .orphaned: (true, "serving", nil)
        case .terminated: (false, "terminated", nil)
        }
    }

    func metrics() async -> [MetricSample] {
        let discarded = "Messages and candidates of clients thrown away, by reason."
        return [
            MetricSample(
                name: "reactor_session_connections", help: "Connections of the session.", kind: .gauge, value: Double(connections.count))
        ]
            + drops.nonZero.map { reason, count in
                MetricSample(
                    name: "reactor_session_discarded_total", help: discarded, kind: .counter, labels: ["reason": "\(reason)"],
                    value: Double(count))
            }
    }

    func registerConnection() async throws(RouteFailure) -> WireValue {
        // From a random one on, around the end.
        let (ids, start) = (Self.mintedIDs, Int.random(in: Self.mintedIDs))
        func isFree(_ id: Int) -> Bool { !registered.contains(id) && connections[id] == nil && earlyCandidates[id] == nil }
        guard let id = (start...ids.upperBound).first(where: isFree) ?? (ids.lowerBound..<start).first(where: isFree) else {
            throw RouteFailure(503, "No connection ids left")
        }
        registered.insert(id)
        return RuntimeBodies.registration(id: id, tracks: tracks)
    }

    // MARK: Offers

    func offer(_ request: OfferRequest, connection id: Int) async throws(RouteFailure) {
        guard let session else { throw RouteFailure(400, "No session running") }
        if let present = connections[id], !present.hasFailed {
            // A client that does not know whether its request arrived sends it again.
            if present.offer == request.sdp { return }
        } else {
            let count = connections.values.count { !$0.hasFailed }
            guard count < Self.mostConnections else { throw RouteFailure(503, "Connection limit reached", retryAfterSeconds: 1) }
        }
        if let replaced = connections[id] { drop(replaced) }
        let now = NetworkThread.now()
        let connection = RuntimeConnection(
            key: makeKey(id: id), offer: request.sdp, session: session, path: network.makePath(), now: now,
            deadline: now + settings.negotiationTimeout)
        connections[id] = connection
        publish()
        do throws(PeerError) {
            connection.negotiation = .answered(try await negotiate(connection, request))
        } catch {
            connection.fail(RouteFailure(422, error.message))
            if let peer = connection.peer { Task { await peer.close() } }
            connection.peer = nil
            settings.log(.warning, "an offer cannot be answered", ["conn_id": String(id), "reason": error.message])
        }
    }

    private func negotiate(_ connection: RuntimeConnection, _ request: OfferRequest) async throws(PeerError) -> String {
        let key = connection.key
        let declarations = tracks.map(TrackDeclaration.init)
        var configuration = settings.peerConfiguration
        configuration.impairment = connection.path
        let peer = try await PeerConnection(
            configuration: configuration, tracks: declarations, remoteTracks: connection.inputs,
            localTracks: connection.outputs
        ) { [weak self] event in
            self?.assumeIsolated { $0.handle(event, from: key) }
        }
        connection.peer = peer
        guard connections[key.id] === connection else {
            await peer.close()
            throw PeerError(.invalidState, "the connection was replaced")
        }
        let names = Dictionary(request.trackMapping.map { ($0.mid, $0.track.name) }, uniquingKeysWith: { first, _ in first })
        let answer = try await peer.makeAnswer(to: request.sdp, trackNames: names)
        for rejected in answer.rejectedTracks where names.values.contains(rejected.track) {
            settings.log(.warning, "a track carries nothing", ["track": rejected.track, "reason": rejected.reason])
        }
        if let early = earlyCandidates.removeValue(forKey: key.id) { await peer.addRemoteCandidates(early) }
        return answer.sdp
    }

    func answer(connection id: Int) async throws(RouteFailure) -> String? {
        switch connections[id]?.negotiation {
        case .answered(let sdp): return sdp
        case .failed(let failure): throw failure
        case .running, nil: return nil
        }
    }

    func addCandidates(_ candidates: [IceCandidatesBody.Candidate], isFinal: Bool, connection id: Int) async throws(RouteFailure) {
        // An empty text is the end of candidates in another spelling.
        let lines = candidates.map(\.text).filter { !$0.isEmpty }
        if let connection = connections[id] {
            if case .answered = connection.negotiation, let peer = connection.peer {
                await peer.addRemoteCandidates(lines, isLast: isFinal)
                return
            }
            if connection.hasFailed { return }
        }
        var waiting = earlyCandidates[id] ?? []
        guard earlyCandidates[id] != nil || earlyCandidates.count < Self.mostEarlyConnections else {
            return drops.count(.unusableCandidate, by: UInt64(lines.count))
        }
        let room = max(0, Self.mostEarlyCandidates - waiting.count)
        waiting += lines.prefix(room)
        earlyCandidates[id] = waiting
        drops.count(.unusableCandidate, by: UInt64(lines.count - min(room, lines.count)))
    }

    /// wire-protocol 3.2: what the vendor's runtime gives out; other ids are for callers to choose.
    private static var mintedIDs: ClosedRange<Int> { 5000...9999 }
    private static var mostEarlyCandidates: Int { 256 }
    private static var mostEarlyConnections: Int { 128 }
}

extension TrackDeclaration {
    /// Seen from the model.
    init(_ track: LocalTrack) {
        self.init(
            name: track.name, kind: track.kind == .video ? .video : .audio,
            direction: track.direction == .recvonly ? .sendonly : .recvonly)
    }
}
