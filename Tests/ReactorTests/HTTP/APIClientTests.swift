import ReactorCore
import Synchronization
import Testing

@testable import Reactor

@Suite("API client", .timeLimit(.minutes(1)))
struct APIClientTests {
    private func api(_ server: ScriptedServer, local: Bool = false, token: String? = nil) throws -> APIClient {
        try APIClient(endpoint: APIEndpoint(apiURL: server.url, local: local), operation: .connect) { _ in token }
    }

    private func call(_ method: HTTPRequest.Method = .get, limit: Duration = .seconds(10)) -> APIClient.Call {
        APIClient.Call(context: .iceServers, method: method, path: "/x", limit: limit)
    }

    private func error(_ body: () async throws -> some Any) async throws -> ReactorError {
        do {
            _ = try await body()
        } catch let error as ReactorError {
            return error
        }
        throw ReactorError(.internalError, "no error was thrown")
    }

    @Test(
        "§8.2 each status has its code, recoverable follows from it, and the message names status, step and body",
        arguments: [
            (400, "BAD_REQUEST", false), (401, "UNAUTHORIZED", false), (403, "UNAUTHORIZED", false), (404, "NOT_FOUND", false),
            (409, "CONFLICT", false), (410, "BAD_REQUEST", false), (422, "BAD_REQUEST", false), (426, "VERSION_MISMATCH", false),
            (429, "RATE_LIMITED", true), (500, "SERVER_ERROR", true), (501, "VERSION_MISMATCH", false), (503, "SERVER_ERROR", true),
            (304, "SERVER_ERROR", true),
        ])
    func statuses(_ status: Int, _ code: String, _ recoverable: Bool) async throws {
        let body = status == 304 ? "" : "{\"detail\":\"why\"}"
        let server = try ScriptedServer(.reply(status, body, headers: ["Retry-After: 2"]))
        let error = try await error { try await api(server).send(call()) }
        #expect(error.code.rawValue == code)
        #expect(error.recoverable == recoverable)
        // The platform's words, and then what to do.
        let words = "unexpected HTTP status \(status) from ice servers: \(body); "
        #expect(error.message.hasPrefix(words) && error.message.count > words.count, "\(error.message)")
        #expect(error.operation == "connect")
        #expect(error.status == (code == "VERSION_MISMATCH" ? nil : status))
        #expect(error.retryAfterMS == (code == "VERSION_MISMATCH" ? nil : 2000))
        #expect(server.requests.count == 1, "nothing is retried at this layer")
    }

    @Test("a refused port is NETWORK_ERROR")
    func refused() async throws {
        let port = try ScriptedServer.refusedPort()
        let api = try APIClient(endpoint: APIEndpoint(apiURL: "http://127.0.0.1:\(port)", local: false), operation: .connect)
        let error = try await error { try await api.send(call()) }
        #expect(error.code == .networkError && error.recoverable && error.status == nil)
        #expect(error.message.hasPrefix("no HTTP reply from ice servers: "))
    }

    @Test("a server that accepts and stays silent is REQUEST_TIMEOUT within the limit")
    func silent() async throws {
        let server = try ScriptedServer(.silence)
        let error = try await error { try await api(server).send(call(limit: .milliseconds(100))) }
        #expect(error.code == .requestTimeout && error.recoverable)
        #expect(error.message.hasPrefix("timed out: ice servers did not complete within 0.1s; try again"))
    }

