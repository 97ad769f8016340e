import Foundation
import PeerTestSupport
import ReactorCore
import Synchronization
import Testing

@testable import Reactor

/// Clips, recordings and their downloads (api.md R-47 to R-56, X-6, X-14; wire protocol §2.9).
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(1))) struct ClientClipTests {
    /// A place for one test's files.
    private final class Folder: Sendable {
        let url = FileManager.default.temporaryDirectory.appending(path: "reactor-clip-\(UInt64.random(in: 0 ... .max))")
        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: url) }
        var file: URL { url.appending(path: "clip.mp4") }
        var hasFile: Bool { FileManager.default.fileExists(atPath: file.path) }
        /// A download is under way.
        var hasPart: Bool { names.contains { $0.hasPrefix(".clip.mp4.") && $0.hasSuffix(".part") } }
        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? [] }
    }

    private static let parts: [String: [UInt8]] = [
        "/i.mp4": Array("init ".utf8), "/0.m4s": (0..<400_000).map { UInt8(truncatingIfNeeded: $0) }, "/1.m4s": Array("one ".utf8),
        "/2.m4s": Array("two".utf8),
    ]
    private static var whole: Data { Data(["/i.mp4", "/0.m4s", "/1.m4s", "/2.m4s"].flatMap { parts[$0] ?? [] }) }
    private static let playlist = "#EXTM3U\n#EXT-X-MAP:URI=\"/i.mp4\"\n/0.m4s\n/1.m4s\n/2.m4s\n#EXT-X-ENDLIST\n"

    private static func serve(_ request: ScriptedServer.Request) -> [ScriptedServer.Step]? {
        if request.path.hasPrefix("/clips") { return [.reply(200, playlist)] }
        return parts[request.path].map { [.reply(200, bytes: $0)] }
    }

    private func makeRuntime(
        isLocal: Bool = true, _ answer: @escaping @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]? = ClientClipTests.serve
    ) throws -> FakeRuntime {
        try FakeRuntime { options in
            options.isLocal = isLocal
            options.override = answer
            options.clip = { seconds in
                var clip = ClipReady()
                clip.sessionID = "rec-1"
                clip.kind = seconds == nil ? "recording" : "snap"
                (clip.startMarker, clip.endMarker, clip.nowMarker) = (1.3, 4.3, 4.3)
                clip.predictedReadyAtMilliseconds = 1_750_000_000_000
                clip.playlistURL = "/clips?session_id=rec-1&start=1.300&end=4.300"
                return .clipReady(clip)
            }
        }
    }

    // MARK: Requests

    @Test("R-48, R-49 a request returns when it was accepted, with the playlist resolved, and asks for nothing more")
    func requests() async throws {
        let runtime = try makeRuntime()
        let client = try runtime.client()
        try await client.connect()
        var events = client.runtimeEvents.makeAsyncIterator()
        let clip = try await client.requestClip(.milliseconds(2500))
        #expect(await events.next() == .clipReady(clip))
        #expect(clip.kind == "snap" && clip.sessionID == "rec-1" && clip.duration == .seconds(3))
        #expect(clip.playlistURL == runtime.server.url + "/clips?session_id=rec-1&start=1.300&end=4.300")
        #expect(clip.predictedReadyAt == Date(timeIntervalSince1970: 1_750_000_000))
        #expect(try await client.requestRecording().kind == "recording")
        #expect(runtime.control.contains("clip 2.5") && runtime.control.contains("recording"))
        #expect(!runtime.server.requests.contains { $0.path.hasPrefix("/clips") })
        let stored = try JSONEncoder().encode(clip)
        #expect(try JSONDecoder().decode(Clip.self, from: stored) == clip)
        try await client.disconnect()
    }

    @Test("X-6, X-8, X-21 a duration that is not positive is BAD_REQUEST; without a session it is INVALID_STATE")
    func refusals() async throws {
        let client = try Reactor(model: "owner/name", apiURL: "http://127.0.0.1:1", local: true)
        for duration in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
            #expect(await failure { try await client.requestClip(duration) }?.code == .badRequest)
        }
        #expect(await failure { try await client.requestClip(.seconds(Int64.max)) }?.code == .invalidState)
        #expect(await failure { try await client.requestRecording() }?.code == .invalidState)
    }

    @Test(
        "§8.3 a refused clip: RECORDER_DISABLED when there is no recorder, INTERNAL_ERROR otherwise",
        arguments: [("recorder disabled or encoder crashed", "RECORDER_DISABLED"), ("no media generated yet", "INTERNAL_ERROR")])
    func failed(_ reason: String, _ code: String) async throws {
        let runtime = try FakeRuntime { $0.clip = { _ in .clipFailed(reason: reason) } }
        let client = try runtime.client()
        try await client.connect()
        #expect(await failure { try await client.requestClip(.seconds(1)) }?.code.rawValue == code)
        try await client.disconnect()
    }

    // MARK: Downloads

    @Test("R-50, R-54, R-56 the file is the init section and the segments; progress counts parts, on one thread of the download's own")
    func download() async throws {
        let runtime = try makeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let folder = try Folder()
        let seen = Mutex<(marks: [DownloadProgress], threads: Set<String>)>(([], []))
        let result = try await client.download(client.requestClip(.seconds(3)), to: folder.file) { progress in
            let thread = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
            seen.withLock { seen in
                seen.marks.append(progress)
                seen.threads.insert(thread)
            }
        }
        #expect(try Data(contentsOf: folder.file) == Self.whole)
        #expect(result == DownloadResult(path: folder.file, bytes: Self.whole.count, segments: 3))
        #expect(seen.withLock { $0.marks } == (1...4).map { DownloadProgress(done: $0, total: 4) })
        #expect(seen.withLock { $0.threads } == ["rx-download\n"])
        try await client.disconnect()
    }

    @Test("X-14 202 is waited out, and each wait is an event")
    func waits() async throws {
        let asked = Counter()
        let runtime = try makeRuntime { request in
            guard request.path.hasPrefix("/clips") else { return Self.serve(request) }
            return asked.next() < 2 ? [.reply(202, headers: ["Retry-After: 0"])] : [.reply(200, Self.playlist)]
        }
        let client = try runtime.client()
        try await client.connect()
        let folder = try Folder()
        let download = client.startDownload(try await client.requestClip(.seconds(3)), to: folder.file)
        var events: [DownloadEvent] = []
        for try await event in download { events.append(event) }
        let result = DownloadResult(path: folder.file, bytes: Self.whole.count, segments: 3)
        let parts = (1...4).map { DownloadEvent.progress(DownloadProgress(done: $0, total: 4)) }
        #expect(events == [.waiting(attempt: 1), .waiting(attempt: 2)] + parts + [.finished(result)])
        #expect(try await download.result == result)
        #expect(try await client.clipData(client.requestRecording()) == Self.whole)
        try await client.disconnect()
    }

    @Test("R-51 a target that cannot be written fails before anything is asked for")
    func unwritable() async throws {
        let runtime = try makeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let clip = try await client.requestClip(.seconds(3))
        let folder = try Folder()
        for url in [folder.url.appending(path: "missing/clip.mp4"), folder.url, try #require(URL(string: "https://h/x.mp4"))] {
            let error = await failure { try await client.download(clip, to: url) }
            #expect(error?.code == .badRequest && error?.operation == "download_clip")
        }
        #expect(!runtime.server.requests.contains { $0.path.hasPrefix("/clips") })
        try await client.disconnect()
    }

    @Test("X-14 the token goes with the playlist and to its host and port, and to no other")
    func token() async throws {
        let elsewhere = try ScriptedServer { Self.serve($0) ?? [.reply(404)] }
        let runtime = try makeRuntime(isLocal: false) { request in
            guard request.path.hasPrefix("/clips") else { return Self.serve(request) }
            return [.reply(200, "#EXTM3U\n#EXT-X-MAP:URI=\"/i.mp4\"\n/1.m4s\n\(elsewhere.url)/2.m4s\n#EXT-X-ENDLIST\n")]
        }
        let client = try runtime.client(tokens: StaticToken("tok"))
        try await client.connect()
        let folder = try Folder()
        try await client.download(client.requestClip(.seconds(3)), to: folder.file)
        for path in ["/clips", "/i.mp4", "/1.m4s"] {
            let request = try #require(runtime.server.requests.first { $0.path.hasPrefix(path) })
            #expect(request.headers["authorization"] == "Bearer tok", "\(path)")
        }
        #expect(elsewhere.requests.map(\.path) == ["/2.m4s"])
        #expect(elsewhere.requests.allSatisfy { $0.headers["authorization"] == nil })
        try await client.disconnect()
    }

    @Test("HLS-07 a part that breaks off is taken back and fetched again; nothing is in the file twice")
    func brokenPart() async throws {
        let tries = Counter()
        let runtime = try makeRuntime { request in
            guard request.path == "/0.m4s", tries.next() == 0, let body = Self.parts["/0.m4s"] else { return Self.serve(request) }
            return [.text("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"), .send(Array(body.prefix(100_000))), .close]
        }
        let client = try runtime.client()
        try await client.connect()
        let folder = try Folder()
        try await client.download(client.requestClip(.seconds(3)), to: folder.file)
        #expect(try Data(contentsOf: folder.file) == Self.whole)
        #expect(try await client.clipData(client.requestRecording()) == Self.whole)
        try await client.disconnect()
    }

    @Test("HLS-03 a byte range is asked for, and an answer that ignores it is not written")
    func byteRange() async throws {
        let honours = SharedFlag(true)
        let runtime = try makeRuntime { request in
            if request.path.hasPrefix("/clips") { return [.reply(200, "#EXTM3U\n#EXT-X-BYTERANGE:4@6\n/all.ts\n#EXT-X-ENDLIST\n")] }
            guard request.path == "/all.ts" else { return nil }
            guard request.headers["range"] == "bytes=6-9" else { return [.reply(400)] }
            return honours.value ? [.reply(206, "nice")] : [.reply(200, "not a nice thing")]
        }
        let client = try runtime.client()
        try await client.connect()
        let clip = try await client.requestClip(.seconds(3))
        #expect(try await client.clipData(clip) == Data("nice".utf8))
        honours.value = false
        #expect(await failure { try await client.clipData(clip) } != nil)
        try await client.disconnect()
    }

    @Test(
        "a download that fails leaves no file", arguments: [(404, "NOT_FOUND"), (410, "BAD_REQUEST"), (500, "SERVER_ERROR")])
    func fails(_ status: Int, _ code: String) async throws {
        let runtime = try makeRuntime { request in
            request.path == "/2.m4s" ? [.reply(status, #"{"detail":"Segment not found"}"#)] : Self.serve(request)
        }
        let client = try runtime.client()
        try await client.connect()
        let folder = try Folder()
        let clip = try await client.requestClip(.seconds(3))
        let error = await failure { try await client.download(clip, to: folder.file) }
        #expect(error?.code.rawValue == code && error?.status == status && error?.operation == "download_clip")
        #expect(folder.names.isEmpty)
        try await client.disconnect()
    }

    @Test("C8 a cancelled download stops, and its file is gone when the call returns", arguments: [true, false])
    func cancelled(_ isWaiting: Bool) async throws {
        let runtime = try makeRuntime { request in
            if isWaiting, request.path.hasPrefix("/clips") { return [.reply(202)] }
            guard request.path == "/1.m4s" else { return Self.serve(request) }
            return [.text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), .silence]
        }
        let client = try runtime.client()
        try await client.connect()
        let folder = try Folder()
        let clip = try await client.requestClip(.seconds(3))
        let task = Task { try await client.download(clip, to: folder.file) }
        #expect(await eventually { runtime.server.requests.contains { $0.path.hasPrefix(isWaiting ? "/clips" : "/1.m4s") } })
        #expect(folder.hasPart && !folder.hasFile)
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(folder.names.isEmpty)
        try await client.disconnect()
    }

    @Test("R-55 closing the client fails the call with ABORTED, which says that the file may still arrive; and it does")
    func closed() async throws {
        let isHeld = SharedFlag(true)
        let runtime = try makeRuntime { request in
            guard request.path == "/1.m4s" else { return Self.serve(request) }
            while isHeld.value { usleep(1000) }
            return Self.serve(request)
        }
        let client = try runtime.client()
        try await client.connect()
        let folder = try Folder()
        let clip = try await client.requestClip(.seconds(3))
        let task = Task { try await client.download(clip, to: folder.file) }
        #expect(await eventually { runtime.server.requests.contains { $0.path == "/1.m4s" } })
        client.close()
        let error = await failure { try await task.value }
        #expect(error?.code == .aborted && error?.message.contains("may still arrive") == true)
        isHeld.value = false
        #expect(await eventually { (try? Data(contentsOf: folder.file)) == Self.whole })
        #expect(await failure { try await client.download(clip, to: folder.file) }?.code == .invalidState)
    }

    @Test("a started download outlives its client and its reader, and cancel() removes the file")
    func started() async throws {
        let isHeld = SharedFlag(true)
        let runtime = try makeRuntime { request in
            guard request.path == "/1.m4s" else { return Self.serve(request) }
            return isHeld.value ? [.silence] : Self.serve(request)
        }
        var client: Reactor? = try runtime.client()
        try await client?.connect()
        let clip = try #require(try await client?.requestClip(.seconds(3)))
        let folder = try Folder()
        let download = try #require(client?.startDownload(clip, to: folder.file))
        client = nil
        #expect(await eventually { runtime.server.requests.contains { $0.path == "/1.m4s" } })
        let waiting = Task { try await download.result }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        #expect(folder.hasPart, "only the waiting was cancelled")
        download.cancel()
        await #expect(throws: CancellationError.self) { _ = try await download.result }
        #expect(folder.names.isEmpty)
    }

    @Test("a file of that name is as it was until the download is complete", arguments: [true, false])
    func existing(_ isComplete: Bool) async throws {
        let server = try ScriptedServer { request in
            if !isComplete, request.path == "/2.m4s" { return [.reply(404)] }
            return Self.serve(request) ?? [.reply(404)]
        }
        let folder = try Folder()
        try Data("before".utf8).write(to: folder.file)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.file.path)
        let clip = try Clip(payload: ["playlist_url": .string(server.url + "/clips/x")])
        let error = await failure {
            try await Reactor.download(clip, to: folder.file, jwt: nil) { _ in
                #expect((try? Data(contentsOf: folder.file)) == Data("before".utf8))
            }
        }
        #expect((error == nil) == isComplete)
        #expect(try Data(contentsOf: folder.file) == (isComplete ? Self.whole : Data("before".utf8)))
        #expect(folder.names == ["clip.mp4"])
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file.path)[.posixPermissions] as? Int
        #expect(mode == 0o640)
    }

    @Test("a link is written through, and stays one")
    func link() async throws {
        let server = try ScriptedServer { Self.serve($0) ?? [.reply(404)] }
        let folder = try Folder()
        let target = folder.url.appending(path: "elsewhere")
        try Data("before".utf8).write(to: target)
        try FileManager.default.createSymbolicLink(at: folder.file, withDestinationURL: target)
        let clip = try Clip(payload: ["playlist_url": .string(server.url + "/clips/x")])
        _ = try await Reactor.download(clip, to: folder.file, jwt: nil)
        #expect(try Data(contentsOf: target) == Self.whole)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file.path) == target.path)
    }

    @Test("the static download needs no client: a stored clip, a token of its own")
    func withoutClient() async throws {
        let server = try ScriptedServer { Self.serve($0) ?? [.reply(404)] }
        let folder = try Folder()
        let clip = try Clip(payload: ["playlist_url": .string(server.url + "/clips/x")])
        let result = try await Reactor.download(clip, to: folder.file, jwt: "own")
        #expect(result.bytes == Self.whole.count)
        #expect(server.requests.allSatisfy { $0.headers["authorization"] == "Bearer own" })
        let late = try ScriptedServer(.reply(202, headers: ["Retry-After: 0"]))
        let never = try Clip(payload: ["playlist_url": .string(late.url)])
        let error = await failure { try await Reactor.download(never, to: folder.file, jwt: nil, readyTimeout: .milliseconds(300)) }
        #expect(error?.code == .requestTimeout)
        #expect(try Data(contentsOf: folder.file) == Self.whole, "the one before")
        #expect(folder.names == ["clip.mp4"])
    }

    @Test("B9 a payload without a playlist is no clip; odd values are left out, not trapped on")
    func payloads() throws {
        #expect(throws: ReactorError.self) { _ = try Clip(payload: [:]) }
        #expect(throws: ReactorError.self) { _ = try Clip(payload: ["playlist_url": 5]) }
        let odd = try Clip(payload: ["playlist_url": "u", "start_marker": 5, "end_marker": 1, "predicted_ready_at_ms": .number(.infinity)])
        #expect(odd.duration == nil && odd.predictedReadyAt == nil && odd.kind == nil)
        let huge = try Clip(payload: ["playlist_url": "u", "start_marker": 0, "end_marker": 1e300])
        #expect(huge.duration == nil)
        #expect(DownloadProgress(done: 1, total: 0).fraction == 0 && DownloadProgress(done: 3, total: 4).fraction == 0.75)
    }
}
