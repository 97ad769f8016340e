import Foundation
import Reactor
import Testing

extension Interop {
    /// Files that go up and are used by a command.
    @Suite("Uploads")
    struct UploadTests {
        private func sha256(_ file: URL) async throws -> String {
            let (status, output) = try await ChildProcess("/usr/bin/sha256sum", [file.path]).finish()
            try #require(status == 0, "\(output)")
            return String(output.prefix { $0 != " " }.drop { $0 == "\\" })
        }

        @Test("R-43, R-45, UP-03: files and bytes arrive whole under their names, and a command takes them")
        func uploads() async throws {
            try await withRuntime(["PROBE_SIZE": "160x96", "PROBE_FPS": "5"]) { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                let folder = try TemporaryFolder()
                for (name, type, count) in [
                    ("Bär 熊.png", "image/png", 1), ("plain", "application/octet-stream", 70_000), ("big.mp4", "video/mp4", 20_000_000),
                ] {
                    let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
                    try bytes.write(to: folder.file(name))
                    let begin = Stopwatch()
                    let ref = try await reactor.uploadFile(at: folder.file(name))
                    measured("upload_\(count)", begin.milliseconds, "ms")
                    #expect(ref.name == name && ref.mimeType == type && ref.size == count)
                    let reply = try await reactor.sendCommand("set_image", uploads: ["image": ref])
                    #expect(reply?.data?["file"]?.stringValue == name)
                    #expect(reply?.data?["mime_type"]?.stringValue == type)
                    #expect(reply?.data?["size"]?.intValue == count)
                    #expect(try await reply?.data?["sha256"]?.stringValue == sha256(folder.file(name)))
                }
                let ref = try await reactor.uploadData(Data("hello world".utf8), name: "a.txt", mimeType: "text/plain")
                // §5.6: in the payload the same file goes as well.
                let inline = try await reactor.sendCommand("set_image", ["image": JSONValue(encoding: ref)])
                #expect(inline?.data?["size"]?.intValue == 11)
                try await reactor.disconnect()
            }
        }

        @Test("An upload that is cancelled half way leaves a session that takes the next one")
        func cancelled() async throws {
            try await withRuntime(["PROBE_SIZE": "160x96", "PROBE_FPS": "5"]) { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                let folder = try TemporaryFolder()
                try Data(count: 50_000_000).write(to: folder.file("big"))
                let begun = Recorder<UploadProgress>()
                let task = Task { try await reactor.uploadFile(at: folder.file("big"), name: nil) { begun.add($0) } }
                #expect(await eventually(within: 10) { begun.count > 0 })
                task.cancel()
                await #expect(throws: CancellationError.self) { _ = try await task.value }
                let ref = try await reactor.uploadData(Data([1, 2, 3]), name: "a", mimeType: "a/b")
                #expect(try await reactor.sendCommand("set_image", uploads: ["image": ref])?.data?["size"]?.intValue == 3)
                try await reactor.disconnect()
            }
        }
    }
}
