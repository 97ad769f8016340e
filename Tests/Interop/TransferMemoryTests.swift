import Foundation
import Reactor
import Testing

extension Interop {
    /// What large files cost in memory on their way up and down.
    @Suite("Transfer memory")
    struct TransferMemoryTests {
        /// How much more memory the process had at its highest while `body` ran, in MB.
        private func peakGrowth(_ body: () async throws -> Void) async throws -> Double {
            // 5 sets the high-water mark to what is in use now.
            try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
            let before = try Self.peakKB
            try await body()
            return Double(try Self.peakKB - before) / 1024
        }

        private static var peakKB: Int {
            get throws {
                let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
                let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
                return try #require(Int(line.filter(\.isNumber)))
            }
        }

        private func makeSparse(_ file: URL, bytes: UInt64) throws {
            try Data().write(to: file)
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: bytes)
            try handle.close()
        }

        @Test("R-43 UP: 300 MB go up from the disk, with progress, in at most 16 MB of memory")
        func upload() async throws {
            try await withRuntime(["PROBE_SIZE": "160x96", "PROBE_FPS": "5"]) { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                let folder = try TemporaryFolder()
                let size = 300 << 20
                try makeSparse(folder.file("big.mp4"), bytes: UInt64(size))
                // Once before, so that what the first upload sets up for good is not counted.
                _ = try await reactor.uploadData(Data(count: 1 << 20), name: "small", mimeType: "a/b")
                let progress = Recorder<UploadProgress>()
                let begin = Stopwatch()
                let growth = try await peakGrowth {
                    let ref = try await reactor.uploadFile(at: folder.file("big.mp4"), name: nil) { progress.add($0) }
                    #expect(ref.size == size)
                }
                measured("upload_300MB", begin.milliseconds, "ms")
                measured("upload_300MB_memory", growth, "MB")
                #expect(growth <= 16)
                #expect(progress.values.last.map { $0.sent == size && $0.total == size } == true)
                #expect(progress.count >= 10)
                #expect(reactor.status == .ready)
                try await reactor.disconnect()
            }
        }

        @Test("R-50 a recording of 200 MB comes down to the disk in at most 16 MB of memory")
        func download() async throws {
            let folder = try TemporaryFolder()
            let (parts, partSize) = (25, 8 << 20)
            var playlist = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:4\n#EXT-X-MAP:URI=\"init.mp4\"\n"
            for part in 0..<parts {
                try makeSparse(folder.file("\(part).m4s"), bytes: UInt64(partSize))
                playlist += "#EXTINF:4.0,\n\(part).m4s\n"
            }
            try (playlist + "#EXT-X-ENDLIST\n").write(to: folder.file("clip.m3u8"), atomically: false, encoding: .utf8)
            try Data(count: 1000).write(to: folder.file("init.mp4"))
            let port = TestPorts.next()
            let server = try ChildProcess(
                "/usr/bin/env", ["python3", "-m", "http.server", "\(port)", "--bind", "127.0.0.1", "-d", folder.url.path])
            let payload: JSONValue = ["playlist_url": .string("http://127.0.0.1:\(port)/clip.m3u8")]
            let clip = try Clip(payload: payload)
            #expect(await eventually(within: 10) { (try? await Reactor.download(clip, to: folder.file("once.mp4"), jwt: nil)) != nil })
            let progress = Recorder<DownloadProgress>()
            let begin = Stopwatch()
            let growth = try await peakGrowth {
                let result = try await Reactor.download(clip, to: folder.file("again.mp4"), jwt: nil) { progress.add($0) }
                #expect(result.bytes == parts * partSize + 1000 && result.segments == parts)
            }
            measured("download_200MB", begin.milliseconds, "ms")
            measured("download_200MB_memory", growth, "MB")
            #expect(growth <= 16)
            #expect(progress.values.map(\.done) == Array(1...parts + 1))
            await server.terminate()
        }
    }
}
