import Synchronization
import Testing

@testable import ReactorTesting

@Suite("Upload store")
struct UploadStoreTests {
    private static func fill(_ store: UploadStore, _ id: String, _ bytes: [UInt8]) throws {
        let receiver = try store.receive(id: id, contentLength: bytes.count)
        for byte in bytes { _ = [byte].withUnsafeBytes { receiver.append($0) } }
        try store.finish(receiver)
    }

    @Test("a reservation names what is missing")
    func missing() {
        let store = UploadStore()
        func detail(_ name: String, _ mime: String, _ size: Int, _ id: String? = nil) -> RouteFailure? {
            do {
                _ = try store.reserve(name: name, mimeType: mime, sizeBytes: size, id: id)
                return nil
            } catch { return error }
        }
        #expect(detail("", "x/y", 1) == RouteFailure(400, "name is required"))
        #expect(detail("a", "", 1) == RouteFailure(400, "mime_type is required"))
        #expect(detail("a", "x/y", 0) == RouteFailure(400, "size must be > 0"))
        #expect(detail("a", "x/y", -1) == RouteFailure(400, "size must be > 0"))
        #expect(detail("a", "x/y", .max)?.status == 413)
        #expect(detail("a", "x/y", 1, "../b")?.status == 400)
        #expect(detail("a", "x/y", 1, "") != nil)
        #expect(detail("a", "x/y", 1, "mine") == nil)
        #expect(detail("a", "x/y", 1, "mine") == RouteFailure(409, "Upload id already reserved"))
        #expect(store.upload("mine")?.sizeBytes == 1 && store.count == 1)
    }

    @Test("all uploads together stay below the bound, and room comes back with the session's end")
    func bound() throws {
        let store = UploadStore(maxBytes: 100)
        _ = try store.reserve(name: "a", mimeType: "x/y", sizeBytes: 60)
        #expect(throws: RouteFailure(507, "the session's uploads take 60 of 100 bytes, no room for 41 more")) {
            try store.reserve(name: "b", mimeType: "x/y", sizeBytes: 41)
        }
        #expect(throws: RouteFailure(413, "an upload of 101 bytes is larger than the 100 bytes this runtime keeps")) {
            try store.reserve(name: "b", mimeType: "x/y", sizeBytes: 101)
        }
        _ = try store.reserve(name: "b", mimeType: "x/y", sizeBytes: 40)
        store.removeAll()
        #expect(store.reservedBytes == 0)
        let many = UploadStore()
        for _ in 0..<1024 { _ = try many.reserve(name: "a", mimeType: "x/y", sizeBytes: 1) }
        #expect(throws: RouteFailure(507, "this session has 1024 uploads already")) {
            try many.reserve(name: "a", mimeType: "x/y", sizeBytes: 1)
        }
    }

    @Test("the length is checked before the first byte and after the last")
    func lengths() throws {
        let store = UploadStore()
        let id = try store.reserve(name: "a", mimeType: "x/y", sizeBytes: 3).id
        #expect(throws: RouteFailure(404, "Upload not found")) { try store.receive(id: "nope", contentLength: 3) }
        #expect(throws: RouteFailure(400, "expected 3 bytes, got 2")) { try store.receive(id: id, contentLength: 2) }
        let short = try store.receive(id: id, contentLength: nil)
        #expect([UInt8](repeating: 0, count: 2).withUnsafeBytes { short.append($0) })
        #expect(throws: RouteFailure(409, "Upload already in progress")) { try store.receive(id: id, contentLength: 3) }
        #expect(throws: RouteFailure.self) { try store.finish(short) }
        let long = try store.receive(id: id, contentLength: nil)
        #expect(![UInt8](repeating: 0, count: 4).withUnsafeBytes { long.append($0) })
        #expect(throws: RouteFailure(400, "expected 3 bytes, got 4")) { try store.finish(long) }
        let broken = try store.receive(id: id, contentLength: 3)
        broken.abandon()
        try Self.fill(store, id, [1, 2, 3])
        #expect(throws: RouteFailure(409, "Upload already completed")) { try store.receive(id: id, contentLength: 3) }
    }

    @Test("a command waits for bytes that are on their way")
    func waits() async throws {
        let store = UploadStore()
        let id = try store.reserve(name: "a", mimeType: "x/y", sizeBytes: 3).id
        await withTaskGroup(of: [UInt8]?.self) { group in
            for _ in 0..<10 { group.addTask { await store.bytes(of: id, within: .seconds(600)) } }
            group.addTask {
                try? Self.fill(store, id, [1, 2, 3])
                return [1, 2, 3]
            }
            for await bytes in group { #expect(bytes == [1, 2, 3]) }
        }
        #expect(await store.bytes(of: id) == [1, 2, 3])
    }

    @Test("the wait for an upload ends with its limit, its task, its session, and at once for an unknown id")
    func waitsEnd() async throws {
        let store = UploadStore()
        let id = try store.reserve(name: "a", mimeType: "x/y", sizeBytes: 3).id
        #expect(await store.bytes(of: "nope", within: .seconds(600)) == nil)
        #expect(await store.bytes(of: id, within: .milliseconds(20)) == nil)
        #expect(await store.bytes(of: id, within: .zero) == nil)
        let cancelled = Task { await store.bytes(of: id, within: .seconds(600)) }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        let ended = Task { await store.bytes(of: id, within: .seconds(600)) }
        #expect(await becomesTrue { store.waiterCount == 1 })
        store.removeAll()
        #expect(await ended.value == nil)
        #expect(store.waiterCount == 0)
    }

    @Test("a PUT of the session before finds no place in the next one")
    func staleReceiver() throws {
        let store = UploadStore()
        _ = try store.reserve(name: "a", mimeType: "x/y", sizeBytes: 1, id: "same")
        let stale = try store.receive(id: "same", contentLength: 1)
        store.removeAll()
        _ = try store.reserve(name: "b", mimeType: "x/y", sizeBytes: 1, id: "same")
        #expect([UInt8(1)].withUnsafeBytes { stale.append($0) })
        #expect(throws: RouteFailure(404, "Upload not found")) { try store.finish(stale) }
        stale.abandon()
        try Self.fill(store, "same", [2])
    }

    @Test(
        "the name in a path cannot lead out of it",
        arguments: [
            ("a.bin", "a.bin"), ("../../etc/passwd", "passwd"), ("..", "upload"), ("", "upload"), ("/", "upload"),
            ("C:\\x\\y.txt", "y.txt"),
            (".hidden", "hidden"), ("a\u{0}b\nc", "a_b_c"), ("a?b#c%d", "a_b_c_d"), ("größe 1.png", "größe 1.png"),
            ("x\u{202E}gpj.exe", "x_gpj.exe"),
            ("a/b/", "b"), ("../\u{301}etc/\u{301}b", "\u{301}b"), (".\u{301}x", "\u{301}x"), ("a\\\u{20DD}b", "\u{20DD}b"),
        ])
    func names(_ name: String, _ safe: String) {
        #expect(UploadStore.Upload.safeName(name) == safe)
    }

    @Test("a name of any length is cut at a whole character")
    func longNames() {
        let name = UploadStore.Upload.safeName(String(repeating: "ä", count: 1000))
        #expect(name.utf8.count <= 255 && name == String(repeating: "ä", count: 127))
    }
}
