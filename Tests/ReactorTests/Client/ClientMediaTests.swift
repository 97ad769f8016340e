import Foundation
import PeerTestSupport
import Synchronization
import Testing

@testable import Reactor

/// Frames from a loopback runtime to handlers and loops.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct ClientMediaTests {
    private func connected(_ configure: (inout FakeRuntime.Options) -> Void = { _ in }) async throws -> (FakeRuntime, Reactor) {
        let runtime = try FakeRuntime(configure)
        let client = try runtime.client()
        try await client.connect()
        return (runtime, client)
    }

    private func grey(_ frame: VideoFrame) -> Int {
        let middle = (Int(frame.height) / 2 * Int(frame.width) + Int(frame.width) / 2) * 4
        return Int(frame.pixels[frame.pixels.startIndex + middle])
    }

    @Test("T-27, T-33, T-34, T-35, T-36, T-37 frames of a loop: BGRA of the right size and colour, numbered, named, with the sender's data")
    func frames() async throws {
        let (runtime, client) = try await connected()
        defer { withExtendedLifetime(runtime) {} }
        var kept: [VideoFrame] = []
        for await frame in try client.track("main_video").videoFrames {
            kept.append(frame)
            if kept.count == 10 { break }
        }
        for frame in kept {
            #expect(frame.trackName == "main_video")
            #expect(frame.width == 64 && frame.height == 48)
            #expect(frame.pixels.count == 64 * 48 * 4)
            let number = Int(frame.frameID) - 1
            #expect(TestVideo.number(grey: grey(frame)) == number % 16)
            #expect(frame.captureTimeUs == frame.frameID * 33_333)
            #expect(frame.userData == Data("frame \(frame.frameID)".utf8))
        }
        #expect(zip(kept, kept.dropFirst()).allSatisfy { $0.frameID < $1.frameID })
        // A second track at the same time, without trailers.
        var other = try client.track("depth").videoFrames.makeAsyncIterator()
        let depth = try #require(await other.next())
        #expect(depth.trackName == "depth")
        #expect(depth.width == 32)
        #expect(depth.frameID == 0 && depth.captureTimeUs == 0 && depth.userData == nil)
        try await client.disconnect()
        // SW-10, T-27: a frame outlives its connection.
        #expect(TestVideo.number(grey: grey(kept[9])) == (Int(kept[9].frameID) - 1) % 16)
    }

    @Test("R-61 handlers registered before connect() fire later, and go on after a reconnect; T-31 releasing stops them")
    func earlyHandlers() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let video = Counter()
        let audio = Counter()
        let raw = Counter()
        let track = try client.track("main_video")
        var first: Subscription? = try track.onFrame { (_: VideoFrame) in _ = video.next() }
        let second = try client.track("main_audio").onFrame { (frame: AudioFrame) in
            if frame.samples.count == 480, frame.sampleRate == 48_000, frame.channels == 1 { _ = audio.next() }
        }
        let third = try track.onRawFrame { frame in
            if frame.pixels.count == Int(frame.width * frame.height * 4), frame.trackName == "main_video", frame.userData != nil {
                _ = raw.next()
            }
        }
        try await client.connect()
        #expect(await eventually { video.value > 3 && audio.value > 3 && raw.value > 3 })
        try await client.reconnect()
        let atReconnect = video.value
        #expect(await eventually { video.value > atReconnect + 3 })
        first?.cancel()
        first = nil
        // A running call may finish; none starts after that.
        let atCancel = video.value
        let rawAtCancel = raw.value
        #expect(await eventually { raw.value > rawAtCancel + 5 })
        #expect(video.value <= atCancel + 1)
        try await client.disconnect()
        withExtendedLifetime((second, third)) {}
    }

    @Test("T-28, SW-09 a handler that blocks gets the newest frame next; other tracks, calls and the connection go on")
    func blockingHandler() async throws {
        let (runtime, client) = try await connected()
        defer { withExtendedLifetime(runtime) {} }
        let gate = DispatchSemaphore(value: 0)
        let seen = Mutex<[UInt64]>([])
        let subscription = try client.track("main_video").onFrame { (frame: VideoFrame) in
            let isFirst = seen.withLock { numbers in
                numbers.append(frame.frameID)
                return numbers.count == 1
            }
            if isFirst { gate.wait() }
        }
        #expect(await eventually { seen.withLock { !$0.isEmpty } })
        // While it blocks: the other track flows and a command is answered.
        var depth = try client.track("depth").videoFrames.makeAsyncIterator()
        for _ in 0..<30 { #expect(await depth.next() != nil) }
        #expect(try await client.sendCommand("echo", ["a": 1])?.data?["a"] == 1)
        let blocked = seen.withLock { $0 }
        #expect(blocked.count == 1)
        gate.signal()
        #expect(await eventually { seen.withLock { $0.count > 1 } })
        // What came while it blocked was replaced: the second call is many frames later.
        #expect(seen.withLock { $0[1] } > blocked[0] + 10)
        #expect(try client.track("main_video").counters.dropped > 10)
        subscription.cancel()
        try await client.disconnect()
    }

    @Test("T-29 audio that comes while a handler blocks is queued: every block arrives")
    func blockingAudio() async throws {
        let (runtime, client) = try await connected()
        defer { withExtendedLifetime(runtime) {} }
        let gate = DispatchSemaphore(value: 0)
        let count = Counter()
        let track = try client.track("main_audio")
        let subscription = try track.onFrame { (_: AudioFrame) in
            if count.next() == 0 { gate.wait() }
        }
        #expect(await eventually { count.value == 1 })
        let begin = track.counters.received
        #expect(await eventually { track.counters.received >= begin + 20 })
        #expect(count.value == 1)
        gate.signal()
        #expect(await eventually { count.value > 20 })
        #expect(track.counters.dropped == 0)
        subscription.cancel()
        try await client.disconnect()
    }

    @Test("SW-07, X-18 close() from inside a frame handler does not deadlock, and no handler starts after it")
    func closeInHandler() async throws {
        let (runtime, client) = try await connected()
        defer { withExtendedLifetime(runtime) {} }
        let after = Counter()
        let isClosed = SharedFlag(false)
        let track = try client.track("main_video")
        let subscription = try track.onFrame { (_: VideoFrame) in
            if isClosed.value { _ = after.next() }
            client.close()
            isClosed.value = true
        }
        #expect(await eventually { isClosed.value })
        #expect(client.status == .disconnected)
        var frames = try? track.videoFrames.makeAsyncIterator()
        #expect(await frames?.next() == nil)
        #expect(after.value == 0)
        withExtendedLifetime(subscription) {}
    }

    @Test("SW-07, R-62 pause() and resume() called from a frame handler's task; the names and the wire follow")
    func pauseFromHandler() async throws {
        let (runtime, client) = try await connected()
        let track = try client.track("main_video")
        let wasAsked = SharedFlag(false)
        let subscription = try track.onFrame { (_: VideoFrame) in
            guard !wasAsked.value else { return }
            wasAsked.value = true
            Task { try await track.pause() }
        }
        #expect(await eventually { runtime.control.contains("pause main_video") })
        #expect(track.paused)
        #expect(client.pausedTracks == ["main_video"])
        let resting = try client.track("depth")
        #expect(!resting.paused)
        try await track.resume()
        #expect(client.pausedTracks.isEmpty)
        #expect(await eventually { runtime.control.last == "resume main_video" })
        // It starts with a key frame and is shown.
        let before = track.counters.received
        #expect(await eventually { track.counters.received > before })
        subscription.cancel()
        try await client.disconnect()
    }

    @Test("R-60, T-6, T-30, X-7 what does not fit a track throws; unknown names are told with those that exist")
    func misuse() async throws {
        let (runtime, client) = try await connected()
        defer { withExtendedLifetime(runtime) {} }
        let unknown = #expect(throws: ReactorError.self) { try client.track("main") }
        #expect(unknown?.code == .notFound)
        #expect(unknown?.message.contains("main_video") == true)
        let webcam = try client.track("webcam")
        let error = await #expect(throws: ReactorError.self) { try await webcam.pause() }
        #expect(error?.code == .invalidState)
        #expect(throws: ReactorError.self) { try webcam.videoFrames }
        #expect(throws: ReactorError.self) { try client.track("main_audio").videoFrames }
        #expect(try client.tracks.withDirection(.sendonly).one() === webcam)
        try await client.disconnect()
    }

    @Test("stats() tells what was measured, per track")
    func statistics() async throws {
        let (runtime, client) = try await connected()
        defer { withExtendedLifetime(runtime) {} }
        var frames = try client.track("main_video").videoFrames.makeAsyncIterator()
        for _ in 0..<5 { _ = await frames.next() }
        let first = try await client.stats()
        #expect(first.incomingBitrateBPS == nil)
        #expect(first.inbound.first { $0.trackName == "main_video" }?.codec == "VP8")
        #expect(first.inbound.first { $0.trackName == "main_video" }.map { $0.framesDecoded >= 5 } == true)
        #expect(first.inbound.contains { $0.trackName == "main_audio" })
        for _ in 0..<30 { _ = await frames.next() }
        #expect(await eventually { ((try? await client.stats())?.incomingBitrateBPS).map { $0 > 0 } == true })
        try await client.disconnect()
        let error = await #expect(throws: ReactorError.self) { _ = try await client.stats() }
        #expect(error?.code == .invalidState)
    }
}
