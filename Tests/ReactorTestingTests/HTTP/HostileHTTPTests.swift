import Foundation
import Synchronization
import Testing

@testable import ReactorTesting

/// What badly meaning or broken clients send: the right status or a closed connection, and the others notice nothing.
@Suite("Hostile HTTP", .serialized, .networkTurn)
struct HostileHTTPTests {
    /// The server still answers somebody else.
    private static func isResponsive(_ port: Int) throws -> Bool { try RawHTTP(port: port).request("GET", "/session").status == 200 }

    @Test("a header beyond the limit is answered with 431, near it and far beyond")
    func largeHeader() async throws {
        try await TestRuntime.with { runtime in
            let port = runtime.port
            for size in [17_000, 24_000, 200_000] {
                let answer = try await onThread {
                    try RawHTTP(port: port).request("GET", "/session", headers: ["X-Large: " + String(repeating: "a", count: size)])
                }
                #expect(answer.status == 431, "\(size)")
            }
            let many = try await onThread {
                try RawHTTP(port: port).request("GET", "/session", headers: (0..<5000).map { "X-\($0): y" })
            }
            #expect(many.status == 431)
            let fits = try await onThread {
                try RawHTTP(port: port).request("GET", "/session", headers: ["X-Large: " + String(repeating: "a", count: 12_000)])
            }
            #expect(fits.status == 200)
            #expect(try await onThread { try Self.isResponsive(port) })
        }
    }

    @Test("a target beyond the limit is refused")
    func largeTarget() async throws {
        try await TestRuntime.with { runtime in
            let port = runtime.port
            let answer = try await onThread { try RawHTTP(port: port).request("GET", "/" + String(repeating: "a", count: 100_000)) }
            #expect([414, 431].contains(answer.status))
        }
    }

    @Test("a header that never ends is answered with 408 and closed, however steadily it drips")
    func slowHeader() async throws {
        var limits = HTTPServerLimits()
        limits.header = .milliseconds(300)
        try await TestRuntime.with(limits: limits) { runtime in
            let port = runtime.port
            let (status, responsive) = try await onThread {
                let http = try RawHTTP(port: port)
                http.send("GET /session HTTP/1.1\r\nHost: x\r\n")
                var responsive = true
                // Until the server has enough: each byte is a sign of life.
                for count in 0..<10_000 {
                    guard http.send("X") else { break }
                    usleep(5_000)
                    if count == 10 { responsive = try Self.isResponsive(port) }
                }
                return (try? http.header().status, responsive)
            }
            // The farewell can get lost when bytes of ours arrive after the end.
            #expect(status == 408 || status == nil)
            #expect(responsive)
            #expect(await becomesTrue { runtime.http.counters.discards[.slowHeader] == 1 })
        }
    }

