import Reactor
import ReactorTesting
import Testing

/// What a client of a runtime that goes wrong on purpose gets to see.
@Suite("Misbehaviour", .timeLimit(.minutes(2)))
struct MisbehaviourTests {
    @Test(
        "A refused session: the code of the status, no session, and the next attempt works",
        arguments: [(401, ReactorError.Code.unauthorized), (409, .conflict), (429, .rateLimited), (500, .serverError), (418, .badRequest)])
    func refusal(_ status: Int, _ code: ReactorError.Code) async throws {
        try await Self.withRuntime { runtime, reactor in
            runtime.misbehave(at: .startSession, .refuse(status, detail: "not now", retryAfterSeconds: 3))
            let error = await #expect(throws: ReactorError.self) { try await reactor.connect() }
            #expect(error?.code == code && error?.message.contains("not now") == true)
            #expect(runtime.faultsCommitted(at: .startSession) == 1)
            let sessions = await runtime.sessions
            #expect(sessions.isEmpty)
            try await Self.connectAndEcho(reactor)
        }
    }

    @Test(
        "An answer that is cut, garbled or lost, or a connection that is closed, fails the attempt",
        arguments: [
            LocalFault.Action.truncate, .garble, .loseAnswer, .hangUp,
        ])
    func spoiltAnswer(_ action: LocalFault.Action) async throws {
        try await Self.withRuntime { runtime, reactor in
            runtime.misbehave(at: .registration, action, times: nil)
            await #expect(throws: ReactorError.self) { try await reactor.connect() }
            #expect(reactor.status == .disconnected && runtime.faultsCommitted(at: .registration) >= 1)
            runtime.behave()
            // The session may have been made; what it knows of this client is gone.
            for session in await runtime.sessions { await session.end() }
            try await Self.connectAndEcho(reactor)
        }
    }

    @Test("A late answer is waited for; one that never comes runs into the client's limit")
    func lateness() async throws {
        try await Self.withRuntime(connectTimeout: .seconds(20)) { runtime, reactor in
            runtime.misbehave(at: .answer, .delay(.milliseconds(300)))
            let begin = ContinuousClock.now
            try await Self.connectAndEcho(reactor)
            #expect(ContinuousClock.now - begin >= .milliseconds(300))
            try await reactor.disconnect()
        }
        try await Self.withRuntime(connectTimeout: .milliseconds(700)) { runtime, reactor in
            runtime.misbehave(at: .iceServers, .silence, times: nil)
            let error = await #expect(throws: ReactorError.self) { try await reactor.connect() }
            #expect(error?.code == .requestTimeout)
            // The runtime stops while the request is open.
        }
    }

    @Test("Silence of everything looks like a server that hangs; after it a client reconnects to the session")
    func silence() async throws {
        try await Self.withRuntime { runtime, reactor in
            try await Self.connectAndEcho(reactor)
            let errors = reactor.errors
            let session = try #require(await runtime.sessions.first)
            await session.goSilent(.everything)
            var seen: ReactorError?
            for await error in errors {
                seen = error
                break
            }
            #expect(seen?.code == .disconnected && seen?.recoverable == true)
            let statistics = await runtime.networkStatistics
            #expect(statistics.toClients.silenced > 0 && statistics.fromClients.silenced > 0)
            try await reactor.reconnect()
            #expect(try await reactor.sendCommand("echo", ["a": 1])?.data?["a"] == 1)
        }
    }

    @Test("Conditions of the network change while a client is connected")
    func conditions() async throws {
        try await Self.withRuntime { runtime, reactor in
            try await Self.connectAndEcho(reactor)
            await runtime.set(NetworkConditions(delay: .milliseconds(60)))
            let begin = ContinuousClock.now
            try await reactor.sendCommand("echo")
            #expect(ContinuousClock.now - begin >= .milliseconds(120))
            await runtime.set(.perfect)
            try await reactor.sendCommand("echo")
        }
    }

    // MARK: Parts

    private static func withRuntime(
        connectTimeout: Duration? = nil, _ body: (LocalRuntime, Reactor) async throws -> Void
    ) async throws {
        let runtime = try await LocalRuntime(model: TestModel(tracks: []))
        var configuration = ReactorConfiguration()
        configuration.apiURL = runtime.apiURL
        configuration.local = true
        configuration.connectTimeout = connectTimeout
        let reactor = try Reactor(model: "test", configuration: configuration)
        try await body(runtime, reactor)
        reactor.close()
        await runtime.stop()
    }

    private static func connectAndEcho(_ reactor: Reactor) async throws {
        try await reactor.connect()
        #expect(try await reactor.sendCommand("echo", ["a": 1])?.data?["a"] == 1)
    }
}
