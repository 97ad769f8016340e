/// Gives the bearer token for requests to the hosted service.
///
/// It is asked before every authenticated request, so a provider that renews its token keeps a long session going; it
/// should therefore answer from a cache. What it throws fails the call that needed the token. It may be called from
/// several tasks at once.
public protocol TokenProvider: Sendable {
    /// The token to use now.
    ///
    /// - Parameters:
    ///   - model: the model the client was made for, as given.
    ///   - sessionID: the session in use, or nil while there is none.
    func token(for model: String, sessionID: String?) async throws -> String
}

/// A token that stays the same for the life of the client.
public struct StaticToken: TokenProvider, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let jwt: String

    /// - Parameter jwt: sent unchanged as bearer token.
    public init(_ jwt: String) { self.jwt = jwt }

    public func token(for model: String, sessionID: String?) async throws -> String { jwt }

    /// Does not show the token.
    public var description: String { "StaticToken(…)" }
    /// Does not show the token.
    public var debugDescription: String { description }
    /// Does not show the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A token provider made from a closure.
public struct TokenClosure: TokenProvider {
    private let body: @Sendable (_ model: String, _ sessionID: String?) async throws -> String

    /// - Parameter body: called before every authenticated request, possibly from several tasks at once.
    public init(_ body: @escaping @Sendable (_ model: String, _ sessionID: String?) async throws -> String) { self.body = body }

    public func token(for model: String, sessionID: String?) async throws -> String { try await body(model, sessionID) }
}
