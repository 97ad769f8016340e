internal import ReactorCore

extension Reactor {
    /// Exchanges an API key for a token, without making a client: for servers that mint tokens for clients they trust less.
    ///
    /// The key leaves this machine in one request and appears in no error or log.
    /// - Parameters:
    ///   - apiKey: the raw key (`rk_…`).
    ///   - apiURL: the API; an `http` or `https` URL.
    ///   - options: limits of the token; `nil` sets none.
    ///   - local: accepts a self-signed certificate.
    /// - Throws: `.unauthorized` for a key that is refused, `.rateLimited`, `.networkError`, `.requestTimeout` after 30 s,
    ///   `.decodeFailed` when the answer holds no token, `.badRequest` for an empty key or a malformed URL. A cancelled task
    ///   throws `CancellationError`.
    public static func fetchJWT(
        apiKey: String, apiURL: String = Reactor.defaultAPIURL, options: TokenOptions? = nil, local: Bool = false
    ) async throws -> String {
        guard !apiKey.isEmpty, apiKey.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw ReactorError(.badRequest, "the API key is empty or holds characters a header cannot carry", operation: "fetch_jwt")
        }
        let endpoint = try APIEndpoint(apiURL: apiURL, local: local)
        let client = CoordinatorClient(api: APIClient(endpoint: endpoint, operation: .fetchJWT), clientInfo: .swift)
        return try await client.fetchToken(apiKey: apiKey, body: TokenRequestBody(options ?? TokenOptions()))
    }
}

extension TokenRequestBody {
    init(_ options: TokenOptions) {
        self.init()
        models = options.models
        sessions = options.sessions
        maxSessions = options.maxSessions
        maxSessionDurationSeconds = options.maxSessionDuration
        expiresAfterSeconds = options.expiresAfter
    }
}
