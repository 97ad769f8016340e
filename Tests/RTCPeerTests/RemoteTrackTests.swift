import RTCBase
import RTCPeer
import Testing

@Suite(.timeLimit(.minutes(1))) struct RemoteTrackTests {
    private let pool = FrameBufferPool()

    private func picture(_ timestamp: UInt32) -> DecodedPicture {
        var planes = PlanarFrame(width: 4, height: 2, pool: pool)
        planes.planeY.update(repeating: 235, count: planes.strideY * 2)
        planes.planeU.update(repeating: 128, count: planes.strideU)
        planes.planeV.update(repeating: 128, count: planes.strideV)
        planes.rtpTimestamp = timestamp
        planes.decodedTime = MonotonicTime(nanoseconds: Int64(timestamp))
        return DecodedPicture(planes: planes, pool: pool)
    }

    private func block(_ value: Int16) -> PCMBlock { PCMBlock(samples: [value], sampleRate: 48_000, channels: 1) }

    @Test("two consumers each get the frame, and its memory is shared")
    func twoConsumers() async throws {
        let track = RemoteTrack(name: "t")
        let one = track.addVideoConsumer()
        let other = track.addVideoConsumer()
        track.deliver(picture(1))
        let first = try #require(await one.next())
        let second = try #require(await other.next())
        #expect(first === second)
        #expect(first.bgra() === second.bgra())
        #expect(first.bgra()?.buffer.elementsEqual([UInt8](repeating: 255, count: 32)) == true)
        #expect(track.counts.received == 1)
        #expect(track.counts.delivered == 2)
    }

    @Test("a consumer that is late finds the newest frame; the replaced ones are counted, also after it is gone")
    func newestWins() async throws {
        let track = RemoteTrack(name: "t")
        do {
            let consumer = track.addVideoConsumer()
            for timestamp in 1...5 { track.deliver(picture(UInt32(timestamp))) }
            #expect(await consumer.next()?.planes.rtpTimestamp == 5)
            #expect(track.counts.dropped == 4)
        }
        #expect(track.counts.dropped == 4)
        #expect(track.firstFrameTime == MonotonicTime(nanoseconds: 1))
        track.resetFirstFrameTime()
        #expect(track.firstFrameTime == nil)
    }

    @Test("of several sources only the one whose gate is open gets through; the others' frames are counted there")
    func gate() async throws {
        let target = RemoteTrack(name: "t")
        let holder = RemoteTrack(forwardingTo: target)
        let other = RemoteTrack(forwardingTo: target)
        let video = target.addVideoConsumer()
        let audio = target.addAudioConsumer(capacityBlocks: 4)
        holder.deliver(picture(1))
        #expect(holder.counts.dropped == 1 && target.counts.received == 0)
        holder.setForwarding(true)
        other.deliver(picture(2))
        other.deliver(block(2))
        holder.deliver(picture(3))
        holder.deliver(block(3))
        #expect(holder.isVideoPending)
        #expect(await video.next()?.planes.rtpTimestamp == 3)
        #expect(await audio.next()?.samples == [3])
        #expect(other.counts.dropped == 2)
        holder.setForwarding(false)
        holder.deliver(picture(4))
        #expect(target.counts.received == 2 && !target.isVideoPending)
    }

    @Test("cancelling one consumer ends it and leaves the other")
    func cancelOne() async {
        let track = RemoteTrack(name: "t")
        let one = track.addVideoConsumer()
        let other = track.addVideoConsumer()
        let waiting = Task { await one.next() == nil }
        one.cancel()
        #expect(await waiting.value)
        track.deliver(picture(1))
        #expect(await other.next()?.planes.rtpTimestamp == 1)
        #expect(await one.next() == nil)
    }

    @Test("SW-01 a cancelled task ends its wait, and a released consumer is not kept")
    func cancelledTask() async {
        let track = RemoteTrack(name: "t")
        let waiting = Task {
            let consumer = track.addVideoConsumer()
            return await consumer.next() == nil
        }
        waiting.cancel()
        #expect(await waiting.value)
        weak var observed: RemoteTrack.VideoConsumer?
        do {
            let consumer = track.addVideoConsumer()
            observed = consumer
            #expect(observed != nil)
        }
        #expect(observed == nil)
        track.deliver(picture(1))
        #expect(track.counts.dropped == 0)
    }

    @Test("finish() ends every consumer, present and future")
    func finish() async {
        let track = RemoteTrack(name: "t")
        let video = track.addVideoConsumer()
        let audio = track.addAudioConsumer(capacityBlocks: 4)
        let waiting = Task { (await video.next() == nil, await audio.next() == nil) }
        track.finish()
        let ended = await waiting.value
        #expect(ended.0 && ended.1)
        #expect(await track.addVideoConsumer().next() == nil)
        #expect(await track.addAudioConsumer(capacityBlocks: 1).next() == nil)
    }

    @Test("T-29 audio keeps its backlog in order, and only beyond its limit the oldest go")
    func audioBacklog() async {
        let track = RemoteTrack(name: "t")
        let consumer = track.addAudioConsumer(capacityBlocks: 3)
        for value in 1...5 { track.deliver(block(Int16(value))) }
        #expect(track.counts.dropped == 2)
        track.finish()
        var values: [Int16] = []
        while let block = await consumer.next() { values += block.samples }
        #expect(values == [3, 4, 5])
    }
}
