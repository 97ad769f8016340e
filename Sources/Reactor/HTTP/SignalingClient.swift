package import ReactorCore

/// The routes under `/sessions/{id}/transport/webrtc`, the same hosted and local (wire-protocol §2.5 to §2.7, §3.2).
///
/// Every function throws ``ReactorError``, and `CancellationError` when the task is cancelled.
package struct SignalingClient: Sendable {
    package var api: APIClient
    package var clientInfo: ClientInfo
    package let sessionID: String

    /// - Throws: ``ReactorError`` with code `BAD_REQUEST` when the id cannot stand in a URL path.
    package init(api: APIClient, clientInfo: ClientInfo, sessionID: String) throws(ReactorError) {
        guard SessionDescriptor.isSafePathComponent(sessionID) else {
            throw ReactorError(CoreError(.badRequest, "not a session id", operation: api.operation))
        }
        self.api = api
        self.clientInfo = clientInfo
        self.sessionID = sessionID
    }

    /// STUN and TURN servers to use for this session.
    package func iceServers() async throws -> IceServersResponse {
        let response = try await api.send(call(.iceServers, .get, "/ice_servers"))
        return try api.decode(.iceServers) { () throws(WireFormatError) in try IceServersResponse(parsing: response.body) }
    }

    /// Registers a new connection and returns its id.
    package func registerConnection() async throws -> UInt32 {
        let response = try await api.send(call(.registerConnection, .post, "/connections", body: Array("{}".utf8)))
        return try api.decode(.registerConnection) { () throws(WireFormatError) in
            try ConnectionResponse(parsing: response.body).connectionID
        }
    }

    /// Sends the offer: `isReconnect` replaces what the connection negotiated before.
    package func sendOffer(
        _ offer: String, trackMapping: [SDPOfferBody.TrackMapping], connection: UInt32, isReconnect: Bool = false
    ) async throws {
        let body = SDPOfferBody(offer: offer, trackMapping: trackMapping, clientInfo: clientInfo)
        let bytes = try api.encode { () throws(WireFormatError) in try body.encode() }
        // The same offer twice on one id means the same as once, so a dead kept-alive connection needs no new connect.
        _ = try await api.send(
            call(.sendOffer, isReconnect ? .put : .post, "/connections/\(connection)/sdp_params", body: bytes, isRepeatable: true))
    }

    /// Asks once for the answer; nil while there is none. The local runtime hands an answer out only once.
    package func pollAnswer(connection: UInt32) async throws -> SDPAnswerResponse? {
        let response = try await api.send(call(.pollAnswer, .get, "/connections/\(connection)/sdp_params"))
        guard response.status != 202 else { return nil }
        return try api.decode(.pollAnswer) { () throws(WireFormatError) in try SDPAnswerResponse(parsing: response.body) }
    }

    /// Polls for the answer, every few milliseconds at first, 12.6 s at most.
    package func waitForAnswer(connection: UInt32) async throws -> SDPAnswerResponse {
        var polls = Backoff.answerPoll
        while true {
            if let answer = try await pollAnswer(connection: connection) { return answer }
            guard let delay = polls.nextDelay() else {
                throw ReactorError(
                    CoreError(.requestTimeout, "no SDP answer after \(polls.attempts) polls", operation: api.operation))
            }
            try await Task.sleep(for: delay)
        }
    }

    /// Sends gathered candidates; `isFinal` says that no more follow. A failure here need not fail a connect: the caller logs it.
    package func sendCandidates(_ candidates: [IceCandidatesBody.Candidate], isFinal: Bool, connection: UInt32) async throws {
        let body = IceCandidatesBody(candidates: candidates, isFinal: isFinal, clientInfo: clientInfo)
        let bytes = try api.encode { () throws(WireFormatError) in try body.encode() }
        _ = try await api.send(
            call(.sendCandidates, .post, "/connections/\(connection)/ice_candidates", body: bytes, isRepeatable: true))
    }

    private func call(
        _ context: HTTPContext, _ method: HTTPRequest.Method, _ path: String, body: [UInt8]? = nil, isRepeatable: Bool? = nil
    ) -> APIClient.Call {
        APIClient.Call(
            context: context, method: method, path: "/sessions/\(sessionID)/transport/webrtc\(path)", body: body, sessionID: sessionID,
            isTransport: true, isRepeatable: isRepeatable, limit: api.limits.request)
    }
}
