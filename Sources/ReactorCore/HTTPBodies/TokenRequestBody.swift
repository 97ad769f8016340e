/// Body of `POST /tokens` (wire-protocol 1.1, 1.2). `nil` means the option was not given; an empty list is an option.
package struct TokenRequestBody: Hashable, Sendable {
    package var models: [String]?
    package var sessions: [String]?
    /// Dropped without a scope (neither models nor sessions), as the platform's other clients do.
    package var maxSessions: Int?
    package var maxSessionDurationSeconds: Int?
    package var expiresAfterSeconds: Int?

    package init(
        models: [String]? = nil, sessions: [String]? = nil, maxSessions: Int? = nil, maxSessionDurationSeconds: Int? = nil,
        expiresAfterSeconds: Int? = nil
    ) {
        self.models = models
        self.sessions = sessions
        self.maxSessions = maxSessions
        self.maxSessionDurationSeconds = maxSessionDurationSeconds
        self.expiresAfterSeconds = expiresAfterSeconds
    }

    /// The literal `null` when no option has an effect, never `{}`.
    package func encode() throws(WireFormatError) -> [UInt8] {
        var body: [String: WireValue] = [:]
        if models != nil || sessions != nil { body["authorization_details"] = .list([.object(authorizationDetail)]) }
        if let expiresAfterSeconds { body["expires_after"] = .number(Double(expiresAfterSeconds)) }
        return try JSONText.write(body.isEmpty ? .null : .object(body))
    }

    private var authorizationDetail: [String: WireValue] {
        var resources: [String: WireValue] = [:]
        if let models {
            resources["models"] = .object(["match": .list(models.map(WireValue.string))])
        } else {
            // A model scope is mandatory, also when only sessions are named.
            resources["models"] = .object(["all": .bool(true)])
        }
        if let sessions { resources["sessions"] = .object(["bind": .list(sessions.map(WireValue.string))]) }
        var detail: [String: WireValue] = ["type": "session", "resources": .object(resources)]
        var constraints: [String: WireValue] = [:]
        if let maxSessions { constraints["max_sessions"] = .number(Double(maxSessions)) }
        if let maxSessionDurationSeconds {
            constraints["max_session_duration_seconds"] = .number(Double(maxSessionDurationSeconds))
        }
        if !constraints.isEmpty { detail["constraints"] = .object(constraints) }
        return detail
    }
}

/// Answer of `POST /tokens`. A missing or empty token is a decode failure.
package struct TokenResponse: Sendable {
    package var token: String

    package init(parsing bytes: [UInt8]) throws(WireFormatError) {
        token = try WireValue.parseBody(bytes).requiredString("jwt")
        guard !token.isEmpty else { throw .missing("jwt") }
    }
}
