import PeerTestSupport
import Reactor
import Synchronization
import Testing

@testable import ReactorTesting

@Suite("HTTP server", .serialized, .networkTurn)
struct HTTPServerTests {
    /// Answers with what it was asked.
    private static let echo: HTTPServer.Handler = { request in
        HTTPServerResponse(
            200, text: "\(request.method) \(request.target.path.joined(separator: "|")) \(String(decoding: request.body, as: UTF8.self))")
    }

    @Test("a free port is chosen and told, and several servers run side by side")
    func freePorts() async throws {
        let servers = try (0..<5).map { _ in try HTTPServer(handler: Self.echo) }
        #expect(Set(servers.map(\.port)).count == 5)
        #expect(servers.allSatisfy { $0.port > 0 })
        for server in servers {
            let port = server.port
            let answer = try await onThread { try RawHTTP(port: port).request("GET", "/a/b%20c") }
            #expect(answer.status == 200 && answer.text == "GET a|b c ")
        }
        for server in servers { await server.stop() }
    }

    @Test("starting takes a few milliseconds")
    func startsQuickly() async throws {
        var best = Duration.seconds(60)
        for _ in 0..<10 {
            let begin = ContinuousClock.now
            let server = try HTTPServer(handler: Self.echo)
            best = min(best, begin.duration(to: .now))
            await server.stop()
        }
        #expect(best < .milliseconds(20), "\(best)")
    }

    @Test("a taken port, a name and a number that is no port fail at once and say so")
    func refusesToStart() async throws {
        let server = try HTTPServer(handler: Self.echo)
        #expect(throws: HTTPServerError.self) { try HTTPServer(port: server.port, handler: Self.echo) }
        #expect(throws: HTTPServerError.notAnAddress("example.com")) { try HTTPServer(host: "example.com", handler: Self.echo) }
        #expect(throws: HTTPServerError.badPort(65536)) { try HTTPServer(port: 65536, handler: Self.echo) }
        #expect(throws: HTTPServerError.badPort(-1)) { try HTTPServer(port: -1, handler: Self.echo) }
        await server.stop()
    }

    @Test("a streamed answer that the library never came for ends with its request")
    func unreadStream() async throws {
        let server = try HTTPServer(handler: Self.echo)
        let ended = Atomic<Int>(0)
        let stream = HTTPByteStream()
        stream.onEnd { ended.add(1, ordering: .relaxed) }
        // The library's side of it is not touched by the end of a request.
        let handle = try #require(OpaquePointer(bitPattern: 8))
        let connection = HTTPServerConnection(server: server, handle: handle, descriptor: -1, isOverLimit: false)
        connection.state.withLock { $0.response = HTTPServerResponse(200, body: .stream(stream)) }
        connection.ended(well: false)
        #expect(ended.load(ordering: .relaxed) == 1)
        await server.stop()
    }

    @Test("stopping leaves no thread and no descriptor, whatever the connections were doing")
    func stopLeavesNothing() async throws {
        let threads = serverThreads()
        let descriptors = openDescriptors()
        let ended = Atomic<Int>(0)
        for _ in 0..<30 {
            let started = Atomic<Int>(0)
            let stream = HTTPByteStream()
            let server = try HTTPServer { request in
                started.add(1, ordering: .relaxed)
                if request.target.path == ["stream"] { return HTTPServerResponse(200, body: .stream(stream)) }
                try? await Task.sleep(for: .seconds(600))
                ended.add(1, ordering: .relaxed)
                return HTTPServerResponse(200)
            }
            let port = server.port
            let clients = try await onThread {
                // Silent, in its header, in its body, being handled, being streamed to.
                let clients = try (0..<5).map { _ in Kept(try RawHTTP(port: port)) }
                clients[1].http.send("GET /a HTTP/1.1\r\nHost:")
                clients[2].http.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
                clients[3].http.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
                clients[4].http.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
                return clients
            }
            #expect(await becomesTrue { started.load(ordering: .relaxed) == 2 && server.connectionCount == 5 })
            await server.stop()
            #expect(server.connectionCount == 0)
            #expect(try await onThread { clients.allSatisfy { $0.http.waitForEnd() } })
        }
        #expect(await becomesTrue { ended.load(ordering: .relaxed) == 30 }, "handlers are cancelled")
        #expect(serverThreads() <= threads)
        #expect(await becomesTrue { openDescriptors() <= descriptors }, "\(openDescriptors()) after \(descriptors)")
    }

