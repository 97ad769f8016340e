import ReactorCore
import Synchronization
import Testing

@testable import ReactorTesting

@Suite("Upload routes", .serialized)
struct UploadRouteTests {
    private static let sid = FakeService.sessionID

    private static func reserve(_ http: RawHTTP, size: Int, name: String = "a.bin") throws -> WireValue {
        let answer = try http.request(
            "POST", "/sessions/\(sid)/uploads", json: #"{"name":"\#(name)","size":\#(size),"mime_type":"application/octet-stream"}"#)
        guard answer.status == 201 else { throw RawHTTP.Failure(description: "\(answer.status) \(answer.text)") }
        return try JSONText.parse(answer.body)
    }

    private static func started(_ uploads: UploadStore = UploadStore(), _ body: @escaping @Sendable (Int, UploadStore) throws -> Void)
        async throws
    {
        let service = FakeService()
        service.values.withLock { $0.state = .waiting }
        try await TestRuntime.with(service: service, uploads: uploads) { runtime in
            let port = runtime.port
            try await onThread { try body(port, uploads) }
        }
    }

    @Test("an upload of many megabytes arrives byte for byte, with a length, in chunks and after Expect")
    func large() async throws {
        try await Self.started { port, uploads in
            let bytes = (0..<(9 << 20) + 13).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            let http = try RawHTTP(port: port)
            for variant in ["length", "chunks", "expect"] {
                let reserved = try Self.reserve(http, size: bytes.count)
                let id = reserved["presigned_id"]?.stringValue ?? ""
                let url = reserved["presigned_url"]?.stringValue ?? ""
                #expect(url == "http://127.0.0.1:8080/uploads/\(id)", "the URL follows the Host field")
                #expect(id.utf8.count == 32 && id.allSatisfy(\.isHexDigit))
                #expect(reserved["path"]?.stringValue == "sessions/\(Self.sid)/uploads/\(id)/a.bin")
                switch variant {
                case "length": #expect(try http.request("PUT", "/uploads/\(id)", body: bytes).status == 200)
                case "chunks":
                    http.send("PUT /uploads/\(id) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
                    for start in stride(from: 0, to: bytes.count, by: 100_000) {
                        let part = bytes[start..<min(bytes.count, start + 100_000)]
                        http.send(Array("\(String(part.count, radix: 16))\r\n".utf8) + part + Array("\r\n".utf8))
                    }
                    http.send("0\r\n\r\n")
                    #expect(try http.answer().status == 200)
                default:
                    http.send("PUT /uploads/\(id) HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: \(bytes.count)\r\n\r\n")
                    #expect(try http.answer().status == 100)
                    http.send(bytes)
                    #expect(try http.answer().status == 200)
                }
                #expect(uploads.completeBytes(of: id) == bytes, "\(variant)")
            }
        }
    }

    @Test("a wrong length is told before the body is sent, and the upload can be tried again")
    func wrongLength() async throws {
        try await Self.started { port, _ in
            let http = try RawHTTP(port: port)
            let id = try Self.reserve(http, size: 3)["presigned_id"]?.stringValue ?? ""
            // The client waits for leave to send a large body, and never gets it.
            let refused = try RawHTTP(port: port)
            refused.send("PUT /uploads/\(id) HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 50000000\r\n\r\n")
            let answer = try refused.answer()
            #expect(answer.status == 400 && answer.text.contains("expected 3 bytes, got 50000000"))
            http.send("PUT /uploads/\(id) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n4\r\nefgh\r\n0\r\n\r\n")
            let long = try http.answer()
            #expect(long.status == 400 && long.text.contains("expected 3 bytes, got 4"))
            #expect(try http.request("PUT", "/uploads/\(id)").text.contains("expected 3 bytes, got 0"))
            #expect(try http.request("PUT", "/uploads/\(id)", body: Array("abc".utf8)).status == 200)
        }
    }

    @Test("a broken upload frees its place")
    func broken() async throws {
        try await Self.started { port, uploads in
            let http = try RawHTTP(port: port)
            let id = try Self.reserve(http, size: 1000)["presigned_id"]?.stringValue ?? ""
            do {
                let broken = try RawHTTP(port: port)
                broken.send("PUT /uploads/\(id) HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc")
                while try http.request("PUT", "/uploads/\(id)", body: Array("ab".utf8)).status != 409 {}
            }
            // 409 while the broken one holds the place.
            var status = 409
            while status == 409 { status = try http.request("PUT", "/uploads/\(id)", body: [UInt8](repeating: 1, count: 1000)).status }
            #expect(status == 200)
            #expect(uploads.completeBytes(of: id)?.count == 1000)
        }
    }

    @Test("what does not fit the runtime is refused with a sentence")
    func tooLarge() async throws {
        try await Self.started(UploadStore(maxBytes: 100)) { port, _ in
            let http = try RawHTTP(port: port)
            let target = "/sessions/\(Self.sid)/uploads"
            #expect(try http.request("POST", target, json: #"{"name":"a","size":101,"mime_type":"x/y"}"#).status == 413)
            _ = try Self.reserve(http, size: 60)
            let full = try http.request("POST", target, json: #"{"name":"a","size":60,"mime_type":"x/y"}"#)
            #expect(full.status == 507 && full.text.contains("no room"))
            for size in ["1.5", "\"x\"", "[]", "1e300"] {
                #expect(try http.request("POST", target, json: #"{"name":"a","size":\#(size),"mime_type":"x/y"}"#).status == 422, "\(size)")
            }
            #expect(try http.request("POST", target, json: #"{"name":7,"size":1,"mime_type":{}}"#).text.contains("string_type"))
            #expect(try http.request("POST", target).status == 422)
        }
    }

    @Test("a Host field that could change the URL is not used")
    func hostField() async throws {
        try await Self.started { port, _ in
            let http = try RawHTTP(port: port)
            http.send(
                "POST /sessions/\(Self.sid)/uploads HTTP/1.1\r\nHost: evil/x?\r\nContent-Length: 41\r\n\r\n"
                    + #"{"name":"a","size":12,"mime_type":"x/y" }"#)
            let url = try JSONText.parse(try http.answer().body)["presigned_url"]?.stringValue ?? ""
            #expect(url.hasPrefix("http://127.0.0.1:\(port)/uploads/"))
        }
    }
}
