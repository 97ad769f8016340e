extension Reactor {
    /// What a token made from an API key may do. Without options the token has the key's own rights.
    public struct TokenOptions: Sendable, Hashable, Codable {
        /// Models the token may open sessions of, as `owner/name`; nil leaves the token unscoped unless `sessions` is set.
        public var models: [String]?
        /// Ids of open sessions the token may join. With `sessions` alone the token cannot create sessions.
        public var sessions: [String]?
        /// How many sessions may be open with this token at once. Without `models` or `sessions` it has no effect.
        public var maxSessions: Int?
        /// How long one session may last, in seconds (1 to 86 400). Without `models` or `sessions` it has no effect.
        public var maxSessionDuration: Int?
        /// How long the token is valid, in seconds; the server clamps it.
        public var expiresAfter: Int?

        /// Makes options; what is left nil is not sent.
        public init(
            models: [String]? = nil, sessions: [String]? = nil, maxSessions: Int? = nil, maxSessionDuration: Int? = nil,
            expiresAfter: Int? = nil
        ) {
            self.models = models
            self.sessions = sessions
            self.maxSessions = maxSessions
            self.maxSessionDuration = maxSessionDuration
            self.expiresAfter = expiresAfter
        }
    }
}

/// See ``Reactor/TokenOptions``.
public typealias TokenOptions = Reactor.TokenOptions
