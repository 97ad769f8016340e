/// Runs `body` with a connected client, and ends the session on every way out.
///
/// ```swift
/// try await withReactor(model: "reactor/helios", jwt: token) { reactor in
///     try await reactor.sendCommand("set_prompt", ["prompt": "a red fox"])
///     for await frame in try reactor.track("main_video").videoFrames { show(frame) }
/// }
/// ```
///
/// The client is connected before `body` runs, and disconnected and closed when it returns, throws or is cancelled; the end of
/// the session is waited for in a cancelled task too. `body` runs in the isolation of the caller, and should not keep the client.
/// - Returns: what `body` returns.
/// - Throws: what making or connecting the client throws; what `body` throws, which wins over a failure to disconnect.
@discardableResult
public func withReactor<R>(
    model: String, jwt: String? = nil, configuration: ReactorConfiguration = ReactorConfiguration(),
    isolation: isolated (any Actor)? = #isolation, _ body: (Reactor) async throws -> R
) async throws -> R {
    try await withConnected(Reactor(model: model, jwt: jwt, configuration: configuration), isolation: isolation, body)
}

/// Runs `body` with a connected client whose token renews; otherwise as
/// ``withReactor(model:jwt:configuration:isolation:_:)``.
@discardableResult
public func withReactor<R>(
    model: String, tokenProvider: some TokenProvider, configuration: ReactorConfiguration = ReactorConfiguration(),
    isolation: isolated (any Actor)? = #isolation, _ body: (Reactor) async throws -> R
) async throws -> R {
    try await withConnected(
        Reactor(model: model, tokenProvider: tokenProvider, configuration: configuration), isolation: isolation, body)
}

private func withConnected<R>(
    _ reactor: Reactor, isolation: isolated (any Actor)?, _ body: (Reactor) async throws -> R
) async throws -> R {
    defer { reactor.close() }
    // What a failed or cancelled connect has begun, it has torn down itself.
    try await reactor.connect()
    let result: R
    do {
        result = try await body(reactor)
    } catch {
        try? await reactor.disconnect()
        throw error
    }
    try await reactor.disconnect()
    return result
}
