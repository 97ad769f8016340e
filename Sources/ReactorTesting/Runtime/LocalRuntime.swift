internal import ReactorCore
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
        /// Such as `stun:stun.example.com:3478`.
        public var urls: [String]
        /// Of a TURN server.
        public var username: String?
        /// Of a TURN server.
        public var password: String?

        /// STUN servers take no credentials.
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
        /// Whether clips and recordings can be asked for. Recording encodes what the model sends a second time. Default: true.
        public var recordsSessions = true
        /// What clients are told to use besides their own addresses. Default: none, so that nothing leaves the machine.
        public var iceServers: [ICEServer] = []
        /// Receives log records, among them what models throw; `nil` logs nothing.
        public var logger: ReactorLogger?
        /// Called for each event of the session, on the network thread: it must return at once.
        public var onEvent: (@Sendable (LocalRuntimeEvent) -> Void)?

        /// The defaults named at each property.
        public init() {}
    }

    nonisolated let faults = FaultPlan()
    private nonisolated let http: RuntimeHTTP
    private nonisolated let recordings: RecordingLibrary

    /// Starts a runtime; clients can connect when it returns.
    ///
    /// - Parameters:
    ///   - model: what it serves.
    ///   - network: what the path to clients does to media and data.
    ///   - host: a numeric address to listen on, or `localhost`. `0.0.0.0` lets other machines in; there is no authentication.
    ///   - port: 0 takes any that is free.
    ///   - configuration: settings that hardly anybody needs.
    /// - Throws: `ReactorError.badRequest` when the model's tracks or commands cannot be declared; `.networkError` when the port
    ///   is taken or the address is not this machine's.
    public init(
        model: some LocalModel, network: NetworkConditions = .perfect, host: String = "127.0.0.1", port: Int = 0,
        configuration: Configuration = Configuration()
    ) async throws {
        try Self.check(model)
        let events = EventLog()
        let uploads = UploadStore()
        let recordings = RecordingLibrary()
        var settings = RuntimeSettings(configuration)
        let onEvent = configuration.onEvent
        settings.onTransition = { transition in
            events.record(transition)
            onEvent?(LocalRuntimeEvent(transition))
        }
        core = RuntimeCore(
            model: model, settings: settings, uploads: uploads, recordings: configuration.recordsSessions ? recordings : nil,
            network: NetworkShaper(network))
        self.recordings = recordings
        do throws(HTTPServerError) {
            http = try RuntimeHTTP(
                service: core, recordings: recordings, uploads: uploads, events: events, host: host, port: port,
                interceptor: { [faults] request, next in await faults.intercept(request, next) })
        } catch {
            throw ReactorError(.networkError, "the runtime cannot listen on \(host):\(port): \(error)", operation: "create")
        }
        apiURL = http.url
    }

    deinit {
        let core = self.core
        let recordings = self.recordings
        Task {
            await core.shutDown()
            recordings.close()
        }
    }

    private static func check(_ model: some LocalModel) throws {
        var names: Set<String> = []
        for track in model.tracks {
            guard !track.name.isEmpty, names.insert(track.name).inserted else {
                throw ReactorError(.badRequest, "the model declares track '\(track.name)' without a name or twice", operation: "create")
            }
            guard track.rate.isFinite, track.rate > 0 else {
                throw ReactorError(.badRequest, "the rate of track '\(track.name)' is \(track.rate)", operation: "create")
            }
        }
        guard names.count <= mostTracks else {
            throw ReactorError(.badRequest, "the model declares more than \(mostTracks) tracks", operation: "create")
        }
        var commands: Set<String> = []
        for command in model.commands ?? [] {
            let parameters = Set(command.parameters.map(\.name))
            guard !command.name.isEmpty, commands.insert(command.name).inserted, parameters.count == command.parameters.count,
                !parameters.contains("")
            else {
                throw ReactorError(
                    .badRequest, "the model declares command '\(command.name)', or an argument of it, without a name or twice",
                    operation: "create")
            }
            for parameter in command.parameters {
                guard let value = parameter.defaultValue else { continue }
                do { try value.wireValue.validateForSending() } catch {
                    throw ReactorError(
                        .badRequest, "the default of '\(parameter.name)' of command '\(command.name)' is no JSON: \(error)",
                        operation: "create")
                }
            }
        }
    }

    /// Ends the session, if one runs, with a word to its clients, closes every connection and stops listening; returns when no
    /// socket is left. The model's tasks are cancelled and not waited for. Any number of times.
    public func stop() async {
        await core.shutDown()
        await http.stop()
        recordings.close()
    }

    /// Changes the network for the connections there are and those to come.
    public func set(_ network: NetworkConditions) { core.network.set(network) }

    /// What became of the datagrams to and from clients so far.
    public var networkStatistics: NetworkStatistics { core.network.statistics }

    /// The session that runs now, if one does.
    public var sessions: [LocalSession] { get async { await core.liveSessions } }

    /// One m-line each, and the data section is one of 128.
    private static let mostTracks = 127
}

extension RuntimeSettings {
    init(_ configuration: LocalRuntime.Configuration) {
        // More than an hour is as good as for ever, and far from where clocks overflow.
        func bounded(_ duration: Duration) -> Duration { min(max(.zero, duration), .seconds(1_000_000_000)) }
        orphanTimeout = bounded(configuration.orphanTimeout)
        pingTimeout = configuration.pingTimeout.map(bounded)
        uploadTimeout = bounded(configuration.uploadTimeout)
        iceServers = configuration.iceServers
        logger = configuration.logger
    }
}

extension EventLog {
    func record(_ transition: RuntimeSessionMachine.Transition) {
        var detail = transition.detail.mapValues(WireValue.string)
        if let id = transition.detail["conn_id"].flatMap(Double.init) { detail["conn_id"] = .number(id) }
        record(event: transition.event, from: transition.from.rawValue, to: transition.to.rawValue, detail: detail)
    }
}

extension RuntimeCore {
    var liveSessions: [LocalSession] { session.map { [$0.handle] } ?? [] }
}

extension LocalRuntime {
    /// The settings that lead a client here, for those who set more of them or use `withReactor`.
    ///
    /// ```swift
    /// var configuration = runtime.clientConfiguration
    /// configuration.reconnectPolicy = ReconnectPolicy()
    /// try await withReactor(model: "lamp", configuration: configuration) { reactor in
    ///     try await reactor.sendCommand("light", ["level": 200])
    /// }
    /// ```
    public nonisolated var clientConfiguration: ReactorConfiguration {
        var configuration = ReactorConfiguration()
        configuration.apiURL = apiURL
        configuration.local = true
        return configuration
    }
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
