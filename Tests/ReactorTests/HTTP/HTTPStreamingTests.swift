import Foundation
import PeerTestSupport
import Testing

@testable import Reactor

@Suite("HTTP streaming", .timeLimit(.minutes(1)))
struct HTTPStreamingTests {
    private let client = HTTPClient()
    private struct Stop: Error {}

    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    private func put(_ server: ScriptedServer, _ path: String = "/u") -> HTTPRequest {
        HTTPRequest(.put, server.url + path, headers: [HTTPHeader("Content-Type", "text/plain")])
    }

    // MARK: Down

    @Test("a body far larger than the buffer arrives whole and in order through a slow writer")
    func download() async throws {
        let body = Self.bytes(3_000_000)
        let server = try ScriptedServer(.reply(200, bytes: body))
        var received: [UInt8] = []
        var pieces = 0
        let response = try await client.download(HTTPRequest(.get, server.url), expecting: 200) { bytes in
            #expect(bytes.count <= 2 * IncomingBody.capacityBytes)
            received += bytes
            pieces += 1
            if pieces % 4 == 0 { usleep(1000) }
        }
        #expect(response.status == 200 && response.body.isEmpty)
        #expect(received == body)
        #expect(pieces > 5)
    }

    @Test("an answer with another status is not written; its body is in the response", arguments: [201, 206, 403, 500])
    func otherStatus(_ status: Int) async throws {
        let server = try ScriptedServer(.reply(status, "no"))
        let response = try await client.download(HTTPRequest(.get, server.url), expecting: 200) { _ in Issue.record("written") }
        #expect(response.status == status && String(decoding: response.body, as: UTF8.self) == "no")
    }

    @Test("a body that is shorter than it says is no success")
    func truncated() async throws {
        let server = try ScriptedServer(.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"), .close)
        var received = 0
        do {
            _ = try await client.download(HTTPRequest(.get, server.url), expecting: 200) { received += $0.count }
            Issue.record("no error")
        } catch let error as HTTPError {
            #expect(error.kind == .connectionLost)
        }
        #expect(received == 9)
    }

    @Test("a writer that throws ends the transfer")
    func writerThrows() async throws {
        let server = try ScriptedServer { _ in
            [.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"), .silence]
        }
        await #expect(throws: Stop.self) {
            _ = try await client.download(HTTPRequest(.get, server.url), expecting: 200) { _ in throw Stop() }
        }
        for await event in server.events { if case .closedByPeer = event { break } }
    }

    @Test("cancelled in the middle it ends at once and closes the connection")
    func cancelled() async throws {
        let server = try ScriptedServer { _ in
            [.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"), .silence]
        }
        let begun = SharedFlag(false)
        let task = Task { [client] in
            _ = try await client.download(HTTPRequest(.get, server.url), expecting: 200) { _ in begun.value = true }
        }
        #expect(await eventually { begun.value })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for await event in server.events { if case .closedByPeer = event { break } }
    }

    @Test("a server that stops sending ends it after the stall limit, however long the whole may take")
    func stall() async throws {
        let server = try ScriptedServer { _ in
            [.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"), .silence]
        }
        var request = HTTPRequest(.get, server.url)
        request.totalTimeout = .seconds(600)
        request.stallTimeout = .seconds(1)
        do {
            _ = try await client.download(request, expecting: 200) { _ in }
            Issue.record("no error")
        } catch let error as HTTPError {
            #expect(error.kind == .timedOut)
        }
    }

    // MARK: Up

    @Test("a body far larger than the buffer reaches the server whole, with its length and only the headers given")
    func upload() async throws {
        let body = Self.bytes(2_500_000)
        let server = try ScriptedServer(.reply(200))
        var marks: [Int] = []
        let response = try await client.upload(put(server), from: Data(body)) { marks.append($0) }
        #expect(response.status == 200)
        let request = try #require(server.requests.first)
        #expect(request.method == "PUT" && request.body == body)
        #expect(request.headers["content-length"] == "2500000" && request.headers["content-type"] == "text/plain")
        #expect(Set(request.headers.keys).subtracting(["host", "accept", "content-length", "content-type", "accept-encoding"]).isEmpty)
        #expect(marks == marks.sorted() && marks.last == body.count && marks.count > 5)
    }

    @Test("UP-01 an empty body says Content-Length: 0 and is not chunked")
    func empty() async throws {
        let server = try ScriptedServer(.reply(200))
        _ = try await client.upload(put(server), from: Data()) { _ in }
        _ = try await client.send(HTTPRequest(.put, server.url + "/plain", body: []))
        for request in server.requests {
            #expect(request.headers["content-length"] == "0" && request.headers["transfer-encoding"] == nil)
        }
        #expect(server.requests.count == 2)
    }

    @Test("a redirect that keeps the method gets the whole body again")
    func redirect() async throws {
        let body = Self.bytes(600_000)
        let server = try ScriptedServer { request in
            request.path == "/u" ? [.reply(307, headers: ["Location: /there"])] : [.reply(201)]
        }
        let response = try await client.upload(put(server), from: Data(body)) { _ in }
        #expect(response.status == 201)
        #expect(server.requests.map(\.path) == ["/u", "/there"])
        #expect(server.requests[1].body == body && server.requests[1].method == "PUT")
    }

    @Test("a refusal comes back with its body", arguments: [400, 403, 413, 507])
    func refused(_ status: Int) async throws {
        let server = try ScriptedServer(.reply(status, "no room"))
        let response = try await client.upload(put(server), from: Data(Self.bytes(10_000))) { _ in }
        #expect(response.status == status && String(decoding: response.body, as: UTF8.self) == "no room")
    }

    private struct Failing: UploadContent {
        let byteCount = 1_000_000
        func read(at offset: Int, count: Int) throws -> [UInt8] {
            guard offset == 0 else { throw Stop() }
            return Array(repeating: 1, count: count)
        }
    }

    @Test("a source that fails half way ends the transfer with its own error")
    func sourceThrows() async throws {
        let server = try ScriptedServer(.reply(200))
        await #expect(throws: Stop.self) { _ = try await client.upload(put(server), from: Failing()) { _ in } }
        for await event in server.events { if case .closedByPeer = event { break } }
        #expect(server.requests.isEmpty, "an incomplete body is no request")
    }

    @Test("cancelled while the server thinks it ends at once and closes the connection")
    func uploadCancelled() async throws {
        let server = try ScriptedServer(.silence)
        let request = put(server)
        let task = Task { [client] in _ = try await client.upload(request, from: Data(Self.bytes(100_000))) { _ in } }
        #expect(await eventually { !server.requests.isEmpty })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for await event in server.events { if case .closedByPeer = event { break } }
    }

    @Test("cancelled before it begins nothing is sent")
    func uploadCancelledEarly() async throws {
        let server = try ScriptedServer(.reply(200))
        let request = put(server)
        let task = Task { [client] in
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await client.upload(request, from: Data([1])) { _ in }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(server.connectionCount == 0)
    }
}
