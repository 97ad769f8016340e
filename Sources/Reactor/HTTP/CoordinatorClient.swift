package import ReactorCore

/// Tokens and the life of sessions, hosted (wire-protocol §1, §2) and local (§3.1).
///
/// Every function throws ``ReactorError``, and `CancellationError` when the task is cancelled.
package struct CoordinatorClient: Sendable {
    package var api: APIClient
    package var clientInfo: ClientInfo

    package init(api: APIClient, clientInfo: ClientInfo) {
        self.api = api
        self.clientInfo = clientInfo
    }

    /// Exchanges an API key for a token. The key goes in a header of its own, without the version headers.
    package func fetchToken(apiKey: String, body: TokenRequestBody) async throws -> String {
        var request = HTTPRequest(
            .post, api.endpoint.url("/tokens"), body: try api.encode { () throws(WireFormatError) in try body.encode() })
        request.headers = [HTTPHeader("Reactor-API-Key", apiKey), HTTPHeader("Content-Type", "application/json")]
        request.redirects = .followed(maxHops: 20, changesMethod: false)
        let response = try await api.exchange(request, .fetchToken, limit: api.limits.create)
        guard response.isSuccess else { throw api.failure(response, .fetchToken, secrets: [apiKey]) }
        return try api.decode(.fetchToken) { () throws(WireFormatError) in try TokenResponse(parsing: response.body).token }
    }

    /// Creates a session: hosted it may not be connectable yet, see ``waitUntilConnectable(_:)``; locally it is.
    ///
    /// The local runtime refuses for a moment after the session before was stopped; that refusal is waited out, for two
    /// seconds at most. A session somebody else holds is `CONFLICT` at once.
    package func createSession(model: String, extraArguments: WireValue? = nil) async throws -> SessionDescriptor {
        let body = try api.encode { () throws(WireFormatError) in
            api.endpoint.isLocal
                ? try StartSessionBody(extraArguments: extraArguments).encode()
                : try CreateSessionBody(modelName: model, extraArguments: extraArguments, clientInfo: clientInfo).encode()
        }
        let context: HTTPContext = api.endpoint.isLocal ? .startSession : .createSession
        let call = APIClient.Call(
            context: context, method: .post, path: api.endpoint.isLocal ? "/start_session" : "/sessions", body: body,
            isAuthorized: !api.endpoint.isLocal, limit: api.limits.create)
        var closing = Backoff.localClosing
        while true {
            let (response, secrets) = try await api.answer(to: call)
            if response.isSuccess { return try descriptor(response, context) }
            guard api.endpoint.isLocal, response.status == 409, ErrorBody.saysClosing(response.body), let delay = closing.nextDelay() else {
                throw api.failure(response, context, secrets: secrets)
            }
            try await Task.sleep(for: delay)
        }
    }

    /// The session as it is now. Locally the runtime has one session only, and it has to be the one asked for.
    ///
    /// - Throws: `SESSION_TERMINAL` for a session that ended, `INVALID_STATE` for another one served locally.
    package func session(_ id: String) async throws -> SessionDescriptor {
        let context: HTTPContext = api.endpoint.isLocal ? .getLocalSession : .getSession
        let path = api.endpoint.isLocal ? "/session" : "/sessions/\(try pathComponent(id))"
        let response = try await api.send(
            APIClient.Call(
                context: context, method: .get, path: path, sessionID: id, isAuthorized: !api.endpoint.isLocal, limit: api.limits.request))
        let session = try descriptor(response, context)
        if api.endpoint.isLocal, session.sessionID != id {
            throw ReactorError(
                CoreError(
                    .invalidState, "local runtime is serving session \(session.sessionID), not the requested \(id)",
                    operation: api.operation))
        }
        if let error = session.terminalError { throw ReactorError(error.during(api.operation)) }
        return session
    }

    /// Polls a session until its capabilities and transport are there (wire-protocol §2.5); about 152 s at most.
    package func waitUntilConnectable(_ id: String) async throws -> SessionDescriptor {
        var polls = Backoff.sessionPoll
        while true {
            let session = try await session(id)
            if session.isConnectable { return session }
            guard let delay = polls.nextDelay() else {
                throw ReactorError(
                    CoreError(.requestTimeout, "session \(id) not ready after \(polls.attempts) polls", operation: api.operation))
            }
            try await Task.sleep(for: delay)
        }
    }

    /// Ends a session on the server. One that is already gone counts as ended; the local runtime's answer does not matter.
    package func terminate(_ id: String) async throws {
        if api.endpoint.isLocal {
            _ = try await api.answer(
                to: APIClient.Call(
                    context: .terminateSession, method: .post, path: "/stop_session", sessionID: id, isAuthorized: false,
                    isRepeatable: true,
                    limit: api.limits.terminate))
            return
        }
        let (response, secrets) = try await api.answer(
            to: APIClient.Call(
                context: .terminateSession, method: .delete, path: "/sessions/\(try pathComponent(id))", sessionID: id,
                limit: api.limits.terminate))
        guard response.isSuccess || response.status == 404 else { throw api.failure(response, .terminateSession, secrets: secrets) }
    }

    private func descriptor(_ response: HTTPResponse, _ context: HTTPContext) throws(ReactorError) -> SessionDescriptor {
        try api.decode(context) { () throws(WireFormatError) in try SessionDescriptor(parsing: response.body) }
    }

    private func pathComponent(_ id: String) throws(ReactorError) -> String {
        guard SessionDescriptor.isSafePathComponent(id) else {
            throw ReactorError(CoreError(.badRequest, "not a session id", operation: api.operation))
        }
        return id
    }
}