    @Test("a body that never comes is answered with 408 and closed")
    func slowBody() async throws {
        var limits = HTTPServerLimits()
        limits.body = .milliseconds(300)
        try await TestRuntime.with(limits: limits) { runtime in
            let port = runtime.port
            let (status, ended) = try await onThread {
                let http = try RawHTTP(port: port)
                http.send("POST /start_session HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
                let status = try http.header().status
                return (status, http.waitForEnd())
            }
            #expect(status == 408 && ended)
            #expect(runtime.http.counters.discards[.slowBody] == 1)
            #expect(runtime.service.values.withLock { $0.starts.isEmpty })
        }
    }

    @Test("a connection that says nothing is closed after the idle time")
    func idle() async throws {
        var limits = HTTPServerLimits()
        limits.idle = .milliseconds(300)
        try await TestRuntime.with(limits: limits) { runtime in
            let port = runtime.port
            #expect(try await onThread { try RawHTTP(port: port).waitForEnd() })
            // The same after a first request, whose second never gets beyond its request line.
            let ended = try await onThread {
                let http = try RawHTTP(port: port)
                let status = try http.request("GET", "/session").status
                http.send("GE")
                return status == 200 && http.waitForEnd()
            }
            #expect(ended)
            #expect(runtime.http.counters.discards[.idleConnection] == 2)
        }
    }

    @Test("a client that does not read its answer is closed")
    func slowReader() async throws {
        var limits = HTTPServerLimits()
        limits.answer = .milliseconds(100)
        let recordings = FakeRecordings(ready: true, chunk: [UInt8](repeating: 7, count: 24 << 20))
        try await TestRuntime.with(recordings: recordings, limits: limits) { runtime in
            let port = runtime.port
            let client = try await onThread {
                let client = Kept(try RawHTTP(port: port))
                client.http.send("GET /clips/chunks/\(FakeRecordings.id)/chunk_00000.m4s HTTP/1.1\r\nHost: x\r\n\r\n")
                return client
            }
            #expect(await becomesTrue { runtime.http.counters.discards[.slowReader] == 1 })
            #expect(await becomesTrue { runtime.http.connectionCount == 0 })
            #expect(try await onThread { client.http.waitForEnd() })
        }
    }

    @Test("a body shorter than it says is dropped with its connection, and nobody hears of it")
    func shortBody() async throws {
        try await TestRuntime.with { runtime in
            let port = runtime.port
            _ = try await onThread {
                let http = try RawHTTP(port: port)
                http.send("POST /start_session HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{}")
                http.finishSending()
                return http.waitForEnd()
            }
            #expect(await becomesTrue { runtime.http.connectionCount == 0 })
            #expect(runtime.service.values.withLock { $0.starts.isEmpty })
            #expect(try await onThread { try Self.isResponsive(port) })
        }
    }

    @Test("a body beyond the limit is answered with 413, with a length and in chunks, and kept nowhere")
    func largeBody() async throws {
        try await TestRuntime.with { runtime in
            let port = runtime.port
            let size = 1 << 20 + 1
            let declared = try await onThread {
                try RawHTTP(port: port).request("POST", "/start_session", body: [UInt8](repeating: 32, count: size))
            }
            #expect(declared.status == 413 && declared.text.contains("detail"))
            let huge = try await onThread {
                let http = try RawHTTP(port: port)
                http.send("POST /start_session HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
                return try http.answer().status
            }
            #expect(huge == 413)
            let chunked = try await onThread {
                let http = try RawHTTP(port: port)
                http.send("POST /start_session HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
                let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 32, count: 65536) + Array("\r\n".utf8)
                for _ in 0..<20 { http.send(chunk) }
                http.send("0\r\n\r\n")
                return try http.answer().status
            }
            #expect(chunked == 413)
            #expect(runtime.service.values.withLock { $0.starts.isEmpty })
            #expect(runtime.http.counters.discards[.bodyTooLarge] == 3)
        }
    }

    @Test("a chunked body without end is broken off")
    func endlessBody() async throws {
        try await TestRuntime.with { runtime in
            let port = runtime.port
            let sent = try await onThread {
                let http = try RawHTTP(port: port)
                http.send("POST /start_session HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
                let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 32, count: 65536) + Array("\r\n".utf8)
                var sent = 0
                while sent < 1 << 30, http.send(chunk) { sent += 65536 }
                return sent
            }
            #expect(sent < 64 << 20, "\(sent) bytes went through")
            #expect(try await onThread { try Self.isResponsive(port) })
        }
    }

    @Test(
        "what is not HTTP is answered with 400 or closed",
        arguments: [
            "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n \r\n\r\n", "GARBAGE\r\n\r\n", "GET\r\n\r\n",
            "GET /session HTTP/9.9\r\nHost: x\r\n\r\n", "GET /session HTTP/1.1\r\n\r\n", "GET session HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", "GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /%ff HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST /start_session HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
            "POST /start_session HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
            "POST /start_session HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "POST /start_session HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            "POST /start_session HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /start_session HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "POST /start_session HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
            "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}",
        ])
    func malformed(_ bytes: String) async throws {
        try await TestRuntime.with { runtime in
            let port = runtime.port
            let status: Int? = try await onThread {
                let http = try RawHTTP(port: port)
                http.send(bytes)
                http.finishSending()
                return try? http.header().status
            }
            #expect(status == nil || (400..<500).contains(status ?? 0) || status == 505, "\(status ?? 0)")
            #expect(runtime.service.values.withLock { $0.starts.isEmpty })
            #expect(try await onThread { try Self.isResponsive(port) })
        }
    }

    @Test("a transfer coding we do not have is answered with 501")
    func unknownCoding() async throws {
        try await TestRuntime.with { runtime in
            let port = runtime.port
            let answer = try await onThread {
                let http = try RawHTTP(port: port)
                http.send("POST /start_session HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n")
                http.finishSending()
                return try http.answer().status
            }
            #expect(answer == 501)
        }
    }

    @Test("200 idle connections do not keep the next client waiting, and all of them still work")
    func manyIdle() async throws {
        let descriptors = openDescriptors()
        try await TestRuntime.with { runtime in
            let port = runtime.port
            #expect(try await onThread { try Self.isResponsive(port) })
            let threads = serverThreads()
            let clients = try await onThread { try (0..<200).map { _ in Kept(try RawHTTP(port: port)) } }
            #expect(await becomesTrue { runtime.http.connectionCount == 200 })
            #expect(try await onThread { try Self.isResponsive(port) })
            #expect(serverThreads() <= threads)
            let statuses = try await onThread { try clients.map { try $0.http.request("GET", "/session").status } }
            #expect(statuses.allSatisfy { $0 == 200 })
        }
        #expect(await becomesTrue { openDescriptors() <= descriptors })
    }

    @Test("connections beyond the limit are told 503, those far beyond are closed, and room that gets free is used")
    func tooManyConnections() async throws {
        var limits = HTTPServerLimits()
        limits.connections = 4
        try await TestRuntime.with(limits: limits) { runtime in
            let port = runtime.port
            var kept = try await onThread { try (0..<4).map { _ in Kept(try RawHTTP(port: port)) } }
            #expect(await becomesTrue { runtime.http.connectionCount == 4 })
            let refused = try await onThread {
                let http = try RawHTTP(port: port)
                return (try http.request("GET", "/session"), http.waitForEnd())
            }
            #expect(refused.0.status == 503 && refused.1)
            #expect(refused.0.headers["retry-after"] == "1")
            // The spare ones fill up with silence; then the door is shut.
            let spare = try await onThread { try (0..<HTTPServerLimits.spareConnections).map { _ in Kept(try RawHTTP(port: port)) } }
            #expect(await becomesTrue { runtime.http.connectionCount == 4 + spare.count })
            #expect(try await onThread { try RawHTTP(port: port).waitForEnd() })
            #expect(runtime.http.counters.discards[.connectionRefused] == 1)
            let first = kept[0]
            #expect(try await onThread { try first.http.request("GET", "/session").status } == 200)
            kept.removeAll()
            #expect(await becomesTrue { runtime.http.connectionCount == 1 + spare.count })
            withExtendedLifetime((first, spare)) {}
        }
    }

    @Test("500 clients that break off anywhere leave nothing behind")
    func breakingOff() async throws {
        let descriptors = openDescriptors()
        try await TestRuntime.with { runtime in
            let port = runtime.port
            let request = Array(
                "POST /stop_session HTTP/1.1\r\nHost: x\r\nContent-Length: 30\r\n\r\n{\"moderate\":false,\"reason\":\"\"}".utf8)
            try await onThread {
                for index in 0..<500 { try RawHTTP(port: port).send(Array(request.prefix(index % (request.count + 1)))) }
            }
            #expect(await becomesTrue { runtime.http.connectionCount == 0 })
            #expect(try await onThread { try Self.isResponsive(port) })
        }
        #expect(await becomesTrue { openDescriptors() <= descriptors })
    }
}