    @Test("stopping twice and at once from several places ends all the same")
    func stopsTogether() async throws {
        let server = try HTTPServer(handler: Self.echo)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { await server.stop() } }
        }
        await server.stop()
        let port = server.port
        await #expect(throws: RawHTTP.Failure.self) { try await onThread { _ = try RawHTTP(port: port) } }
    }

    @Test("a request handled for long holds up nobody, and no thread of the library")
    func suspends() async throws {
        let gate = Gate()
        let server = try HTTPServer { request in
            if request.target.path == ["slow"] { await gate.wait() }
            return HTTPServerResponse(200, text: request.target.path[0])
        }
        let port = server.port
        // Its thread has its name after the first answer.
        _ = try await onThread { try RawHTTP(port: port).request("GET", "/first") }
        let before = serverThreads()
        let slow = try await onThread {
            let clients = try (0..<20).map { _ in Kept(try RawHTTP(port: port)) }
            for client in clients { client.http.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n") }
            return clients
        }
        let quick = try await onThread { try RawHTTP(port: port).request("GET", "/quick").text }
        #expect(quick == "quick")
        #expect(serverThreads() <= before)
        gate.open()
        #expect(try await onThread { try slow.map { try $0.http.answer().text } } == Array(repeating: "slow", count: 20))
        await server.stop()
    }

    @Test("several requests in one packet are answered in order on one connection")
    func pipelining() async throws {
        let server = try HTTPServer(handler: Self.echo)
        let port = server.port
        let texts = try await onThread {
            let http = try RawHTTP(port: port)
            http.send((0..<20).map { "POST /\($0) HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n\($0 % 10)b" }.joined())
            return try (0..<20).map { _ in try http.answer().text }
        }
        #expect(texts == (0..<20).map { "POST \($0) \($0 % 10)b" })
        await server.stop()
    }

    @Test("HTTP-09 bodies of every size arrive whole, with a length and in chunks")
    func bodies() async throws {
        let server = try HTTPServer { request in HTTPServerResponse(200, body: .bytes(request.body)) }
        let port = server.port
        let wrong = try await onThread {
            let http = try RawHTTP(port: port)
            var wrong: [Int] = []
            for size in [0, 1, 2, 16383, 16384, 16385, 32767, 32768, 32769, 65536, 262_144, 1 << 20] {
                let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
                if try http.request("POST", "/", body: body).body != body { wrong.append(size) }
                var chunked = Array("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
                for part in stride(from: 0, to: size, by: 5000) {
                    let piece = body[part..<min(size, part + 5000)]
                    chunked += Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8)
                }
                http.send(chunked + Array("0\r\n\r\n".utf8))
                if try http.answer().body != body { wrong.append(-size) }
            }
            return wrong
        }
        #expect(wrong.isEmpty, "\(wrong)")
        await server.stop()
    }

    @Test(
        "HTTP-04 requests of 100 KB by the thousand leave the memory as it was",
        .enabled(if: !ProcessResources.isSanitized, "a sanitizer keeps freed memory"))
    func memory() async throws {
        let server = try HTTPServer { request in HTTPServerResponse(200, body: .bytes(request.body)) }
        let port = server.port
        let growth = try await onThread {
            let http = try RawHTTP(port: port)
            let body = [UInt8](repeating: 7, count: 100_000)
            func exchange(_ count: Int) throws {
                for _ in 0..<count where try http.request("POST", "/", body: body).body.count != body.count {}
            }
            try exchange(200)
            let before = residentBytes()
            try exchange(2000)
            return residentBytes() - before
        }
        #expect(growth < 16 << 20, "\(growth) bytes")
        await server.stop()
    }

    @Test("a stop in the middle of many requests ends every one of them", arguments: 0..<20)
    func stopUnderLoad(_ round: Int) async throws {
        let server = try HTTPServer { request in
            await Task.yield()
            return HTTPServerResponse(200, body: .bytes(request.body))
        }
        let port = server.port
        let answered = Tally()
        let clients = (0..<8).map { _ in
            Task {
                try await onThread {
                    let http = try RawHTTP(port: port)
                    while try http.request("POST", "/", body: Array("hello".utf8)).text == "hello" { answered.add() }
                }
            }
        }
        #expect(await becomesTrue { answered.count > 10 * (round + 1) })
        await server.stop()
        for client in clients { _ = await client.result }
        #expect(server.connectionCount == 0)
    }

    @Test("HTTP/1.0 gets whole answers and streams that end with the connection")
    func oldVersion() async throws {
        let stream = HTTPByteStream()
        stream.write(Array("streamed".utf8))
        stream.finish()
        let server = try HTTPServer { request in
            request.target.path == ["stream"] ? HTTPServerResponse(200, body: .stream(stream)) : HTTPServerResponse(200, text: "whole")
        }
        let port = server.port
        let texts = try await onThread {
            try ["/", "/stream"].map { path in
                let http = try RawHTTP(port: port)
                http.send("GET \(path) HTTP/1.0\r\n\r\n")
                return try http.answer().text
            }
        }
        #expect(texts == ["whole", "streamed"])
        await server.stop()
    }

    @Test("HEAD has the header of GET and no body")
    func head() async throws {
        let server = try HTTPServer { _ in HTTPServerResponse(200, text: "twelve bytes") }
        let port = server.port
        let (first, second) = try await onThread {
            let http = try RawHTTP(port: port)
            return (try http.request("HEAD", "/"), try http.request("GET", "/"))
        }
        #expect(first.headers["content-length"] == "12" && first.body.isEmpty)
        #expect(second.text == "twelve bytes")
        await server.stop()
    }

    @Test("a streamed answer goes out as it is written, and ends")
    func streaming() async throws {
        let stream = HTTPByteStream()
        let server = try HTTPServer { _ in HTTPServerResponse(200, body: .stream(stream)) }
        let port = server.port
        let client = try await onThread {
            let client = Kept(try RawHTTP(port: port))
            client.http.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            return client
        }
        #expect(try await onThread { try client.http.header().headers["transfer-encoding"] } == "chunked")
        for word in ["one", "two", "three"] {
            stream.write(Array("\(word)\n".utf8))
            // Chunk sizes come in between.
            let line = try await onThread {
                while true {
                    let line = try client.http.text(upTo: "\n")
                    if line.first?.isLetter == true, line.count > 2 { return line }
                }
            }
            #expect(line == word)
        }
        let ended = Gate()
        stream.onEnd { ended.open() }
        stream.finish()
        await ended.wait()
        #expect(!stream.write([1]))
        await server.stop()
    }

    @Test("dropping the handle closes the server")
    func dropping() async throws {
        var http: RuntimeHTTP? = try RuntimeHTTP(
            service: FakeService(), recordings: FakeRecordings(), uploads: UploadStore(), events: EventLog())
        let port = http?.port ?? 0
        #expect(try await onThread { try RawHTTP(port: port).request("GET", "/session").status } == 200)
        http = nil
        #expect(await becomesTrue { (try? await onThread { _ = try RawHTTP(port: port) }) == nil })
    }
}

/// Hands a connection from one thread to the next; they never use it at once.
struct Kept: @unchecked Sendable {
    let http: RawHTTP
    init(_ http: RawHTTP) { self.http = http }
}

final class Tally: Sendable {
    private let value = Atomic<Int>(0)
    func add() { value.add(1, ordering: .relaxed) }
    var count: Int { value.load(ordering: .relaxed) }
}

/// Closed until it is opened.
final class Gate: Sendable {
    private let state = Mutex((isOpen: false, waiters: [CheckedContinuation<Void, Never>]()))

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
