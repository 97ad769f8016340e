internal import ReactorCore

/// Where the engine gets its bearer token: the provider the client was made with, asked anew for every request so that a
/// token can be renewed (TOK-01, TOK-03).
struct TokenSource: Sendable {
    let provider: (any TokenProvider)?
    let model: String

    /// Nil when the client has no token.
    func token(sessionID: String?) async throws -> String? {
        guard let provider else { return nil }
        let token = try await provider.token(for: model, sessionID: sessionID)
        return token.isEmpty ? nil : token
    }
}
