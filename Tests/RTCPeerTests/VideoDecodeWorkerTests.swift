import PeerTestSupport
import RTCBase
import Testing

@testable import RTCPeer

@Suite("VideoDecodeWorker", .timeLimit(.minutes(1)))
struct VideoDecodeWorkerTests {
    @Test("a burst released by a repaired gap reaches a consumer that keeps up, not its last frame alone")
    func burst() async throws {
        let track = RemoteTrack(name: "t")
        let consumer = track.addVideoConsumer()
        let worker = VideoDecodeWorker(track: track) {}
        let video = try TestVideo()
        let frames = try (0..<20).map { _ in try #require(video.next()?.frame) }
        for frame in frames { worker.submit(frame) }
        var seen: [UInt32] = []
        while let picture = await consumer.next() {
            seen.append(picture.planes.rtpTimestamp)
            if picture.planes.rtpTimestamp == frames.last?.rtpTimestamp { break }
        }
        worker.stop()
        #expect(seen == seen.sorted())
        // All of them where the consumer's thread gets a core at once; a loaded machine may cost some.
        #expect(seen.count >= 12)
        #expect(track.counts.dropped == UInt64(20 - seen.count))
    }

    @Test("a consumer that takes nothing holds a burst up for a few milliseconds a frame, and finds the newest")
    func burstWithoutConsumer() async throws {
        let track = RemoteTrack(name: "t")
        let consumer = track.addVideoConsumer()
        let worker = VideoDecodeWorker(track: track) {}
        let video = try TestVideo()
        let frames = try (0..<20).map { _ in try #require(video.next()?.frame) }
        for frame in frames { worker.submit(frame) }
        while track.counts.received < 20 { await Task.yield() }
        worker.stop()
        #expect(track.isVideoPending)
        #expect(await consumer.next()?.planes.rtpTimestamp == frames.last?.rtpTimestamp)
        #expect(!track.isVideoPending)
        #expect(track.counts.dropped == 19)
    }
}
