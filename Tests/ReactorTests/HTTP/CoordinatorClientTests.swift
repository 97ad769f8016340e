import ReactorCore
import Testing

@testable import Reactor

@Suite("Coordinator client", .timeLimit(.minutes(1)))
struct CoordinatorClientTests {
    private func client(_ server: ScriptedServer, local: Bool, token: String? = "tok") throws -> CoordinatorClient {
        let api = try APIClient(endpoint: APIEndpoint(apiURL: server.url, local: local), operation: .connect) { _ in token }
        return CoordinatorClient(api: api, clientInfo: ClientInfo(sdkVersion: "0.1.0"))
    }

    private func code(_ body: () async throws -> some Any) async throws -> ReactorError.Code? {
        do {
            _ = try await body()
            return nil
        } catch let error as ReactorError {
            return error.code
        }
    }

    private static let localSession = """
        {"session_id":"00000000-0000-0000-0000-000000000000","state":"waiting","cluster":"local",
         "selected_transport":{"protocol":"webrtc","version":"1.0"},
         "capabilities":{"protocol_version":"v0","tracks":[{"name":"main_video","kind":"video","direction":"recvonly"}],"commands":[]}}
        """

    // MARK: - Tokens

    @Test("§1.1 the key goes in its own header, without version headers, and null is the body without options")
    func fetchToken() async throws {
        let server = try ScriptedServer(.reply(200, "{\"jwt\":\"a.b.c\",\"more\":1}"))
        #expect(try await client(server, local: false).fetchToken(apiKey: "rk_1", body: TokenRequestBody()) == "a.b.c")
        _ = try await client(server, local: false).fetchToken(apiKey: "rk_1", body: TokenRequestBody(models: ["o/n"]))
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.path == "/tokens" && request.text == "null")
        #expect(request.headers["reactor-api-key"] == "rk_1")
        #expect(request.headers["content-type"] == "application/json")
        #expect(request.headers["authorization"] == nil && request.headers["reactor-api-version"] == nil)
        #expect(
            server.requests[1].text == #"{"authorization_details":[{"resources":{"models":{"match":["o/n"]}},"type":"session"}]}"#)
    }

    @Test("§1.4 failures of the token exchange", arguments: [(401, "UNAUTHORIZED"), (429, "RATE_LIMITED"), (500, "SERVER_ERROR")])
    func tokenFailures(_ status: Int, _ code: String) async throws {
        let server = try ScriptedServer { [.reply(status, "no: " + ($0.headers["reactor-api-key"] ?? ""))] }
        do {
            _ = try await client(server, local: false).fetchToken(apiKey: "plain-key-1", body: TokenRequestBody())
            Issue.record("no error")
        } catch let error as ReactorError {
            #expect(error.code.rawValue == code)
            #expect(error.message.hasPrefix("unexpected HTTP status \(status) from fetch token: no: [redacted]; "))
        }
    }

    @Test("a 200 without a token is DECODE_FAILED", arguments: ["{}", "{\"jwt\":\"\"}", "{\"jwt\":1}", "null", "<html>", ""])
    func noToken(_ body: String) async throws {
        let server = try ScriptedServer(.reply(200, body))
        #expect(
            try await code { try await client(server, local: false).fetchToken(apiKey: "k", body: TokenRequestBody()) } == .decodeFailed)
    }

    // MARK: - Hosted

    @Test("§2.3 a hosted session is created with the model name as given")
    func createHosted() async throws {
        let server = try ScriptedServer(.reply(201, "{\"session_id\":\"s-1\",\"state\":\"CREATED\"}"))
        let session = try await client(server, local: false).createSession(model: "bare")
        #expect(session.sessionID == "s-1" && !session.isConnectable)
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.path == "/sessions")
        #expect(request.headers["authorization"] == "Bearer tok")
        #expect(request.headers["reactor-webrtc-version"] == nil)
        #expect(
            request.text
                == #"{"client_info":{"sdk_type":"swift","sdk_version":"0.1.0"},"model":{"name":"bare"},"supported_transports":[{"protocol":"webrtc","version":"1.0"}]}"#
        )
    }

    @Test("§2.5 a hosted session is polled until capabilities and transport are there, whatever the state says")
    func poll() async throws {
        let ready = Self.localSession.replacing("00000000-0000-0000-0000-000000000000", with: "s-1").replacing("waiting", with: "NEW_STATE")
        let server = try ScriptedServer {
            $0.index == 0 ? [.reply(200, "{\"session_id\":\"s-1\",\"state\":\"PENDING\"}")] : [.reply(200, ready)]
        }
        let session = try await client(server, local: false).waitUntilConnectable("s-1")
        #expect(session.isConnectable)
        #expect(server.requests.map(\.path) == ["/sessions/s-1", "/sessions/s-1"])
    }

    @Test("a session that ended is SESSION_TERMINAL", arguments: ["INACTIVE", "CLOSED"])
    func terminal(_ state: String) async throws {
        let server = try ScriptedServer(.reply(200, "{\"session_id\":\"s-1\",\"state\":\"\(state)\"}"))
        #expect(try await code { try await client(server, local: false).waitUntilConnectable("s-1") } == .sessionTerminal)
    }

    @Test("a hosted session is deleted, and one already gone counts as ended", arguments: [200, 204, 404, 500])
    func delete(_ status: Int) async throws {
        let server = try ScriptedServer(.reply(status))
        let found = try await code { try await client(server, local: false).terminate("s-1") }
        #expect(found == (status == 500 ? .serverError : nil))
        #expect(server.requests.map { "\($0.method) \($0.path)" } == ["DELETE /sessions/s-1"])
    }

    @Test("a session id that would leave its place in the path is refused", arguments: ["", "..", "a/b", "a?b", "a b", "a\r\nb"])
    func unsafeID(_ id: String) async throws {
        let server = try ScriptedServer(.reply(200))
        #expect(try await code { try await client(server, local: false).session(id) } == .badRequest)
        #expect(try await code { try await client(server, local: false).terminate(id) } == .badRequest)
        #expect(server.connectionCount == 0)
    }

    // MARK: - Local

    @Test("§3.1 a local session is started, ready at once, without Authorization (§1.5)")
    func startLocal() async throws {
        let server = try ScriptedServer(.reply(200, Self.localSession))
        let session = try await client(server, local: true).createSession(model: "any")
        #expect(session.isConnectable)
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.path == "/start_session" && request.text == "{}")
        #expect(request.headers["authorization"] == nil)
        #expect(request.headers["reactor-api-version"] == "1")
    }

    @Test("§3.1 a 409 that says closing is waited out")
    func closing() async throws {
        let server = try ScriptedServer {
            $0.index < 3 ? [.reply(409, "{\"detail\":\"cannot start session while closing\"}")] : [.reply(200, Self.localSession)]
        }
        _ = try await client(server, local: true).createSession(model: "any")
        #expect(server.requests.count == 4)
    }

    @Test("§3.1 any other 409 is CONFLICT at once", arguments: ["waiting", "streaming", "orphaned"])
    func conflict(_ state: String) async throws {
        let server = try ScriptedServer(.reply(409, "{\"detail\":\"cannot start session while \(state)\"}"))
        #expect(try await code { try await client(server, local: true).createSession(model: "any") } == .conflict)
        #expect(server.requests.count == 1)
    }

    @Test("§3.1 a runtime that stays closing ends in CONFLICT after the patience")
    func closingForever() async throws {
        let server = try ScriptedServer(.reply(409, "{\"detail\":\"cannot start session while closing\"}"))
        let start = ContinuousClock.now
        #expect(try await code { try await client(server, local: true).createSession(model: "any") } == .conflict)
        #expect(start.duration(to: .now) >= .seconds(1))
    }

    @Test("a hosted 409 is never retried, whatever it says")
    func hostedConflict() async throws {
        let server = try ScriptedServer(.reply(409, "{\"detail\":\"cannot start session while closing\"}"))
        #expect(try await code { try await client(server, local: false).createSession(model: "m") } == .conflict)
        #expect(server.requests.count == 1)
    }

    @Test("§3.1 adopting locally needs the session that runs")
    func adopt() async throws {
        let server = try ScriptedServer(.reply(200, Self.localSession))
        let client = try client(server, local: true)
        #expect(try await client.session("00000000-0000-0000-0000-000000000000").isConnectable)
        do {
            _ = try await client.session("other")
            Issue.record("no error")
        } catch let error as ReactorError {
            #expect(error.code == .invalidState)
            #expect(error.message == "local runtime is serving session 00000000-0000-0000-0000-000000000000, not the requested other")
        }
        #expect(server.requests.allSatisfy { $0.path == "/session" && $0.headers["authorization"] == nil })
    }

    @Test("§3.1 ending a local session ignores the answer", arguments: [200, 409, 500, 503])
    func stopLocal(_ status: Int) async throws {
        let server = try ScriptedServer(.reply(status))
        try await client(server, local: true).terminate("00000000-0000-0000-0000-000000000000")
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.path == "/stop_session" && request.text == "")
        #expect(request.headers["content-type"] == nil && request.headers["authorization"] == nil)
    }
}
