import PeerTestSupport
import RTCBase
import RTCTransport
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

    /// Frames 33 ms apart, the last of them complete at `end`, and each complete at once but two, so late that the picture
    /// would have stood still twice. Submitted as the decoder takes them.
    private func submitFreezes(to worker: VideoDecodeWorker, video: TestVideo, until end: MonotonicTime) async throws {
        let count = 90
        var complete = MonotonicTime(nanoseconds: 0)
        for index in 0..<count {
            var frame = try #require(video.next()?.frame)
            let arrival = end.adding(nanoseconds: -Int64(count - 1 - index) * 100_000_000 / 3)
            complete = max(complete, index == 30 || index == 60 ? arrival.adding(milliseconds: 210) : arrival)
            frame.firstPacketTime = arrival
            frame.completeTime = complete
            worker.submit(frame)
            while worker.counts.decoded <= UInt64(index) { await Task.yield() }
        }
    }

    @Test("after two freezes a picture is held for the playout delay, the next is due 33 ms later, and metadata and order stay")
    func holdsPictures() async throws {
        let track = RemoteTrack(name: "t")
        let worker = VideoDecodeWorker(track: track) {}
        let video = try TestVideo(carriesMetadata: true)
        let now = NetworkExecutor.now()
        try await submitFreezes(to: worker, video: video, until: now)
        #expect((60_000_000...70_000_000).contains(worker.counts.playoutDelayNanoseconds))
        while track.counts.received < 90 { await Task.yield() }
        let consumer = track.addVideoConsumer()
        var last: UInt32 = 0
        for index in 1...3 as ClosedRange<Int64> {
            var frame = try #require(video.next()?.frame)
            let arrival = now.adding(nanoseconds: index * 100_000_000 / 3)
            while NetworkExecutor.now() < arrival { await Task.yield() }
            frame.firstPacketTime = arrival
            frame.completeTime = arrival
            worker.submit(frame)
            let picture = try #require(await consumer.next())
            #expect(picture.planes.rtpTimestamp == frame.rtpTimestamp && picture.planes.rtpTimestamp > last)
            last = picture.planes.rtpTimestamp
            // Never sooner; how much later is the machine's affair.
            #expect(NetworkExecutor.now().milliseconds(since: arrival) >= 60)
        }
        worker.stop()
    }

    @Test("a picture that waits for its time is not shown after a stop, and the thread ends")
    func stopsWhileHolding() async throws {
        let track = RemoteTrack(name: "t")
        weak var ended: VideoDecodeWorker?
        do {
            let worker = VideoDecodeWorker(track: track) {}
            ended = worker
            let video = try TestVideo()
            try await submitFreezes(to: worker, video: video, until: NetworkExecutor.now().adding(milliseconds: 300))
            // The last of them is to be shown in more than 300 ms.
            worker.stop()
        }
        while ended != nil { await Task.yield() }
        #expect(track.counts.received < 90)
    }

    @Test("on a clean path the delay is none")
    func holdsNothing() async throws {
        let track = RemoteTrack(name: "t")
        let worker = VideoDecodeWorker(track: track) {}
        let video = try TestVideo()
        for index in 0..<60 {
            var frame = try #require(video.next()?.frame)
            frame.firstPacketTime = MonotonicTime(milliseconds: 5_000 + Int64(index) * 33)
            frame.completeTime = frame.firstPacketTime.adding(milliseconds: Int64(index % 5) * 30)
            worker.submit(frame)
            while worker.counts.decoded <= UInt64(index) { await Task.yield() }
        }
        worker.stop()
        #expect(worker.counts.playoutDelayNanoseconds == 0)
    }
}
