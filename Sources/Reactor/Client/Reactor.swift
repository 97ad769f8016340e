public import Dispatch
internal import RTCBase
internal import RTCPeer

/// One session with a Reactor model, and the tracks and commands on it.
///
/// ```swift
/// let reactor = try Reactor(model: "reactor/helios", jwt: token)
/// try await reactor.connect()
/// try await reactor.sendCommand("set_prompt", ["prompt": "a mountain landscape"])
/// for await frame in try reactor.track("main_video").videoFrames { render(frame) }
/// try await reactor.disconnect()
/// ```
///
/// A client is a reference with one owner. Calls are `async throws`, and every failure is a ``ReactorError``, the same type
/// that ``onError(_:)`` delivers; a cancelled task gets `CancellationError`. What can be read at any moment (``status``,
/// ``tracks``, …) needs no `await`. The actor is the façade; the session lives in an engine on a thread of its own, so
/// nothing here blocks the caller's executor.
///
/// Releasing a client without ``disconnect()`` leaves its session on the server, and the next run cannot start until it
/// has timed out there.
public actor Reactor {
    /// The production API: `https://api.reactor.inc`.
    public static let defaultAPIURL: String = "https://api.reactor.inc"
    /// A runtime on this machine: `http://localhost:8080`.
    public static let localAPIURL: String = "http://localhost:8080"

    nonisolated let state: ClientState
    nonisolated let engine: SessionEngine

    /// Makes a client; nothing is sent before ``connect(sessionID:connectionID:)``.
    ///
    /// - Parameters:
    ///   - model: the model as `owner/name`.
    ///   - jwt: a token minted elsewhere, used as it is.
    ///   - apiURL: the base of every request; an `http` or `https` URL.
    ///   - local: speaks the local-development protocol and accepts a self-signed certificate. With `apiURL` left at its
    ///     default, ``localAPIURL`` is used.
    ///   - eventQueue: where event handlers run; `nil` means a serial queue of the client's own.
    /// - Throws: `ReactorError.badRequest` for an empty model name or an `apiURL` that is not an `http` or `https` URL;
    ///   `.versionMismatch` when a C library was replaced by one of another interface.
    public init(
        model: String, jwt: String? = nil, apiURL: String = Reactor.defaultAPIURL, local: Bool = false,
        eventQueue: DispatchQueue? = nil
    ) throws {
        var configuration = ReactorConfiguration()
        configuration.apiURL = apiURL
        configuration.local = local
        configuration.eventQueue = eventQueue
        try self.init(model: model, tokens: jwt.map(StaticToken.init), configuration: configuration)
    }

    /// Exchanges an API key for a token, and makes a client with it.
    ///
    /// Never ship an API key to an end user's device. Without `options` the token is limited to `model`. A cancelled task
    /// throws `CancellationError`. No key is needed, and none is exchanged, with `local: true`.
    /// - Throws: as ``fetchJWT(apiKey:apiURL:options:local:)`` and ``init(model:jwt:apiURL:local:eventQueue:)``.
    public init(
        model: String, apiKey: String, apiURL: String = Reactor.defaultAPIURL, options: TokenOptions? = nil, local: Bool = false,
        eventQueue: DispatchQueue? = nil
    ) async throws {
        var configuration = ReactorConfiguration()
        configuration.apiURL = apiURL
        configuration.local = local
        configuration.eventQueue = eventQueue
        // The arguments are checked before the key leaves the machine.
        _ = try APIEndpoint(apiURL: apiURL, local: local)
        try Self.check(model: model)
        try Self.check(mismatchedLibraries: NativeLibraries.mismatched)
        if local {
            try self.init(model: model, tokens: nil, configuration: configuration)
        } else {
            let scope = options ?? TokenOptions(models: [model])
            let token = try await Self.fetchJWT(apiKey: apiKey, apiURL: apiURL, options: scope, local: local)
            try self.init(model: model, tokens: StaticToken(token), configuration: configuration)
        }
    }

    /// Makes a client that asks `tokenProvider` for a token before every authenticated request.
    ///
    /// - Throws: `ReactorError.badRequest` for an empty model name or a malformed `apiURL`.
    public init(
        model: String, tokenProvider: some TokenProvider, configuration: ReactorConfiguration = ReactorConfiguration()
    ) throws {
        try self.init(model: model, tokens: tokenProvider, configuration: configuration)
    }

    /// Makes a client with more settings than ``init(model:jwt:apiURL:local:eventQueue:)`` has.
    ///
    /// - Throws: `ReactorError.badRequest` for an empty model name or a malformed `apiURL`.
    public init(model: String, jwt: String? = nil, configuration: ReactorConfiguration) throws {
        try self.init(model: model, tokens: jwt.map(StaticToken.init), configuration: configuration)
    }

    private init(model: String, tokens: (any TokenProvider)?, configuration: ReactorConfiguration) throws {
        try Self.check(model: model)
        try Self.check(mismatchedLibraries: NativeLibraries.mismatched)
        let endpoint = try APIEndpoint(apiURL: configuration.apiURL, local: configuration.local)
        let state = ClientState(hub: EventHub(queue: configuration.eventQueue, metrics: configuration.metrics))
        let engine = SessionEngine(
            model: model, endpoint: endpoint, tokens: tokens, configuration: configuration, state: state)
        state.attach(engine)
        self.state = state
        self.engine = engine
    }

    private static func check(model: String) throws {
        guard !model.isEmpty, model.allSatisfy({ !$0.isWhitespace && !$0.isNewline }) else {
            throw ReactorError(.badRequest, "the model name is empty or holds white space; it reads 'owner/name'", operation: "create")
        }
    }

    /// Calls into a library of another version than the headers described would do anything.
    static func check(mismatchedLibraries: [String]) throws(ReactorError) {
        guard !mismatchedLibraries.isEmpty else { return }
        throw ReactorError(
            .versionMismatch,
            "\(mismatchedLibraries.joined(separator: ", ")) of another version than this package was compiled for; rebuild it here",
            operation: "create")
    }

    deinit {
        // Whoever keeps a track now keeps a handle onto nothing.
        state.write { $0.isReleased = true }
        Self.close(state: state, engine: engine, isRelease: true)
    }

    // MARK: Connecting

    /// Creates a session, or joins one, and brings the transport up; returns when the session is `.ready`.
    ///
    /// - Parameters:
    ///   - sessionID: joins a session that exists. Such a session is not ended by ``disconnect()``.
    ///   - connectionID: takes over a connection slot that a backend registered for this session.
    /// - Throws: `.unauthorized` for a token problem, `.conflict` for a session an earlier run left behind,
    ///   `.invalidState` unless the status is `.disconnected`, `.networkError` and `.requestTimeout` when the server cannot be
    ///   reached or does not answer, `.transportError` when no media path works. A cancelled task throws
    ///   `CancellationError`: everything begun is torn down, and a session this call created is ended.
    public func connect(sessionID: String? = nil, connectionID: UInt32? = nil) async throws {
        try await engine.connect(sessionID: sessionID, connectionID: connectionID)
    }

    /// Cycles the connection and keeps the session, after a failure or from `.ready`.
    ///
    /// Received tracks resume by themselves. Published tracks do not: call ``Track/publish()`` again.
    /// - Throws: `.invalidState` when there is no session, or while a connect or disconnect runs. A cancelled task throws
    ///   `CancellationError`; the session is kept, and `reconnect()` can be called again.
    public func reconnect() async throws { try await engine.reconnect() }

    /// Ends the session on the server, if this client created it, and tears the transport down.
    ///
    /// Harmless without a session and on a closed client. It is not cancelled with its task: it finishes within its own
    /// time limit, because a cancelled cleanup would leave the session behind.
    /// - Throws: `.aborted` when the client is closed meanwhile; what was begun goes on.
    public func disconnect() async throws { try await engine.disconnect() }

    /// Releases everything on this machine at once, without ending the session on the server.
    ///
    /// Calls in flight fail with `.aborted`, every sequence ends, and no handler starts after it returns. It waits for
    /// nothing, so it may be called from anywhere, handlers included, any number of times.
    public nonisolated func close() { Self.close(state: state, engine: engine, isRelease: false) }

    private static func close(state: ClientState, engine: SessionEngine, isRelease: Bool) {
        var wasClosed = false
        state.write { snapshot in
            wasClosed = snapshot.isClosed
            snapshot.isClosed = true
            snapshot.status = .disconnected
            snapshot.paused = []
            snapshot.published = []
        }
        guard !wasClosed else { return }
        state.announceTrackChanges()
        state.hub.close()
        engine.postClose(isRelease: isRelease)
        state.finishTracks()
    }

    /// Where the session is now. `.disconnected` before the first connect.
    public nonisolated var status: ReactorStatus { state.read { $0.isClosed ? .disconnected : $0.status } }

    /// The session's id, once there is one.
    public nonisolated var sessionID: String? { state.read { $0.isClosed ? nil : $0.sessionID } }

    /// How long the steps of the latest connect took.
    public nonisolated var connectionTimings: ConnectionTimings { state.timings }

    // MARK: Commands

    /// Sends a command to the model and waits for the reply that belongs to it.
    ///
    /// - Parameters:
    ///   - name: a command that the model defines; ``requestSchema()`` lists them.
    ///   - args: the payload, an object; a dictionary literal works.
    ///   - uploads: files to pass as named parameters next to the payload.
    /// - Returns: the reply, or `nil` when the model acknowledged without a message.
    /// - Throws: the model's or the platform's own code when the command is refused; `.invalidState` unless `.ready`;
    ///   `.decodeFailed` when `args` is not an object or holds NaN; `.messageTooLarge`; `.requestTimeout` after 10 s;
    ///   `.disconnected` when the connection goes meanwhile. A cancelled task throws `CancellationError`; the model may
    ///   still execute the command.
    @discardableResult
    public func sendCommand(_ name: String, _ args: JSONValue? = nil, uploads: [String: FileRef] = [:]) async throws -> CommandReply? {
        try await engine.sendCommand(name, arguments: args, uploads: uploads)
    }

    /// Sends a command whose payload is any `Encodable` value that encodes to an object; otherwise the same as
    /// ``sendCommand(_:_:uploads:)``.
    @discardableResult
    public func sendCommand(
        _ name: String, arguments: some Encodable & Sendable, uploads: [String: FileRef] = [:]
    ) async throws -> CommandReply? {
        let value: JSONValue
        do {
            value = try JSONValue(encoding: arguments)
        } catch let error as ReactorError {
            // The code that the other form has for the same payload.
            throw ReactorError(.decodeFailed, error.message, operation: "send_command")
        }
        return try await engine.sendCommand(name, arguments: value, uploads: uploads)
    }

    /// The model's command schema, as the OpenAPI document that the running model sends.
    ///
    /// - Throws: `.invalidState` unless `.ready`, `.requestTimeout` after 10 s, `.disconnected` when the connection goes
    ///   meanwhile. A cancelled task throws `CancellationError`.
    public func requestSchema() async throws -> JSONValue { try await engine.requestSchema() }

    // MARK: Tracks

    /// Every track the session declared, in declaration order; empty until the model's capabilities arrive during connect.
    public nonisolated var tracks: TrackList { TrackList(state.declaredTracks) }

    /// The track with this name; always the same object for the same name.
    ///
    /// Before the session has declared its tracks any name is accepted, so that handlers can be registered ahead of
    /// connecting.
    /// - Throws: `.notFound` for a name the session does not declare; the message lists the names it does. `.invalidState`
    ///   on a closed client.
    public nonisolated func track(_ name: String) throws -> Track {
        let (isClosed, isReady, names) = state.read { ($0.isClosed, $0.status == .ready, $0.declarations.map(\.name)) }
        if isClosed { throw ReactorError.clientGone("track") }
        // A session that is ready has declared what it has, also when that is nothing.
        if isReady || !names.isEmpty, !names.contains(name) {
            let known = names.isEmpty ? "it declares none" : "it declares: \(names.joined(separator: ", "))"
            throw ReactorError(.notFound, "the session declares no track '\(name)'; \(known)", operation: "track")
        }
        return state.track(named: name)
    }

    /// The names of the tracks paused now; empty on a healthy session until something is paused.
    public nonisolated var pausedTracks: Set<String> { state.read { $0.isClosed ? [] : $0.paused } }

    // MARK: Statistics

    /// What the connection has measured so far.
    ///
    /// - Throws: `.invalidState` unless `.ready`.
    public func stats() async throws -> ConnectionStats { try await engine.stats() }

    /// What the connection has measured, now and then again each time the interval is over, while the status is `.ready`.
    ///
    /// Each call is a stream of its own, whose rates compare with its own reading before. It keeps the newest reading, goes on
    /// over reconnects, and ends when the client is closed or released.
    /// - Parameter interval: from 250 ms up, below which rates say little; a shorter one counts as that.
    public nonisolated func statsUpdates(every interval: Duration = .seconds(2)) -> AsyncStream<ConnectionStats> {
        StatsStream.make(state: state, interval: max(interval, .milliseconds(250)))
    }

    // MARK: Bitrate

    /// Bounds what this connection sends in all, in bits per second. The lower of this and a track's own bound holds.
    ///
    /// The bounds are kept for the life of the client, over reconnects, and may be set before ``connect(sessionID:connectionID:)``.
    /// - Parameters:
    ///   - min: the estimate of the network does not fall below it, even if the network carries less; use it with care.
    ///   - start: where the estimate of a new connection begins.
    ///   - max: ceiling of the whole connection. By default it follows from the size of the pictures pushed.
    ///   A bound that is `nil` stays as it is.
    /// - Throws: `.badRequest` for a negative bound, or unless `min <= start <= max`; `.invalidState` after ``close()``. A cancelled
    ///   task throws `CancellationError`.
    public func setBitrate(min: Int? = nil, start: Int? = nil, max: Int? = nil) async throws {
        try Task.checkCancellation()
        guard !state.isClosed else { throw ReactorError.clientGone("set_bitrate") }
        try await engine.setBitrate(BitrateBounds(min: min, start: start, max: max))
    }

    // MARK: Clock and tokens

    /// The engine's monotonic clock in microseconds; unrelated to the system's time of day.
    public static func timeMicros() -> Int64 { NetworkThread.now().nanoseconds / 1000 }
}
