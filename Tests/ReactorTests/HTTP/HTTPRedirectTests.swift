import Testing

@testable import Reactor

@Suite("HTTP redirects", .timeLimit(.minutes(1)))
struct HTTPRedirectTests {
    let client = HTTPClient()

    private func request(_ method: HTTPRequest.Method, _ url: String, changesMethod: Bool = true) -> HTTPRequest {
        var request = HTTPRequest(method, url, body: method == .get ? nil : Array("body".utf8))
        request.headers = [
            HTTPHeader("Authorization", "Bearer abc"), HTTPHeader("Reactor-API-Key", "rk_1"), HTTPHeader("X-Plain", "kept"),
            HTTPHeader("Content-Type", "text/plain"),
        ]
        request.redirects = .followed(maxHops: 20, changesMethod: changesMethod)
        return request
    }

    @Test("HTTP-01 a redirect is the answer unless following is asked for")
    func notFollowed() async throws {
        let server = try ScriptedServer(.reply(302, headers: ["Location: /else"]))
        #expect(try await client.send(HTTPRequest(.get, server.url)).status == 302)
        #expect(server.requests.count == 1)
    }

    @Test("HTTP-01 another host is followed without credentials", arguments: [302, 303, 307, 308])
    func otherOrigin(_ status: Int) async throws {
        let target = try ScriptedServer(.reply(200, "there"))
        let server = try ScriptedServer(.reply(status, headers: ["Location: http://localhost:\(target.port)/new?q=1"]))
        let response = try await client.send(request(.get, server.url))
        #expect(response.status == 200)
        let arrived = try #require(target.requests.first)
        #expect(arrived.path == "/new?q=1")
        #expect(arrived.headers["authorization"] == nil)
        #expect(arrived.headers["reactor-api-key"] == nil)
        #expect(arrived.headers["x-plain"] == "kept")
    }

    @Test("HTTP-01 the same origin keeps credentials, and a relative place is resolved")
    func sameOrigin() async throws {
        let server = try ScriptedServer { $0.path == "/a/b" ? [.reply(307, headers: ["Location: ../c"])] : [.reply(200)] }
        _ = try await client.send(request(.get, server.url + "/a/b"))
        #expect(server.requests.map(\.path) == ["/a/b", "/c"])
        #expect(server.requests.last?.headers["authorization"] == "Bearer abc")
    }

    @Test("HTTP-01 303, and 301 or 302 after POST, become GET without body; 307 and 308 repeat", arguments: [301, 302, 303, 307, 308])
    func methods(_ status: Int) async throws {
        let server = try ScriptedServer { $0.path == "/" ? [.reply(status, headers: ["Location: /next"])] : [.reply(200)] }
        _ = try await client.send(request(.post, server.url + "/"))
        let next = try #require(server.requests.last)
        #expect(next.path == "/next")
        #expect(next.method == (status < 307 ? "GET" : "POST"))
        #expect(next.text == (status < 307 ? "" : "body"))
        #expect((next.headers["content-type"] == nil) == (status < 307))
    }

    @Test("an API call that a redirect would turn into a GET returns the redirect")
    func keepsMethod() async throws {
        let server = try ScriptedServer(.reply(301, headers: ["Location: /next"]))
        #expect(try await client.send(request(.post, server.url, changesMethod: false)).status == 301)
        #expect(server.requests.count == 1)
    }

    @Test("HTTP-01 a loop ends with a typed error after the allowed hops")
    func loop() async throws {
        let server = try ScriptedServer { [.reply(302, headers: ["Location: /\($0.index)"])] }
        await #expect(throws: HTTPError(.badRedirect, "more than 20 redirects")) { try await client.send(request(.get, server.url)) }
        #expect(server.requests.count == 21)
    }

    @Test(
        "HTTP-01 a redirect to nowhere, to another protocol or with a password in it is a typed error",
        arguments: ["", "Location: ftp://127.0.0.1/x", "Location: file:///etc/passwd", "Location: http://user:pass@127.0.0.1/"])
    func badTargets(_ header: String) async throws {
        let server = try ScriptedServer(.reply(302, headers: header.isEmpty ? [] : [header]))
        do {
            _ = try await client.send(request(.get, server.url))
            Issue.record("followed")
        } catch let error as HTTPError {
            #expect(error.kind == .badRedirect)
        }
    }

    @Test("HTTP-01 https is never left for http")
    func downgrade() throws {
        let from = HTTPRequest(.get, "https://api.example/x")
        #expect(throws: HTTPError.self) {
            try HTTPClient.redirected(
                from, by: HTTPResponse(status: 302, headers: [HTTPHeader("Location", "http://api.example/x")]), changesMethod: true)
        }
        let up = try HTTPClient.redirected(
            HTTPRequest(.get, "http://api.example/x"),
            by: HTTPResponse(status: 302, headers: [HTTPHeader("Location", "https://api.example/x")]), changesMethod: true)
        #expect(up?.url == "https://api.example/x")
    }

    @Test("the time limit covers all hops together")
    func limitOverHops() async throws {
        let server = try ScriptedServer { _ in [.pause(milliseconds: 60), .reply(302, headers: ["Location: /again"])] }
        var request = request(.get, server.url)
        request.totalTimeout = .milliseconds(200)
        do {
            _ = try await client.send(request)
            Issue.record("no error")
        } catch let error as HTTPError {
            #expect(error.kind == .timedOut)
        }
        #expect(server.requests.count < 6)
    }
}
