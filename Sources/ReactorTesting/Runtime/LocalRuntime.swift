internal import RTCPeer
public import Reactor

/// A complete Reactor runtime in this process: the server side of a session, with a model of yours.
///
/// ```swift
/// let runtime = try await LocalRuntime(model: Mirror())
/// let reactor = try Reactor(model: "mirror", runtime: runtime)
/// try await reactor.connect()
/// let reply = try await reactor.sendCommand("say", ["text": "hello"])
/// await runtime.stop()
/// ```
///
/// It listens on a port of its own and speaks what the runtime of the platform speaks locally: HTTP, WebRTC, data channels. Other
/// clients reach it under ``apiURL``. Any number of runtimes live in one process; each serves one session at a time.
public actor LocalRuntime {
    /// Where clients reach it, such as `http://127.0.0.1:40213`.
    public nonisolated let apiURL: String
    nonisolated let core: RuntimeCore

    /// A STUN or TURN server that clients are told to use.
    public struct ICEServer: Sendable, Hashable {
        public var urls: [String]
        public var username: String?
        public var password: String?

        public init(urls: [String], username: String? = nil, password: String? = nil) {
            self.urls = urls
            self.username = username
            self.password = password
        }
    }

    /// Settings that hardly anybody needs.
    public struct Configuration: Sendable {
        /// How long a session lives without a client. Default: 60 s.
        public var orphanTimeout: Duration = .seconds(60)
        /// A client that says nothing for this long is dropped; `nil` keeps it. Default: 20 s.
        public var pingTimeout: Duration? = .seconds(20)
        /// How long a command waits for the bytes of a file it names. Default: 10 s.
        public var uploadTimeout: Duration = .seconds(10)
        /// What clients are told to use besides their own addresses. Default: none, so that nothing leaves the machine.
        public var iceServers: [ICEServer] = []
        /// Receives log records, among them what models throw; `nil` logs nothing.
        public var logger: ReactorLogger?

        /// The defaults named at each property.
        public init() {}
    }

    init(core: RuntimeCore, apiURL: String) {
        self.core = core
        self.apiURL = apiURL
    }

    /// The session that runs now, if one does.
    public var sessions: [LocalSession] { get async { await core.liveSessions } }
}

extension RuntimeCore {
    var liveSessions: [LocalSession] { session.map { [$0.handle] } ?? [] }
}

extension Reactor {
    /// Makes a client of a runtime in this process.
    ///
    /// - Throws: `ReactorError.badRequest` for an empty model name. The name is not looked at otherwise: a local runtime has one
    ///   model.
    public init(model: String, runtime: LocalRuntime) throws {
        try self.init(model: model, apiURL: runtime.apiURL, local: true)
    }
}
