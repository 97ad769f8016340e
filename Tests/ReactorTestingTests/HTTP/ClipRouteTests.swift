import Testing

@testable import ReactorTesting

@Suite("Clip routes", .serialized)
struct ClipRouteTests {
    private static let chunk = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    private static let path = "/clips/chunks/\(FakeRecordings.id)/chunk_00000.m4s"

    private static func served(_ body: @escaping @Sendable (RawHTTP) throws -> Void) async throws {
        try await TestRuntime.with(recordings: FakeRecordings(ready: true, chunk: chunk)) { runtime in
            let port = runtime.port
            try await onThread { try body(RawHTTP(port: port)) }
        }
    }

    @Test("a playlist and its segments have their types")
    func types() async throws {
        try await Self.served { http in
            let playlist = try http.request("GET", "/clips?session_id=\(FakeRecordings.id)&start=3.400&end=6.400")
            #expect(playlist.status == 200 && playlist.headers["content-type"] == "application/vnd.apple.mpegurl")
            #expect(playlist.text == "#EXTM3U\n# 3.4 6.4\n")
            let segment = try http.request("GET", Self.path)
            #expect(segment.status == 200 && segment.body == Self.chunk && segment.headers["content-type"] == "video/iso.segment")
            #expect(segment.headers["accept-ranges"] == "bytes" && segment.headers["etag"] != nil)
            let initial = try http.request("GET", Self.path.replacing("chunk_00000.m4s", with: "init.mp4"))
            #expect(initial.headers["content-type"] == "video/mp4")
            let head = try http.request("HEAD", Self.path)
            #expect(head.headers["content-length"] == "5000" && head.headers["etag"] == segment.headers["etag"])
        }
    }

    @Test("markers that no clip can have are refused or bounded")
    func markers() async throws {
        try await Self.served { http in
            for (range, status) in [
                ("start=3&end=3", 400), ("start=3&end=2", 400), ("start=nan&end=2", 400), ("start=0&end=inf", 400), ("start=x&end=2", 422),
                ("start=&end=2", 422), ("start=0", 422), ("start=-5&end=2", 200), ("start=0&end=1e300", 200),
            ] {
                let answer = try http.request("GET", "/clips?session_id=\(FakeRecordings.id)&\(range)")
                #expect(answer.status == status, "\(range)")
            }
            #expect(
                try http.request("GET", "/clips?session_id=\(FakeRecordings.id)&start=-5&end=1e300").text == "#EXTM3U\n# 0.0 1000000000.0\n"
            )
        }
    }

    @Test("a known tag is not sent again")
    func etag() async throws {
        try await Self.served { http in
            let tag = try http.request("GET", Self.path).headers["etag"] ?? ""
            for field in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                let answer = try http.request("GET", Self.path, headers: ["If-None-Match: \(field)"])
                #expect(answer.status == 304 && answer.headers["etag"] == tag, "\(field)")
            }
            #expect(try http.request("GET", Self.path, headers: ["If-None-Match: \"x\""]).status == 200)
        }
    }

    @Test(
        "one range of bytes is served as the RFC says",
        arguments: [
            ("bytes=0-0", 0, 1), ("bytes=0-99", 0, 100), ("bytes=4990-", 4990, 5000), ("bytes=-10", 4990, 5000), ("bytes=-9999", 0, 5000),
            ("bytes=100-99999999999999999999999", 100, 5000), ("bytes= 1 - 2 ", 1, 3), ("BYTES=1-2", 1, 3),
        ])
    func ranges(_ field: String, _ from: Int, _ to: Int) async throws {
        try await Self.served { http in
            let answer = try http.request("GET", Self.path, headers: ["Range: \(field)"])
            #expect(answer.status == 206 && answer.body == Array(Self.chunk[from..<to]))
            #expect(answer.headers["content-range"] == "bytes \(from)-\(to - 1)/5000")
        }
    }

    @Test("ranges that are none get the whole, those behind the end 416, and another tag's range the whole")
    func otherRanges() async throws {
        try await Self.served { http in
            for field in ["bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "items=0-1", "bytes=0-1,3-4", "bytes", "bytes=--1", "bytes=1-2-3"]
            {
                #expect(try http.request("GET", Self.path, headers: ["Range: \(field)"]).status == 200, "\(field)")
            }
            for field in ["bytes=5000-", "bytes=-0", "bytes=99999999999999999999-"] {
                let answer = try http.request("GET", Self.path, headers: ["Range: \(field)"])
                #expect(answer.status == 416 && answer.headers["content-range"] == "bytes */5000", "\(field)")
            }
            let tag = try http.request("GET", Self.path).headers["etag"] ?? ""
            #expect(try http.request("GET", Self.path, headers: ["Range: bytes=0-1", "If-Range: \(tag)"]).status == 206)
            #expect(try http.request("GET", Self.path, headers: ["Range: bytes=0-1", "If-Range: \"x\""]).status == 200)
        }
    }
}
