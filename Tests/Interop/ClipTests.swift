import Foundation
import Reactor
import Testing

extension Interop {
    /// Clips and recordings of the vendor's recorder, downloaded and decoded.
    @Suite("Clips")
    struct ClipTests {
        /// Frames of each stream by codec, as ffprobe decodes them; nil without ffprobe.
        private func frames(_ file: URL) async throws -> [String: Int]? {
            guard FileManager.default.isExecutableFile(atPath: "/usr/bin/ffprobe") else { return nil }
            let arguments = [
                "-v", "error", "-count_frames", "-show_entries", "stream=codec_name,nb_read_frames", "-of", "csv=p=0", file.path,
            ]
            let (status, output) = try await ChildProcess("/usr/bin/ffprobe", arguments).finish()
            try #require(status == 0, "\(output)")
            return Dictionary(
                output.split(separator: "\n").map { line in
                    let parts = line.split(separator: ",")
                    return (String(parts[0]), parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
                }, uniquingKeysWith: +)
        }

        private func streaming(_ reactor: Reactor, frames count: Int) async throws {
            let report = StreamReport()
            let track = try reactor.track("main_video")
            let watching = Task { try await report.watch(track) }
            #expect(await eventually(within: 30) { report.frames >= count })
            watching.cancel()
        }

        @Test("R-47, R-48, R-49, R-50, R-51, R-52, R-53, R-54: the last seconds and the whole session become files that decode")
        func files() async throws {
            try await withRuntime(["PROBE_SIZE": "320x192"], model: "probe-rec") { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                try await streaming(reactor, frames: 130)
                let folder = try TemporaryFolder()
                let events = Recorder<DownloadProgress>()
                let begin = Stopwatch()
                let clip = try await reactor.requestClip(.seconds(3))
                measured("clip_request", begin.milliseconds, "ms")
                #expect(clip.kind == "snap")
                #expect(clip.duration.map { $0 > .milliseconds(2900) && $0 <= .milliseconds(3001) } == true)
                let result = try await reactor.download(clip, to: folder.file("clip.mp4"), readyTimeout: .seconds(60)) { events.add($0) }
                measured("clip_ready_and_written", begin.milliseconds, "ms")
                #expect(events.values.map(\.done) == Array(1...result.segments + 1))
                #expect(try Data(contentsOf: folder.file("clip.mp4")).count == result.bytes)

                let recording = try await reactor.requestRecording()
                #expect(recording.kind == "recording" && recording.startMarker == 0)
                let whole = try await reactor.download(recording, to: folder.file("all.mp4"), readyTimeout: .seconds(60))
                #expect(whole.segments > result.segments)
                let data = try await reactor.clipData(recording)
                #expect(try data == Data(contentsOf: folder.file("all.mp4")))
                if let clipFrames = try await frames(folder.file("clip.mp4")), let allFrames = try await frames(folder.file("all.mp4")) {
                    #expect(clipFrames["h264"].map { $0 >= 90 } == true && clipFrames["aac"].map { $0 >= 100 } == true, "\(clipFrames)")
                    #expect(allFrames["h264"].map { $0 >= 120 } == true, "\(allFrames)")
                }
                try await reactor.disconnect()
            }
        }

        @Test("A recording asked for at the very end arrives after the session: its end closes the last chunk")
        func atTheEnd() async throws {
            try await withRuntime(["PROBE_SIZE": "320x192"], model: "probe-rec") { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                try await streaming(reactor, frames: 40)
                let folder = try TemporaryFolder()
                let download = reactor.startDownload(try await reactor.requestRecording(), to: folder.file("all.mp4"))
                try await reactor.disconnect()
                let begin = Stopwatch()
                let result = try await download.result
                measured("recording_after_end", begin.milliseconds, "ms")
                #expect(result.segments >= 1 && folder.has("all.mp4"))
                reactor.close()
            }
        }

        @Test("§8.3, X-15: refused, aged out and not ready in time are told apart, and leave no file")
        func failures() async throws {
            try await withRuntime(["PROBE_SIZE": "160x96"]) { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                try await streaming(reactor, frames: 5)
                await #expect(throws: ReactorError.self) { _ = try await reactor.requestClip(.seconds(1)) }
                do {
                    _ = try await reactor.requestRecording()
                    Issue.record("no error")
                } catch ReactorError.recorderDisabled {}
                try await reactor.disconnect()
            }
            try await withRuntime(["PROBE_SIZE": "160x96"], model: "probe-rec") { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                try await streaming(reactor, frames: 10)
                let folder = try TemporaryFolder()
                let clip = try await reactor.requestClip(.seconds(1))
                var payload = clip.raw.objectValue ?? [:]
                payload["predicted_ready_at_ms"] = 0
                do {
                    // Two seconds make a chunk, and it is closed when the one after it begins.
                    try await reactor.download(
                        Clip(payload: .object(payload)), to: folder.file("late.mp4"), readyTimeout: .milliseconds(300))
                    Issue.record("no error")
                } catch ReactorError.requestTimeout {}
                let other = clip.playlistURL.replacing(clip.sessionID ?? "?", with: "00000000-1111-4222-8333-444444444444")
                payload["playlist_url"] = .string(other)
                do {
                    try await reactor.download(Clip(payload: .object(payload)), to: folder.file("gone.mp4"))
                    Issue.record("no error")
                } catch let error as ReactorError {
                    #expect(error.code == .badRequest && error.status == 410)
                }
                #expect(!folder.has("late.mp4") && !folder.has("gone.mp4"))
                try await reactor.disconnect()
            }
        }
    }
}
