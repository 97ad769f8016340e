import Foundation
import PeerTestSupport
import ReactorCore
import Synchronization
import Testing

@testable import Reactor

/// Uploads of a client (api.md R-43 to R-45, X-10; wire protocol §2.8).
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(1))) struct ClientUploadTests {
    /// A runtime that takes uploads; `answer` replaces the answer to the bytes.
    private func makeRuntime(
        isLocal: Bool = true, answer: @escaping @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step] = { _ in [.reply(200)] }
    ) throws -> FakeRuntime {
        try FakeRuntime { options in
            options.isLocal = isLocal
            options.override = { request in
                if request.method == "POST", request.path.hasSuffix("/uploads") {
                    let url = "http://\(request.headers["host"] ?? "")/uploads/abc?signature=s3cr3t-signature"
                    return [.reply(201, #"{"presigned_id":"abc","presigned_url":"\#(url)","path":"sessions/x/uploads/abc/n"}"#)]
                }
                return request.method == "PUT" && request.path.hasPrefix("/uploads/") ? answer(request) : nil
            }
        }
    }

    private func temporaryFile(_ name: String, _ bytes: Data) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "reactor-upload-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: name)
        try bytes.write(to: file)
        return file
    }

    @Test("R-43 UP-03 a file goes up under its name, whatever letters that has, and a notification follows")
    func file() async throws {
        let runtime = try makeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let bytes = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let file = try temporaryFile("Bär 熊.png", bytes)
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        let marks = Mutex<[UploadProgress]>([])
        let ref = try await client.uploadFile(at: file, name: nil, progress: { mark in marks.withLock { $0.append(mark) } })
        #expect(ref == FileRef(uploadID: "abc", name: "Bär 熊.png", mimeType: "image/png", size: bytes.count))
        let create = try #require(runtime.server.requests.first { $0.path.hasSuffix("/uploads") })
        #expect(create.path == "/sessions/\(FakeRuntime.localID)/uploads")
        #expect(create.text == #"{"mime_type":"image/png","name":"Bär 熊.png","size":700000}"#)
        let put = try #require(runtime.server.requests.first { $0.method == "PUT" && $0.path.hasPrefix("/uploads/") })
        #expect(put.body == Array(bytes) && put.headers["content-type"] == "image/png")
        #expect(marks.withLock { $0.last } == UploadProgress(sent: bytes.count, total: bytes.count))
        #expect(marks.withLock { $0.map(\.sent) == $0.map(\.sent).sorted() && $0.count >= 3 })
        #expect(await eventually { runtime.control.contains("uploaded abc Bär 熊.png image/png 700000") })
        try await client.disconnect()
    }

    @Test("R-45 §2.8 bytes: with a token the place is asked for with it, and the storage gets only a Content-Type")
    func data() async throws {
        let runtime = try makeRuntime(isLocal: false)
        let client = try runtime.client(tokens: StaticToken("tok"))
        try await client.connect()
        let ref = try await client.uploadData(Data("hello world".utf8), name: "", mimeType: "text/plain")
        #expect(ref == FileRef(uploadID: "abc", name: "upload", mimeType: "text/plain", size: 11))
        let create = try #require(runtime.server.requests.first { $0.path.hasSuffix("/uploads") })
        #expect(create.headers["authorization"] == "Bearer tok" && create.headers["reactor-api-version"] == "1")
        let put = try #require(runtime.server.requests.first { $0.method == "PUT" && $0.path.hasPrefix("/uploads/") })
        #expect(put.text == "hello world")
        #expect(put.headers["authorization"] == nil && put.headers["reactor-api-version"] == nil)
        try await client.disconnect()
    }

    @Test("R-44, X-8 an upload needs a ready session")
    func notReady() async throws {
        let client = try Reactor(model: "owner/name", apiURL: "http://127.0.0.1:1", local: true)
        #expect(await failure { try await client.uploadFile(at: URL(filePath: "/nowhere")) }?.code == .invalidState)
        #expect(await failure { try await client.uploadData(Data([1]), name: "a", mimeType: "a/b") }?.code == .invalidState)
        client.close()
        #expect(await failure { try await client.uploadData(Data([1]), name: "a", mimeType: "a/b") }?.code == .invalidState)
    }

    @Test("X-10 what cannot be uploaded is BAD_REQUEST, and nothing is sent for it")
    func refusedBefore() async throws {
        let runtime = try makeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let empty = try temporaryFile("empty.txt", Data())
        defer { try? FileManager.default.removeItem(at: empty.deletingLastPathComponent()) }
        let folder = empty.deletingLastPathComponent()
        let web = try #require(URL(string: "https://example.com/a.png"))
        for url in [empty, folder, folder.appending(path: "missing"), URL(filePath: "/dev/zero"), web] {
            let error = await failure { try await client.uploadFile(at: url) }
            #expect(error?.code == .badRequest && error?.operation == "upload_file", "\(url)")
        }
        #expect(await failure { try await client.uploadData(Data(), name: "a", mimeType: "a/b") }?.code == .badRequest)
        #expect(await failure { try await client.uploadData(Data([1]), name: "a", mimeType: "a/b\r\nX: y") }?.code == .badRequest)
        #expect(!runtime.server.requests.contains { $0.path.contains("uploads") })
        #expect(client.status == .ready)
        try await client.disconnect()
    }

    @Test(
        "§8.2 a storage that refuses is told with its status, without the URL's signature",
        arguments: [(403, "UNAUTHORIZED"), (404, "NOT_FOUND"), (400, "BAD_REQUEST"), (503, "SERVER_ERROR")])
    func storageRefuses(_ status: Int, _ code: String) async throws {
        let runtime = try makeRuntime { request in [.reply(status, "no: http://\(request.headers["host"] ?? "")\(request.path)")] }
        let client = try runtime.client()
        try await client.connect()
        let error = await failure { try await client.uploadData(Data([1, 2]), name: "a", mimeType: "a/b") }
        #expect(error?.code.rawValue == code && error?.status == status && error?.operation == "upload_bytes")
        #expect(error?.message.hasPrefix("unexpected HTTP status \(status) from presigned upload: no") == true)
        #expect(error?.message.contains("s3cr3t") == false)
        #expect(!runtime.control.contains { $0.hasPrefix("uploaded") })
        try await client.disconnect()
    }

    @Test("C8 a cancelled upload ends at once: no FileRef, no notification, the session goes on")
    func cancelled() async throws {
        let runtime = try makeRuntime { _ in [.silence] }
        let client = try runtime.client()
        try await client.connect()
        let task = Task { try await client.uploadData(Data(count: 300_000), name: "a", mimeType: "a/b") }
        #expect(await eventually { runtime.server.requests.contains { $0.path.hasPrefix("/uploads/") } })
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(try await client.sendCommand("echo", ["a": 1])?.data?["a"] == 1)
        #expect(!runtime.control.contains { $0.hasPrefix("uploaded") })
        try await client.disconnect()
    }

    @Test("X-4 closing the client ends an upload with ABORTED, which names the call")
    func closed() async throws {
        let runtime = try makeRuntime { _ in [.silence] }
        let client = try runtime.client()
        try await client.connect()
        let task = Task { try await client.uploadData(Data([1]), name: "a", mimeType: "a/b") }
        #expect(await eventually { runtime.server.requests.contains { $0.path.hasPrefix("/uploads/") } })
        client.close()
        let error = await failure { try await task.value }
        #expect(error?.code == .aborted && error?.message.contains("upload_bytes") == true)
    }
}
