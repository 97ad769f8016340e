import Foundation
import PeerTestSupport
import RTCBase
import RTCEngine
import ReactorCore
import Synchronization
import Testing

@testable import Reactor

/// Every call that waits, cancelled where it waits, and at any other moment (api.md C8).
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(3))) struct ClientCancellationMatrixTests {
    /// Calls over the data channels that the far end leaves without an answer.
    enum Waiting: String, CaseIterable, Sendable {
        case command, typedCommand, schema, clip, recording, publish, withPublished, upload, uploadFile, clipData, download
        case waitForStatus, waitForTrack, stream, typedMessages, frames
    }

    private struct Silent: ReactorCommand { static let commandName = "silent" }
    private struct News: ReactorMessage { static let messageType = "news" }

    private static func makeRuntime(offersMedia: Bool = true) throws -> FakeRuntime {
        try FakeRuntime { options in
            options.keepsSchema = true
            options.offersMedia = offersMedia
            options.override = { request in
                if request.path.hasSuffix("/uploads") {
                    let url = "http://\(request.headers["host"] ?? "")/uploads/abc"
                    return [.reply(201, #"{"presigned_id":"abc","presigned_url":"\#(url)","path":"x"}"#)]
                }
                if request.path.hasPrefix("/uploads/") || request.path.hasSuffix(".m3u8") { return [.silence] }
                return nil
            }
        }
    }

    private static func call(_ waiting: Waiting, _ client: Reactor, _ runtime: FakeRuntime, _ folder: URL) async throws {
        let clip = try Clip(payload: ["playlist_url": .string(runtime.server.url + "/a.m3u8")])
        switch waiting {
        case .command: try await client.sendCommand("silent")
        case .typedCommand: try await client.send(Silent())
        case .schema: _ = try await client.requestSchema()
        case .clip: _ = try await client.requestClip(.seconds(1))
        case .recording: _ = try await client.requestRecording()
        case .publish: try await client.track("webcam").publish()
        case .withPublished: try await client.track("webcam").withPublished { _ in }
        case .upload: _ = try await client.uploadData(Data(count: 1000), name: "a", mimeType: "a/b")
        case .uploadFile:
            let file = folder.appending(path: "up")
            try Data(count: 1000).write(to: file)
            _ = try await client.uploadFile(at: file)
        case .clipData: _ = try await client.clipData(clip)
        case .download: _ = try await client.download(clip, to: folder.appending(path: "down"))
        case .waitForStatus: try await client.waitForStatus(.connecting)
        case .waitForTrack: _ = try await client.waitForTrack("none", timeout: .seconds(60))
        // A loop over a sequence ends in place of throwing.
        case .stream:
            for await _ in client.events {}
            try Task.checkCancellation()
        case .typedMessages:
            for await _ in client.messages(of: News.self) {}
            try Task.checkCancellation()
        case .frames:
            for await _ in try client.track("main_video").videoFrames(buffering: .bounded(2)) {}
            try Task.checkCancellation()
        }
    }

    @Test(
        "C8 a call that waits for an answer and is cancelled throws CancellationError at once; nothing of it stays, and the session goes on",
        arguments: Waiting.allCases.filter { $0 != .waitForTrack })
    func waits(_ waiting: Waiting) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "reactor-cancel-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let runtime = try Self.makeRuntime()
        let client = try runtime.client()
        try await client.connect()
        runtime.brain.answerPublish(.silence)
        let requests = runtime.server.requests.count
        let peer = try runtime.peer
        let messages = await peer.run { $0.messages.count }
        let task = Task { try await Self.call(waiting, client, runtime, folder) }
        // It waits when its request has arrived; those that ask nothing wait in the client.
        switch waiting {
        case .upload, .uploadFile, .clipData, .download:
            #expect(await eventually { runtime.server.requests.dropFirst(requests).contains { !$0.path.hasSuffix("/uploads") } })
        case .waitForStatus: #expect(await eventually { client.state.hub.statusUpdates.subscriberCount > 0 })
        case .stream: #expect(await eventually { client.state.hub.events.subscriberCount > 0 })
        case .typedMessages: #expect(await eventually { client.state.hub.messages.subscriberCount > 0 })
        case .frames: #expect(await eventually { (try? client.track("main_video").counters.delivered) ?? 0 > 0 })
        default: #expect(await eventually { await peer.run { $0.messages.count } > messages })
        }
        let began = ContinuousClock.now
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(ContinuousClock.now - began < .seconds(1))
        #expect(try client.track("webcam").published == false)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 != "up" }.isEmpty)
        #expect(await client.engine.waitingCalls == 0)
        #expect(try await client.sendCommand("echo", ["a": 1])?.data?["a"] == 1)
        try await client.disconnect()
        try await client.connect()
        #expect(client.status == .ready)
        try await client.disconnect()
    }

    @Test("C8 the exchange of a key, and an initializer that makes one, cancelled while the server says nothing", arguments: [true, false])
    func token(_ isInitializer: Bool) async throws {
        let server = try ScriptedServer { _ in [.silence] }
        let url = server.url
        let task = Task {
            if isInitializer {
                _ = try await Reactor(model: "owner/model", apiKey: "key", apiURL: url)
            } else {
                _ = try await Reactor.fetchJWT(apiKey: "key", apiURL: url)
            }
        }
        #expect(await eventually { !server.requests.isEmpty })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        server.stop()
    }

    @Test("C8 a token provider that is being asked is cancelled with the call, and the session is not asked for")
    func provider() async throws {
        let runtime = try FakeRuntime { $0.isLocal = false }
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let isSlow = SharedFlag(true)
        let client = try runtime.client(
            tokens: TokenClosure { _, _ in
                ask.yield()
                if isSlow.value { try await Task.sleep(for: .seconds(60)) }
                return "t"
            })
        let task = Task { try await client.connect() }
        for await _ in asked { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(client.status == .disconnected)
        isSlow.value = false
        try await client.connect()
        try await client.disconnect()
        // What the token was asked for did not go out without it: one session was made, and ended.
        #expect(runtime.count("POST sessions") == 1 && runtime.endCount == 1)
    }

    @Test("C8 cancelled at any moment of a whole session, nothing is left behind and a new connect works")
    func anywhere() async throws {
        // The peers of a hundred sessions would go on sending.
        let runtime = try Self.makeRuntime(offersMedia: false)
        var generator = SeededGenerator(seed: 11)
        for round in 0..<100 {
            let client = try runtime.client()
            let task = Task {
                try await client.connect()
                let webcam = try client.track("webcam")
                try await webcam.publish()
                try await client.sendCommand("echo", ["a": 1])
                try await client.track("main_video").pause()
                try await client.reconnect()
                try await client.track("main_video").resume()
                _ = try await client.stats()
                try await client.setBitrate(max: 1_000_000)
                try await webcam.withPublished { try await $0.setBitrate(max: 500_000) }
                try await client.disconnect()
            }
            // A whole session takes about 100 ms here.
            try await Task.sleep(for: .microseconds(Int.random(in: 0..<120_000, using: &generator)))
            task.cancel()
            var outcome: (any Error)?
            do { try await task.value } catch { outcome = error }
            #expect(
                outcome == nil || outcome is CancellationError, "seed 11, round \(round): \(outcome.map(String.init(describing:)) ?? "")")
            try await client.disconnect()
            #expect(client.status == .disconnected && client.sessionID == nil)
            #expect(await client.engine.waitingCalls == 0)
            // A session that came to be after its connect() was cancelled is ended by then.
            #expect(await eventually { !runtime.brain.isLive }, "seed 11, round \(round)")
            try await client.connect()
            try await client.disconnect()
        }
    }
}

extension SessionEngine {
    /// Calls over the channels that have no answer yet.
    fileprivate var waitingCalls: Int { dataCalls.count + controlCalls.count }
}
