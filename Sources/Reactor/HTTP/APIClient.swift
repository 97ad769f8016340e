package import ReactorCore

/// What all calls to the platform have in common: headers, authorization, limits, and how failures read.
///
/// The clients for sessions (``CoordinatorClient``) and connections (``SignalingClient``) sit on this.
package struct APIClient: Sendable {
    package var endpoint: APIEndpoint
    /// The bearer token for the next request; nil when none is held. Asked before every authorized request, and once more
    /// after a 401.
    package var token: @Sendable (_ sessionID: String?) async throws -> String?
    /// The public call these requests serve; every error names it.
    package var operation: CoreError.Operation
    package var limits = Limits()
    package var http = HTTPClient()
    /// Whether a request that is cancelled may still be kept from going out; nil asks nobody.
    var gate: RequestGate?

    /// Limits of single requests. A server that takes the connection and says nothing ends in `REQUEST_TIMEOUT`.
    package struct Limits: Sendable, Hashable {
        package var connect: Duration = .seconds(10)
        /// Creating a session and getting a token; the platform's own helpers wait that long.
        package var create: Duration = .seconds(30)
        package var request: Duration = .seconds(15)
        /// Ending a session happens on the way out, often with nobody waiting.
        package var terminate: Duration = .seconds(5)

        package init() {}
    }

    package init(
        endpoint: APIEndpoint, operation: CoreError.Operation,
        token: @escaping @Sendable (_ sessionID: String?) async throws -> String? = { _ in nil }
    ) {
        self.endpoint = endpoint
        self.operation = operation
        self.token = token
    }

    /// One call: what to send and how to treat it.
    struct Call {
        var context: HTTPContext
        var method: HTTPRequest.Method
        var path: String
        var body: [UInt8]?
        /// The session the token is asked for.
        var sessionID: String?
        var isAuthorized = true
        /// Below `/transport/webrtc/` one more version header goes along.
        var isTransport = false
        var isRepeatable: Bool?
        var limit: Duration
    }

    /// Sends the call and returns the answer when its status is 2xx.
    ///
    /// - Throws: ``ReactorError`` for everything else; `CancellationError` when the task is cancelled.
    func send(_ call: Call) async throws -> HTTPResponse {
        let response = try await answer(to: call)
        guard response.0.isSuccess else { throw failure(response.0, call.context, secrets: response.secrets) }
        return response.0
    }

    /// Sends the call and returns whatever status came, with the credentials that went along.
    func answer(to call: Call) async throws -> (HTTPResponse, secrets: [String]) {
        var request = HTTPRequest(call.method, endpoint.url(call.path), headers: headers(for: call), body: call.body)
        request.isRepeatable = call.isRepeatable ?? call.method.isIdempotent
        request.redirects = .followed(maxHops: 20, changesMethod: false)
        let limit = call.limit
        guard call.isAuthorized, let held = try await askForToken(call) else {
            return (try await exchange(request, call.context, limit: limit), [])
        }
        let response = try await exchange(authorized(request, held), call.context, limit: limit)
        // A token may have run out between two requests; the server refused, so it did nothing, and one more try is safe.
        guard response.status == 401, let renewed = try await askForToken(call), renewed != held else { return (response, [held]) }
        return (try await exchange(authorized(request, renewed), call.context, limit: limit), [held, renewed])
    }

    func exchange(_ request: HTTPRequest, _ context: HTTPContext, limit: Duration) async throws -> HTTPResponse {
        var request = request
        request.connectTimeout = min(limits.connect, limit)
        request.totalTimeout = limit
        request.maxResponseBytes = FormatLimits.maxBodyBytes
        request.verifiesTLS = !endpoint.isLocal
        guard gate?.pass() ?? true else { throw CancellationError() }
        do {
            return try await http.send(request)
        } catch let error as HTTPError {
            throw ReactorError(failure(error, context, limit: limit))
        }
    }

    /// Turns a parser's complaint into the public error.
    func decode<T>(_ context: HTTPContext, _ body: () throws(WireFormatError) -> T) throws(ReactorError) -> T {
        do throws(WireFormatError) {
            return try body()
        } catch {
            throw ReactorError(CoreError.decodeFailed(error, context: context, operation: operation))
        }
    }

    /// Turns a writer's complaint about the caller's arguments into the public error.
    func encode(_ body: () throws(WireFormatError) -> [UInt8]) throws(ReactorError) -> [UInt8] {
        do throws(WireFormatError) {
            return try body()
        } catch {
            throw ReactorError(CoreError(.badRequest, "the request cannot be sent: \(error)", operation: operation))
        }
    }

    // MARK: - Requests

    private func headers(for call: Call) -> [HTTPHeader] {
        var headers = [HTTPHeader("Reactor-API-Version", "1"), HTTPHeader("Reactor-API-Accept-Version", "1")]
        if call.isTransport { headers.append(HTTPHeader("Reactor-WebRTC-Version", "1.0")) }
        if call.body != nil { headers.append(HTTPHeader("Content-Type", "application/json")) }
        return headers
    }

    private func authorized(_ request: HTTPRequest, _ token: String) -> HTTPRequest {
        var request = request
        request.headers.append(HTTPHeader("Authorization", "Bearer \(token)"))
        return request
    }

    private func askForToken(_ call: Call) async throws -> String? { try await askForToken(sessionID: call.sessionID) }

    func askForToken(sessionID: String?) async throws -> String? {
        do {
            return try await token(sessionID)
        } catch let error as CancellationError {
            throw error
        } catch let error as ReactorError {
            throw error
        } catch {
            let text = BodyExcerpt.text(of: Array(String(describing: error).utf8))
            throw ReactorError(CoreError(.unauthorized, "the token provider failed: \(text)", operation: operation))
        }
    }

    // MARK: - Failures

    func failure(_ response: HTTPResponse, _ context: HTTPContext, secrets: [String]) -> ReactorError {
        ReactorError(
            CoreError.http(
                status: response.status, context: context, body: Array(BodyExcerpt.text(of: response.body, secrets: secrets).utf8),
                retryAfter: response.header("Retry-After"), operation: operation))
    }

    func failure(_ error: HTTPError, _ context: HTTPContext, limit: Duration) -> CoreError {
        switch error.kind {
        case .timedOut:
            CoreError(.requestTimeout, "timed out: \(context.rawValue) did not complete within \(limit.shortText)", operation: operation)
        case .invalidRequest:
            CoreError(.badRequest, "\(context.rawValue) cannot be sent: \(error.message)", operation: operation)
        case .responseTooLarge, .badRedirect:
            CoreError(.decodeFailed, "unreadable answer from \(context.rawValue): \(error.message)", operation: operation)
        case .overloaded, .internalFailure:
            CoreError(.internalError, "\(context.rawValue) failed: \(error.message)", operation: operation)
        case .resolveFailed, .connectFailed, .tlsFailed, .connectionLost, .malformedResponse:
            CoreError(.networkError, "no HTTP reply from \(context.rawValue): \(error.message)", operation: operation)
        }
    }
}

extension Duration {
    /// `30s`, `0.5s`: as the platform's own messages write it.
    fileprivate var shortText: String {
        let milliseconds = wholeMilliseconds
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000)s" : "\(Double(milliseconds) / 1000)s"
    }
}
