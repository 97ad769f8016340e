import Dispatch
import PeerTestSupport
import RTCBase
import Synchronization
import Testing

@testable import Reactor

/// What a client does without any server.
@Suite(.timeLimit(.minutes(1))) struct ClientOfflineTests {
    private func code(_ body: () async throws -> Void) async -> ReactorError.Code? { await failure(body)?.code }

    private func makeClient() throws -> Reactor { try Reactor(model: "owner/name", apiURL: "http://127.0.0.1:1", local: true) }

    @Test("R-13 init throws for what cannot work, and makes nothing", arguments: ["", "a b", "a\nb"])
    func badModel(_ model: String) async {
        #expect(await code { _ = try Reactor(model: model) } == .badRequest)
        #expect(await code { _ = try await Reactor(model: model, apiKey: "rk_x", apiURL: "http://127.0.0.1:1") } == .badRequest)
    }

    @Test("R-13 a URL that is no http URL is refused", arguments: ["", "ftp://x", "not a url", "http://", "file:///etc/passwd"])
    func badURL(_ url: String) async {
        #expect(await code { _ = try Reactor(model: "owner/name", apiURL: url) } == .badRequest)
    }

    @Test("R-33, R-34, R-58, R-62 before connect: disconnected, no id, no tracks, nothing paused; T-8, T-9 kinds unknown")
    func before() throws {
        let client = try makeClient()
        #expect(client.status == .disconnected)
        #expect(client.sessionID == nil)
        #expect(client.tracks.isEmpty)
        #expect(client.pausedTracks.isEmpty)
        let track = try client.track("any")
        #expect(track.kind == nil)
        #expect(track.direction == nil)
        #expect(track.mid == nil)
        #expect(!track.paused)
    }

    @Test("R-61 before anything is declared any name is accepted; X-11 the same object each time")
    func anyName() throws {
        let client = try makeClient()
        #expect(try client.track("x") === client.track("x"))
    }

    @Test("R-24 reconnect() without a session, and X-8 calls that need a session, throw invalidState")
    func needsSession() async throws {
        let client = try makeClient()
        #expect(await code { try await client.reconnect() } == .invalidState)
        #expect(await code { try await client.sendCommand("x") } == .invalidState)
        #expect(await code { _ = try await client.requestSchema() } == .invalidState)
        #expect(await code { _ = try await client.stats() } == .invalidState)
        let track = try client.track("x")
        #expect(await code { try await track.pause() } == .invalidState)
        #expect(await code { try await track.resume() } == .invalidState)
    }

    @Test("X-2 disconnect() on a client that never connected or is closed returns")
    func disconnectIsHarmless() async throws {
        let client = try makeClient()
        try await client.disconnect()
        client.close()
        try await client.disconnect()
        #expect(client.status == .disconnected)
    }

    @Test("R-31, X-3 close() any number of times; afterwards every call throws invalidState and readings are empty")
    func closed() async throws {
        let client = try makeClient()
        let track = try client.track("x")
        client.close()
        client.close()
        #expect(client.status == .disconnected)
        #expect(client.sessionID == nil)
        #expect(client.tracks.isEmpty)
        #expect(client.pausedTracks.isEmpty)
        #expect(await code { try await client.connect() } == .invalidState)
        #expect(await code { try await client.reconnect() } == .invalidState)
        #expect(await code { try await client.sendCommand("x") } == .invalidState)
        #expect(await code { _ = try await client.requestSchema() } == .invalidState)
        #expect(await code { _ = try await client.stats() } == .invalidState)
        #expect(await code { _ = try client.track("x") } == .invalidState)
        #expect(await code { try await track.pause() } == .invalidState)
        #expect(await code { _ = try track.videoFrames } == .invalidState)
        #expect(await code { _ = try track.onFrame { (_: VideoFrame) in } } == .invalidState)
    }

    @Test("C4 every sequence ends when the client is closed")
    func closeEndsSequences() async throws {
        let client = try makeClient()
        let track = try client.track("x")
        let (statuses, errors, messages, runtime) = (client.statusUpdates, client.errors, client.messages, client.runtimeMessages)
        let (video, audio) = (try track.videoFrames, try track.audioFrames)
        let ends = Task {
            for await _ in statuses {}
            for await _ in errors {}
            for await _ in messages {}
            for await _ in runtime {}
            for await _ in video {}
            for await _ in audio {}
        }
        client.close()
        await ends.value
        // What is asked for after the end has ended as well.
        for await _ in client.statusUpdates {}
    }

    @Test("R-32, T-4, T-5, SW-10 a parked track does not keep the client; registering on it then throws invalidState")
    func weakClient() async throws {
        var client: Reactor? = try makeClient()
        weak let observed = client
        let track = try #require(try client?.track("x"))
        let frames = try track.videoFrames
        let waiting = Task { for await _ in frames {} }
        client = nil
        #expect(observed == nil)
        await waiting.value
        #expect(track.kind == nil)
        #expect(track.counters == TrackCounters(received: 0, delivered: 0, dropped: 0, pushed: 0, encoded: 0, replacedBeforeEncoding: 0))
        #expect(await code { _ = try track.onFrame { (_: VideoFrame) in } } == .invalidState)
        #expect(await code { _ = try track.onFrame { (_: AudioFrame) in } } == .invalidState)
        #expect(await code { _ = try track.onRawFrame { _ in } } == .invalidState)
        #expect(await code { try await track.pause() } == .invalidState)
    }

    @Test("LEAK-01, SW-01 the engine and the state of a released client go as well")
    func nothingStays() async throws {
        var client: Reactor? = try makeClient()
        weak let state = client?.state
        weak let engine = client?.engine
        let subscription = client?.onStatus { _ in }
        _ = try client?.track("x")
        client = nil
        #expect(await eventually { state == nil && engine == nil })
        subscription?.cancel()
    }

    @Test("T-30 onFrame and sequences throw invalidState on a track that sends, and on the wrong kind")
    func wrongTrack() async throws {
        let client = try makeClient()
        client.state.write {
            $0.declarations = [
                TrackDeclaration(name: "webcam", kind: .video, direction: .sendonly),
                TrackDeclaration(name: "main_video", kind: .video, direction: .recvonly),
                TrackDeclaration(name: "main_audio", kind: .audio, direction: .recvonly),
            ]
        }
        let (webcam, video, audio) = (try client.track("webcam"), try client.track("main_video"), try client.track("main_audio"))
        #expect(await code { _ = try webcam.onFrame { (_: VideoFrame) in } } == .invalidState)
        #expect(await code { _ = try webcam.onRawFrame { _ in } } == .invalidState)
        #expect(await code { _ = try audio.onFrame { (_: VideoFrame) in } } == .invalidState)
        #expect(await code { _ = try video.onFrame { (_: AudioFrame) in } } == .invalidState)
        #expect(await code { _ = try video.audioFrames } == .invalidState)
        #expect(await code { _ = try audio.videoFrames } == .invalidState)
        //
        #expect(await code { try await webcam.pause() } == .invalidState)
        #expect(await code { try await webcam.resume() } == .invalidState)
        //
        let unknown = #expect(throws: ReactorError.self) { try client.track("nope") }
        #expect(unknown?.code == .notFound)
        #expect(unknown?.message.contains("webcam, main_video, main_audio") == true)
        withExtendedLifetime(client) {}
    }
}
