import PeerTestSupport
import RTCBase
import RTCPeer
import RTCWire
import Synchronization
import Testing

/// Media from the peer to the consumers of a track.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct PeerMediaTests {
    private func grey(_ picture: DecodedPicture) -> Int? {
        guard let pixels = picture.bgra()?.buffer, pixels.count == picture.width * picture.height * 4 else { return nil }
        let middle = (picture.height / 2 * picture.width + picture.width / 2) * 4
        guard pixels[middle] == pixels[middle + 1], pixels[middle] == pixels[middle + 2], pixels[middle + 3] == 255 else { return nil }
        return Int(pixels[middle])
    }

    @Test("frames arrive with the right pixels, size, number and user data", arguments: [VideoCodec.vp8, .vp9])
    func pixels(_ codec: VideoCodec) async throws {
        var options = AnsweringCore.Options()
        options.videoCodec = codec
        let call = try await PeerCall(options: options)
        try #require(await call.waitUntilOpen())
        let consumer = try call.video.addVideoConsumer()
        let video = try TestVideo(codec: codec, width: 66, height: 50, carriesMetadata: true)
        for number in 0..<10 {
            let (frame, metadata) = try #require(video.next())
            await call.peer.run { $0.sendVideo(mid: PeerCall.videoMid, frame, metadata: metadata) }
            let picture = try #require(await consumer.next())
            #expect(picture.width == 66 && picture.height == 50)
            #expect(grey(picture).map(TestVideo.number) == number)
            #expect(picture.planes.metadata?.frameID == UInt64(number + 1))
            #expect(picture.planes.metadata?.captureTimeMicros == UInt64(number + 1) * 33_333)
            #expect(picture.planes.metadata?.userData == FrameUserData(Array("frame \(number + 1)".utf8)))
        }
        #expect(call.events.names.contains("media main_video"))
        let inbound = try #require(await call.connection.statistics.inbound.first { $0.track == "main_video" })
        #expect(inbound.codec == codec.rawValue)
        #expect(inbound.framesDecoded == 10)
        #expect(inbound.decodeErrors == 0)
        #expect(inbound.width == 66 && inbound.height == 50)
        await call.end()
    }

    @Test("T-37 without the attribute in the answer a trailer is not looked for")
    func noMetadata() async throws {
        var options = AnsweringCore.Options()
        options.mirrorsFrameMetadata = false
        let call = try await PeerCall(options: options)
        try #require(await call.waitUntilOpen())
        let consumer = try call.video.addVideoConsumer()
        let (frame, _) = try #require(try TestVideo().next())
        await call.peer.run { $0.sendVideo(mid: PeerCall.videoMid, frame) }
        #expect(await consumer.next()?.planes.metadata == nil)
        await call.end()
    }

    @Test("DTLS-09 a key frame that comes before our keys is kept and decodes without asking for another")
    func earlyMedia() async throws {
        var options = AnsweringCore.Options()
        options.setup = .passive
        options.holdsLastFlight = true
        // Large enough for many packets.
        options.earlyFrame = try TestVideo(width: 1280, height: 720).next()?.frame
        let call = try await PeerCall(options: options)
        let picture = try #require(await call.firstConsumer?.next())
        #expect(grey(picture).map(TestVideo.number) == 0)
        #expect(await call.peer.run { $0.keyFrameRequests } == 0)
        await call.end()
    }

    @Test("SW-09 a consumer that does not come for its frames costs neither the others nor the connection anything")
    func slowConsumer() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        let slow = try call.video.addVideoConsumer()
        let quick = try call.video.addVideoConsumer()
        let video = try TestVideo()
        for number in 0..<60 {
            let (frame, _) = try #require(video.next())
            await call.peer.run { $0.sendVideo(mid: PeerCall.videoMid, frame) }
            let picture = try #require(await quick.next())
            #expect(grey(picture).map(TestVideo.number) == number % 16)
        }
        #expect(slow.droppedCount == 59)
        #expect(try grey(#require(await slow.next())).map(TestVideo.number) == 59 % 16)
        #expect(call.events.losses.isEmpty)
        await call.end()
    }

    @Test("a frame that does not decode is counted, and a key frame is asked for and shown")
    func decoderError() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        let consumer = try call.video.addVideoConsumer()
        let video = try TestVideo()
        let (first, _) = try #require(video.next())
        await call.peer.run { $0.sendVideo(mid: PeerCall.videoMid, first) }
        _ = await consumer.next()
        // A key frame by its header, with rubbish behind: the first partition is longer than the frame.
        var broken = try #require(video.next(forceKeyFrame: true)).frame
        var bytes = Array(broken.bytes.buffer.prefix(12))
        bytes[0] |= 0xE0
        bytes[1] = 0xFF
        bytes[2] = 0xFF
        broken.bytes = MediaBytes(copying: bytes.span.bytes)
        let rubbish = broken
        await call.peer.run { $0.sendVideo(mid: PeerCall.videoMid, rubbish) }
        #expect(await eventually { await call.peer.run { $0.keyFrameRequests } > 0 })
        let inbound = await call.connection.statistics.inbound.first { $0.track == "main_video" }
        #expect(inbound?.decodeErrors == 1)
        // A frame that builds on what is lost is not shown; the key frame is.
        let (lost, _) = try #require(video.next())
        let (key, _) = try #require(video.next(forceKeyFrame: true))
        await call.peer.run {
            $0.sendVideo(mid: PeerCall.videoMid, lost)
            $0.sendVideo(mid: PeerCall.videoMid, key)
        }
        #expect(try grey(#require(await consumer.next())).map(TestVideo.number) == 3)
        await call.end()
    }

    @Test("audio comes as blocks of 480 samples every 10 ms, and the tone is the one that was sent")
    func audio() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        let consumer = try call.audio.addAudioConsumer(capacityBlocks: 200)
        let tone = try TestTone(frequency: 440)
        await call.peer.run { $0.startAudio(mid: PeerCall.audioMid, tone) }
        // Where the sender was held up there are gaps; a tenth of a second without one must be the clean tone.
        var best = 0.0
        var window: [Int16] = []
        for _ in 0..<500 where best < 0.9 {
            guard let block = await consumer.next() else { break }
            #expect(block.samples.count == 480)
            #expect(block.sampleRate == 48_000)
            #expect(block.channels == 1)
            window += block.samples
            if window.count > 4800 { window.removeFirst(480) }
            if window.count == 4800 {
                let share = TestTone.share(of: 440, in: window)
                if share > best {
                    best = share
                    #expect(share < 0.9 || TestTone.share(of: 1_000, in: window) < 0.05)
                }
            }
        }
        #expect(best >= 0.9)
        await call.end()
    }

    @Test("AUD-11 what was buffered before a pause does not play after it")
    func pausedAudio() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        let consumer = try call.audio.addAudioConsumer(capacityBlocks: 400)
        let tone = try TestTone()
        await call.peer.run { $0.startAudio(mid: PeerCall.audioMid, tone) }
        _ = await consumer.next()
        await call.connection.setReceiving(false, track: "main_audio")
        // Blocks of one turn of the playout may still be on their way.
        while case let before = consumer.queue.count, await grows(consumer.queue, beyond: before) {}
        let paused = consumer.queue.count
        await call.connection.setReceiving(true, track: "main_audio")
        #expect(await eventually { consumer.queue.count > paused })
        await call.end()
    }

    private func grows(_ queue: BacklogQueue<PCMBlock>, beyond count: Int) async -> Bool {
        await eventually(within: 0.1) { queue.count > count }
    }
}
