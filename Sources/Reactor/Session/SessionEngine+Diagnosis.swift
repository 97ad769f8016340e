internal import RTCBase
internal import RTCPeer
internal import ReactorCore

extension Reactor {
    /// Says why nothing arrives: the first step that has not happened of those that media needs.
    ///
    /// ```swift
    /// print(await reactor.diagnose(track: "main_video"))
    /// // track 'main_video': not resumed yet; it is paused; call resume()
    /// ```
    ///
    /// It looks at the present connection, and waits for nothing.
    /// - Parameter name: a track, or nil for the first declared track that lacks something, leaving out tracks that the app could
    ///   publish and has not.
    public func diagnose(track name: String? = nil) async -> Diagnosis { await engine.diagnose(name) }
}

extension SessionEngine {
    func diagnose(_ name: String?) async -> Diagnosis {
        if let name { return await findings(name).diagnosis }
        let status = state.read { $0.isClosed ? .disconnected : $0.status }
        guard status == .ready else {
            return Diagnosis(track: nil, passed: [], firstMissing: .connected, advice: TrackFindings.connectAdvice(status))
        }
        let declared = state.read(\.declarations)
        for declaration in declared where declaration.direction == .recvonly || state.isPublished(declaration.name) {
            let diagnosis = await findings(declaration.name).diagnosis
            if diagnosis.firstMissing != nil { return diagnosis }
        }
        return Diagnosis(track: nil, passed: [.connected], firstMissing: nil, advice: "")
    }

    private func findings(_ name: String) async -> TrackFindings {
        let (status, declarations, mid, isPaused, isPublished) = state.read { snapshot in
            (
                snapshot.isClosed ? ReactorStatus.disconnected : snapshot.status, snapshot.declarations, snapshot.mids[name],
                snapshot.paused.contains(name), snapshot.published.contains(name)
            )
        }
        let declaration = declarations.first { $0.name == name }
        var findings = TrackFindings(
            name: name, status: status, declaredNames: declarations.map(\.name), direction: declaration?.direction.publicDirection,
            kind: declaration?.kind.publicKind)
        guard declaration != nil, let generation = machine.readyGeneration, let connection = connections[generation] else {
            return findings
        }
        findings.rejection = connection.rejections[name]
        // A track that is sent has no mid of its own before it is published.
        findings.isNegotiated = mid != nil || declaration?.direction == .sendonly
        findings.isPaused = isPaused
        findings.isPublished = isPublished
        let counters = state.track(named: name).counters
        findings.framesTaken = Int(clamping: counters.delivered)
        findings.framesPushed = Int(clamping: counters.pushed)
        guard let measured = await connection.peer?.statistics else { return findings }
        if let stream = measured.inbound.first(where: { $0.track == name }) {
            findings.packetsReceived = stream.packetsReceived
            findings.framesDecoded = stream.audio.map(\.packetsPlayed) ?? stream.framesDecoded
            findings.lastDecodeError = stream.lastDecodeError
        }
        if let stream = measured.outbound.first(where: { $0.track == name }) {
            findings.packetsSent = stream.packetsSent
            findings.isAcknowledged = stream.roundTripNanoseconds != nil
        }
        return findings
    }
}
