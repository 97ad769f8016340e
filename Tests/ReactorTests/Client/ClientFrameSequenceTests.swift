import Foundation
import PeerTestSupport
import RTCBase
import Testing

@testable import Reactor

/// Sequences and scopes of tracks, against a loopback runtime.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct ClientFrameSequenceTests {
    @Test("C9.1 videoFrames(buffering:) keeps frames for a late consumer: so many, or all; newest keeps one")
    func buffering() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let track = try client.track("main_video")
        var bounded = try track.videoFrames(buffering: .bounded(3)).makeAsyncIterator()
        var unbounded = try track.videoFrames(buffering: .unbounded).makeAsyncIterator()
        var newest = try track.videoFrames.makeAsyncIterator()
        var least = try track.videoFrames(buffering: .bounded(-4)).makeAsyncIterator()
        try await client.connect()
        #expect(await eventually { track.counters.received >= 300 })
        try await track.pause()
        client.close()
        // The backlog outlives the client: what was decoded is still delivered.
        var all: [UInt64] = []
        while let frame = await unbounded.next() { all.append(frame.frameID) }
        #expect(all.count >= 300 && all == all.sorted() && Set(all).count == all.count)
        #expect(unbounded.droppedFrames == 0)
        var last: [UInt64] = []
        while let frame = await bounded.next() { last.append(frame.frameID) }
        #expect(last == all.suffix(3))
        #expect(bounded.droppedFrames == UInt64(all.count - 3))
        let next1 = await newest.next()
        #expect(next1?.frameID == all.last)
        let next2 = await least.next()
        #expect(next2?.frameID == all.last)
        let next3 = await least.next()
        #expect(next3 == nil)
    }

    @Test("C9.1 audioFrames(maxBacklog:) keeps as much sound as asked; X-21 any duration is taken")
    func audioBacklog() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let track = try client.track("main_audio")
        var short = try track.audioFrames(maxBacklog: .milliseconds(50)).makeAsyncIterator()
        var shortest = try track.audioFrames(maxBacklog: .seconds(-1)).makeAsyncIterator()
        _ = try track.audioFrames(maxBacklog: .seconds(Int64.max)).makeAsyncIterator()
        try await client.connect()
        #expect(await eventually { track.counters.received >= 20 })
        client.close()
        var count = 0
        while await short.next() != nil { count += 1 }
        #expect(count == 5)
        let next4 = await shortest.next()
        #expect(next4 != nil)
        let next5 = await shortest.next()
        #expect(next5 == nil)
    }

    @Test("C9.1 frames gives pictures or sound as the track turns out to be, asked for before it is known")
    func mediaFrames() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let (video, audio, never) = (
            try client.track("main_video").frames, try client.track("main_audio").frames, try client.track("depth").frames
        )
        let picture = Task { await video.first { _ in true } }
        let block = Task { await audio.first { _ in true } }
        let cancelled = Task { await never.first { _ in false } }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        try await client.connect()
        if case .video(let frame) = await picture.value { #expect(frame.width == 64) } else { Issue.record("no picture") }
        if case .audio(let frame) = await block.value { #expect(frame.samples.count == 480) } else { Issue.record("no sound") }
        #expect(throws: ReactorError.self) { try client.track("webcam").frames }
        client.close()
        #expect(await (Task { await video.first { _ in false } }).value == nil)
    }

    @Test("T-11, T-12, T-13 pausedUpdates and publishedUpdates tell each change in order, and end with the client")
    func changes() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let (webcam, main) = (try client.track("webcam"), try client.track("main_video"))
        let (published, paused) = (webcam.publishedUpdates, main.pausedUpdates)
        try await client.connect()
        for _ in 0..<3 {
            try await webcam.publish()
            try webcam.unpublish()
            try await main.pause()
            try await main.resume()
        }
        try await webcam.publish()
        try await main.pause()
        client.close()
        #expect(await published.reduce(into: []) { $0.append($1) } == [true, false, true, false, true, false, true, false])
        #expect(await paused.reduce(into: []) { $0.append($1) } == [true, false, true, false, true, false, true, false])
    }

    @Test("C9.11 withPublished gives the slot back when its body returns or throws, and leaves alone what is gone")
    func withPublished() async throws {
        struct Refusal: Error {}
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let webcam = try client.track("webcam")
        #expect(try await webcam.withPublished { $0.published })
        #expect(!webcam.published)
        await #expect(throws: Refusal.self) { try await webcam.withPublished { _ in throw Refusal() } }
        #expect(!webcam.published)
        try await webcam.withPublished { try $0.unpublish() }
        try await webcam.withPublished { _ in try await client.reconnect() }
        #expect(
            await eventually {
                runtime.publishing.suffix(5) == [
                    "publish webcam", "unpublish webcam", "publish webcam", "unpublish webcam", "publish webcam",
                ]
            })
        client.close()
    }

    @Test("C9.11 send() pushes every picture of a sequence; it ends with it, with its error, with a refusal, with its task")
    func send() async throws {
        struct Refusal: Error {}
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let webcam = try client.track("webcam")
        let picture = OutgoingVideoFrame(pixels: Data(count: 16 * 16 * 4), width: 16, height: 16)
        let (three, sink) = AsyncStream.makeStream(of: OutgoingVideoFrame.self)
        for _ in 0..<3 { sink.yield(picture) }
        sink.finish()
        await #expect(throws: ReactorError.self) { try await webcam.send(three) }
        try await webcam.publish()
        // The refused one was taken from the sequence.
        try await webcam.send(three)
        #expect(webcam.counters.pushed == 2)
        let (broken, breaker) = AsyncThrowingStream.makeStream(of: OutgoingVideoFrame.self)
        breaker.yield(picture)
        breaker.finish(throwing: Refusal())
        await #expect(throws: Refusal.self) { try await webcam.send(broken) }
        #expect(webcam.counters.pushed == 3)
        let (endless, _) = AsyncStream.makeStream(of: OutgoingVideoFrame.self)
        let task = Task { try await webcam.send(endless) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        client.close()
    }

    @Test("C9.11, T-19, T-26 a span is pushed like other memory, in any format")
    func span() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let webcam = try client.track("webcam")
        try await webcam.publish()
        let bytes = [UInt8](repeating: 7, count: 16 * 16 * 4)
        try webcam.pushFrame(bytes.span.bytes, width: 16, height: 16, userData: Data([1]))
        try webcam.pushFrame(bytes.span.bytes.extracting(first: 16 * 16 * 3 / 2), width: 16, height: 16, format: .nv12)
        #expect(webcam.counters.pushed == 2)
        #expect(throws: ReactorError.self) { try webcam.pushFrame(bytes.span.bytes, width: 16, height: 15) }
        client.close()
    }
}