    @Test("a body cut short is NETWORK_ERROR, one over the limit DECODE_FAILED")
    func badBodies() async throws {
        let short = try ScriptedServer(.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), .close)
        #expect(try await error { try await api(short).send(call()) }.code == .networkError)
        let long = try ScriptedServer(.reply(200, bytes: [UInt8](repeating: 0, count: FormatLimits.maxBodyBytes + 1)))
        #expect(try await error { try await api(long).send(call()) }.code == .decodeFailed)
    }

    @Test("cancellation is CancellationError, not a ReactorError")
    func cancellation() async throws {
        let server = try ScriptedServer(.silence)
        let api = try api(server)
        let task = Task { try await api.send(call()) }
        for await event in server.events { if case .request = event { break } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    // MARK: - Authorization

    @Test("a token goes along as given, no token means no header")
    func authorization() async throws {
        let server = try ScriptedServer(.reply(200))
        _ = try await api(server, token: "a.b.c").send(call())
        _ = try await api(server).send(call())
        #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer a.b.c", nil])
        #expect(server.requests.allSatisfy { $0.headers["reactor-api-version"] == "1" && $0.headers["reactor-api-accept-version"] == "1" })
    }

    @Test("TOK-01 after a 401 the provider is asked again and a new token gets one more try")
    func renewal() async throws {
        let server = try ScriptedServer { $0.headers["authorization"] == "Bearer new" ? [.reply(200, "{}")] : [.reply(401)] }
        let asked = Mutex(0)
        var api = try api(server)
        api.token = { _ in
            asked.withLock { count in
                count += 1
                return count == 1 ? "old" : "new"
            }
        }
        #expect(try await api.send(call(.post)).status == 200)
        #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer old", "Bearer new"])
        // The renewed one is refused too: that is the end.
        let refusing = try ScriptedServer(.reply(401, "no"))
        api.endpoint = try APIEndpoint(apiURL: refusing.url, local: false)
        asked.withLock { $0 = 0 }
        #expect(try await error { try await api.send(call(.post)) }.code == .unauthorized)
        #expect(refusing.requests.count == 2)
    }

    @Test("TOK-01 the same token again is not tried again")
    func noRenewal() async throws {
        let server = try ScriptedServer(.reply(401))
        #expect(try await error { try await api(server, token: "same").send(call()) }.code == .unauthorized)
        #expect(server.requests.count == 1)
    }

    @Test("what the provider throws fails the call: its own ReactorError as it is, anything else as UNAUTHORIZED")
    func failingProvider() async throws {
        struct Outage: Error {}
        let server = try ScriptedServer(.reply(200))
        var api = try api(server)
        api.token = { _ in throw ReactorError(.rateLimited, "slow down") }
        #expect(try await error { try await api.send(call()) } == ReactorError(.rateLimited, "slow down"))
        api.token = { _ in throw Outage() }
        let wrapped = try await error { try await api.send(call()) }
        #expect(wrapped.code == .unauthorized && wrapped.operation == "connect")
        #expect(server.requests.isEmpty)
    }

    @Test("an echoed token does not reach the message")
    func echoedToken() async throws {
        let server = try ScriptedServer { [.reply(403, "refused: " + ($0.headers["authorization"] ?? ""))] }
        let error = try await error { try await api(server, token: "s3cr3t-token").send(call()) }
        #expect(error.message.hasPrefix("unexpected HTTP status 403 from ice servers: refused: Bearer [redacted]; the token"))
        #expect(!String(reflecting: error).contains("s3cr3t"))
    }

    @Test("a token with a line break is refused before sending, and not shown")
    func brokenToken() async throws {
        let server = try ScriptedServer(.reply(200))
        let error = try await error { try await api(server, token: "s3cr3t\n").send(call()) }
        #expect(error.code == .badRequest)
        #expect(!String(reflecting: error).contains("s3cr3t"))
        #expect(server.connectionCount == 0)
    }

    @Test("HTTP-01 a redirected GET arrives, a redirected POST that would become a GET is an error")
    func redirects() async throws {
        let server = try ScriptedServer { $0.path == "/x" ? [.reply(301, "moved", headers: ["Location: /y"])] : [.reply(200)] }
        #expect(try await api(server).send(call(.get)).status == 200)
        #expect(try await error { try await api(server).send(call(.post)) }.code == .serverError)
    }
}
