import RTCBase
import RTCEngine
import RTCSimulation
import RTCWire
import Testing

@Suite("ReceiveStream")
struct ReceiveStreamTests {
    /// An engine after a first key frame, with what is needed to send it more.
    private struct Stage: ~Copyable {
        var sender: MediaSender
        var engine: PeerEngine
        var out = EngineOutputs()
        var now = start
        var timestamp: UInt32 = 90_000

        init(codec: VideoCodec = .vp8, session: NegotiatedSession = MediaSender.session(), firstSequence: UInt16 = 100) {
            sender = MediaSender(codec: codec, firstSequence: firstSequence)
            engine = MediaSender.engine(session)
        }

        mutating func frame(_ index: Int, isKeyFrame: Bool, count: Int = 3000, isNonReference: Bool = false) -> [[UInt8]] {
            timestamp &+= 3000
            return sender.packets(
                testFrame(index, isKeyFrame: isKeyFrame, count: count), isKeyFrame: isKeyFrame, timestamp: timestamp,
                isNonReference: isNonReference, now: now)
        }

        mutating func receive(_ packets: [[UInt8]], after milliseconds: Int64 = 0) {
            now = now.adding(milliseconds: milliseconds)
            for packet in packets { engine.handleRTP(packet, now: now, into: &out) }
        }

        mutating func wait(milliseconds: Int64) {
            now = now.adding(milliseconds: milliseconds)
            engine.run(until: now, into: &out)
        }

        var statistics: ReceiveStreamStatistics { engine.statistics(section: 0) ?? ReceiveStreamStatistics() }
    }

    @Test("frames come out whole, in order and once, the first packet's SSRC announced", arguments: [VideoCodec.vp8, .vp9])
    func plain(codec: VideoCodec) {
        var stage = Stage(codec: codec)
        let sizes = [5000, 1, 1120, 1116, 40_000]
        for (index, size) in sizes.enumerated() { stage.receive(stage.frame(index, isKeyFrame: index == 0, count: size), after: 33) }
        #expect(stage.out.frameBytes == sizes.enumerated().map { testFrame($0, isKeyFrame: $0 == 0, count: $1) })
        #expect(stage.out.frames.map(\.frame.isKeyFrame) == [true, false, false, false, false])
        #expect(stage.out.events == [.firstPacket(section: 0, ssrc: MediaSender.ssrc)])
        #expect(stage.out.requestedNumbers.isEmpty && stage.out.pliCount == 0)
        #expect(stage.statistics.framesAssembled == 5)
    }

    @Test("RTP-01 padding-only packets are neither loss nor frame, and do not start a stream")
    func paddingOnly() {
        var stage = Stage()
        stage.receive([stage.sender.packet([], marker: false, timestamp: 1, padding: 200)])
        #expect(stage.out.events.isEmpty)
        stage.receive(stage.frame(0, isKeyFrame: true))
        for _ in 0..<3 { stage.receive([stage.sender.packet([], marker: false, timestamp: stage.timestamp, padding: 255)]) }
        stage.receive(stage.frame(1, isKeyFrame: false), after: 33)
        var split = stage.frame(2, isKeyFrame: false, count: 1)
        // Padding in the middle of a frame as well, with a timestamp of its own.
        let first = stage.sender.packet([0x10, 0x11, 5], marker: false, timestamp: stage.timestamp &+ 3000)
        let padding = stage.sender.packet([], marker: false, timestamp: 77, padding: 9)
        let last = stage.sender.packet([0x00, 6], marker: true, timestamp: stage.timestamp &+ 3000)
        split += [first, padding, last]
        stage.receive(split, after: 33)
        stage.wait(milliseconds: 2000)
        #expect(stage.out.frames.count == 4)
        #expect(stage.out.frameBytes.last == [0x11, 5, 6])
        #expect(stage.out.requestedNumbers.isEmpty)
        #expect(stage.out.pliCount == 0)
        #expect(stage.engine.drops[.paddingOnly] == 5)
    }

    @Test("RTP-03 a lost packet is asked for once a round trip and its RTX copy completes the frame, marker and all")
    func retransmission() {
        var stage = Stage(codec: .vp9)
        stage.receive(stage.frame(0, isKeyFrame: true))
        let packets = stage.frame(1, isKeyFrame: false, count: 4000)
        stage.receive([packets[0], packets[1], packets[2]], after: 33)
        stage.receive(stage.frame(2, isKeyFrame: false), after: 33)
        let lost = UInt16(100 + 3 + 3)
        #expect(stage.out.requestedNumbers == [lost])
        #expect(stage.out.frames.count == 1)
        stage.wait(milliseconds: 60)
        #expect(stage.out.requestedNumbers == [lost])
        stage.receive([stage.sender.retransmission(of: packets[3])], after: 40)
        #expect(stage.out.frameBytes.count == 3)
        #expect(stage.out.frameBytes[1] == testFrame(1, isKeyFrame: false, count: 4000))
        #expect(stage.statistics.retransmittedReceived == 1)
        #expect(stage.statistics.packetsLost == 0)
        #expect(stage.engine.roundTripNanoseconds == 100_000_000)
    }

    @Test("RTP-08 a gap at the wrap-around asks for exactly the missing number")
    func wrap() {
        var stage = Stage(firstSequence: 65_534)
        let packets = stage.frame(0, isKeyFrame: true, count: 3300)
        #expect(packets.count == 3)
        stage.receive([packets[0], packets[2]])
        #expect(stage.out.requestedNumbers == [65_535])
        stage.receive([packets[1]])
        #expect(stage.out.frames.count == 1)
    }

    @Test("RTP-10 a leap of sequence and timestamp resets and goes on within a second")
    func leap() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: true))
        stage.sender.sequence &+= 20_000
        stage.timestamp &+= 90_000 * 40
        let before = stage.now
        for index in 1..<8 {
            let isKeyFrame = stage.out.pliCount > 0 && stage.out.frames.count == 1
            stage.receive(stage.frame(index, isKeyFrame: isKeyFrame), after: 33)
            stage.wait(milliseconds: 0)
        }
        #expect(stage.out.frames.count > 2)
        #expect(stage.out.pliCount == 1)
        #expect(stage.now.milliseconds(since: before) < 1000)
        #expect(stage.out.requestedNumbers.isEmpty)
        // One packet from far away is a stray.
        let count = stage.out.frames.count
        let sequence = stage.sender.sequence
        stage.sender.sequence &+= 10_000
        stage.receive([stage.sender.packet([0x10, 0x10], marker: true, timestamp: 5)])
        stage.sender.sequence = sequence
        stage.receive(stage.frame(8, isKeyFrame: false), after: 33)
        #expect(stage.out.frames.count == count + 1)
    }

    @Test("a gap too large to repair is skipped at once with one key-frame request")
    func outage() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: true))
        stage.sender.sequence &+= 800
        stage.receive(stage.frame(1, isKeyFrame: false), after: 3000)
        #expect(stage.out.requestedNumbers.isEmpty)
        #expect(stage.out.pliCount == 1)
        stage.receive(stage.frame(2, isKeyFrame: true), after: 150)
        #expect(stage.out.frames.count == 2)
        #expect(stage.engine.drops[.waitingForKeyFrame] == 1)
    }

    @Test("RTP-17 while no key frame comes requests keep their distance, and stop when it came")
    func requestDistance() {
        var stage = Stage()
        // Joined in the middle.
        for index in 0..<90 { stage.receive(stage.frame(index, isKeyFrame: false), after: 33); stage.wait(milliseconds: 0) }
        #expect(stage.out.frames.isEmpty)
        #expect((4...10).contains(stage.out.pliCount))
        stage.receive(stage.frame(90, isKeyFrame: true), after: 33)
        let count = stage.out.pliCount
        for index in 91..<120 { stage.receive(stage.frame(index, isKeyFrame: false), after: 33); stage.wait(milliseconds: 0) }
        #expect(stage.out.pliCount == count)
        #expect(stage.out.frames.count == 30)
    }

    @Test("RTP-17 no second request while the key frame is on its way in")
    func incomingKeyFrame() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: false))
        #expect(stage.out.pliCount == 1)
        let key = stage.frame(1, isKeyFrame: true, count: 30_000)
        for packet in key.dropLast() { stage.receive([packet], after: 20); stage.wait(milliseconds: 0) }
        #expect(stage.now.milliseconds(since: start) > 500)
        #expect(stage.out.pliCount == 1)
    }

    @Test("VID-14 a single packet with start and marker is a frame, as the first one and right after a gap")
    func singlePacketFrames() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: true, count: 50))
        #expect(stage.out.frames.count == 1)
        _ = stage.frame(1, isKeyFrame: false, count: 50)
        stage.receive(stage.frame(2, isKeyFrame: true, count: 50), after: 33)
        stage.wait(milliseconds: 20)
        #expect(stage.out.frameBytes.last == testFrame(2, isKeyFrame: true, count: 50))
    }

    @Test("a complete key frame behind a gap is shown without waiting for the repair")
    func skipAhead() {
        var stage = Stage(codec: .vp9)
        stage.receive(stage.frame(0, isKeyFrame: true))
        stage.receive(Array(stage.frame(1, isKeyFrame: false).dropFirst()), after: 33)
        stage.receive(stage.frame(2, isKeyFrame: true), after: 33)
        #expect(stage.out.frames.map(\.frame.isKeyFrame) == [true, true])
        stage.wait(milliseconds: 500)
        #expect(stage.out.requestedNumbers.count == 1)
        #expect(stage.out.pliCount == 0)
        #expect(stage.engine.drops[.incompleteFrame] == 1)
    }

    @Test("VID-17 a picture ends at its E bit, its marker, or the next timestamp")
    func pictureEnds() {
        var stage = Stage(codec: .vp9)
        let marked: [UInt8] = [0x0C, 1]
        // One packet: B and E, no marker.
        stage.receive([stage.sender.packet(marked, marker: false, timestamp: 3000)])
        #expect(stage.out.frames.count == 1)
        // B, then E without marker.
        stage.receive([stage.sender.packet([0x48, 2], marker: false, timestamp: 6000)], after: 33)
        stage.receive([stage.sender.packet([0x44, 3], marker: false, timestamp: 6000)])
        #expect(stage.out.frames.count == 2)
        // B without marker, and a layer's E that says nothing of the picture: the next picture ends it.
        stage.receive([stage.sender.packet([0x6C, 0x00, 9, 4], marker: false, timestamp: 9000)], after: 33)
        #expect(stage.out.frames.count == 2)
        stage.receive([stage.sender.packet([0x4C, 5], marker: true, timestamp: 12_000)], after: 33)
        #expect(stage.out.frameBytes == [[1], [2, 3], [4], [5]])
        // Two spatial layers, a marker on each layer frame: both come out, nothing stalls.
        stage.receive([stage.sender.packet([0x68, 0x00, 9, 6], marker: true, timestamp: 15_000)], after: 33)
        stage.receive([stage.sender.packet([0x2C | 0x40, 0x02, 9, 7], marker: true, timestamp: 15_000)])
        stage.receive([stage.sender.packet([0x4C, 8], marker: true, timestamp: 18_000)], after: 33)
        #expect(stage.out.frameBytes.last == [8])
        #expect(stage.out.frameBytes.flatMap(\.self).contains(6))
    }

    @Test("A VP9 frame whose end was never sent is no frame; the next one is waited for only when it needs what is missing")
    func torso() {
        var stage = Stage(codec: .vp9)
        // As a sender begins that flushes its queue for a second key frame: no gap in the numbers, no E, no marker.
        stage.receive([stage.sender.packet([0x08, 1], marker: false, timestamp: 3000)])
        stage.receive([stage.sender.packet([0x00, 2], marker: false, timestamp: 3000)])
        stage.receive([stage.sender.packet([0x0C, 3], marker: true, timestamp: 6000)], after: 5)
        #expect(stage.out.frameBytes == [[3]])
        #expect(stage.engine.drops[.incompleteFrame] == 1)
        stage.wait(milliseconds: 500)
        #expect(stage.out.pliCount == 0)
        // And before a frame that refers to it: a key frame is asked for.
        stage.receive([stage.sender.packet([0x48, 4], marker: false, timestamp: 9000)])
        stage.receive([stage.sender.packet([0x4C, 5], marker: true, timestamp: 12_000)], after: 33)
        stage.wait(milliseconds: 50)
        #expect(stage.out.frameBytes == [[3]])
        #expect(stage.out.pliCount == 1)
        stage.receive([stage.sender.packet([0x0C, 6], marker: true, timestamp: 15_000)], after: 33)
        #expect(stage.out.frameBytes == [[3], [6]])
    }

    @Test("VID-17 layers of one picture without markers between them are one frame")
    func spatialLayers() {
        var stage = Stage(codec: .vp9)
        stage.receive([stage.sender.packet([0x2C, 0x00, 9, 1], marker: false, timestamp: 3000)])
        stage.receive([stage.sender.packet([0x2C, 0x03, 9, 2], marker: true, timestamp: 3000)])
        #expect(stage.out.frameBytes == [[1, 2]])
        #expect(stage.out.frames.first?.frame.isKeyFrame == true)
    }

    @Test("a lost marker does not hold the frame longer than the next packet")
    func lostMarker() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: true))
        var packets = stage.frame(1, isKeyFrame: false)
        packets[packets.count - 1][1] &= 0x7F
        stage.receive(packets, after: 33)
        #expect(stage.out.frames.count == 1)
        stage.receive([stage.frame(2, isKeyFrame: false)[0]], after: 33)
        #expect(stage.out.frameBytes.last == testFrame(1, isKeyFrame: false, count: 3000))
    }

    @Test("duplicates and stragglers change nothing")
    func duplicates() {
        var stage = Stage()
        let first = stage.frame(0, isKeyFrame: true)
        stage.receive(first + first)
        let second = stage.frame(1, isKeyFrame: false)
        stage.receive([second[0], second[0], second[1], second[1]], after: 33)
        stage.receive([second[2]] + second + first, after: 3)
        #expect(stage.out.frames.count == 2)
        #expect(stage.engine.drops[.duplicatePacket] == 2)
        #expect(stage.engine.drops[.latePacket] == 3 + 3 + 3)
        #expect(stage.out.requestedNumbers.isEmpty)
    }

    @Test("every order of arrival gives the same frames", arguments: 0..<20 as Range<UInt64>)
    func anyOrder(seed: UInt64) {
        var stage = Stage(codec: .vp9)
        var generator = SplitMix64(seed: seed)
        stage.receive(stage.frame(0, isKeyFrame: true))
        var packets: [[UInt8]] = []
        for index in 1..<6 { packets += stage.frame(index, isKeyFrame: false) }
        stage.receive(packets.shuffled(using: &generator))
        #expect(stage.out.frameBytes == (0..<6).map { testFrame($0, isKeyFrame: $0 == 0, count: 3000) })
    }

    @Test("the first packets of a stream may be swapped")
    func swappedStart() {
        var stage = Stage()
        let packets = stage.frame(0, isKeyFrame: true)
        stage.receive([packets[2], packets[0], packets[1]])
        #expect(stage.out.frames.count == 1)
    }

    @Test("the first packet of a stream is asked for when it was lost, and no key frame with it", arguments: [VideoCodec.vp8, .vp9])
    func lostStart(codec: VideoCodec) {
        var stage = Stage(codec: codec)
        let packets = stage.frame(0, isKeyFrame: true)
        stage.receive(Array(packets.dropFirst()))
        stage.wait(milliseconds: 30)
        #expect(stage.out.requestedNumbers == [100])
        stage.receive([packets[0]], after: 60)
        #expect(stage.out.frames.count == 1)
        #expect(stage.out.pliCount == 0)
    }

    @Test("a stream whose beginning never comes begins with another key frame")
    func missingStart() {
        var stage = Stage()
        stage.receive(Array(stage.frame(0, isKeyFrame: true).dropFirst()))
        stage.wait(milliseconds: 400)
        #expect(stage.out.pliCount > 0)
        let asked = stage.out.requestedNumbers.count
        stage.wait(milliseconds: 2_000)
        #expect(stage.out.requestedNumbers.count == asked && asked <= 4)
        stage.receive(stage.frame(1, isKeyFrame: true))
        #expect(stage.out.frames.count == 1)
    }

    @Test("the wait for a repair is bounded by time: asked a few times, then a key frame, then given up")
    func boundedByTime() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: true))
        stage.receive(Array(stage.frame(1, isKeyFrame: false).dropFirst()), after: 33)
        var pliAt: Double?
        let noticed = stage.now
        for index in 2..<45 {
            stage.receive(stage.frame(index, isKeyFrame: false, count: 900), after: 33)
            stage.wait(milliseconds: 0)
            if stage.out.pliCount > 0, pliAt == nil { pliAt = stage.now.milliseconds(since: noticed) }
        }
        #expect((3...10).contains(stage.out.requestedNumbers.count))
        #expect(Set(stage.out.requestedNumbers) == [103])
        #expect(pliAt.map { $0 > 300 && $0 < 900 } == true)
        #expect(stage.engine.drops[.incompleteFrame] == 1)
        #expect(stage.engine.drops[.waitingForKeyFrame] > 0)
        stage.receive(stage.frame(45, isKeyFrame: true), after: 33)
        #expect(stage.out.frames.count == 2)
    }

    @Test("the wait for a repair is bounded by count as well")
    func boundedByCount() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: true))
        _ = stage.frame(1, isKeyFrame: false, count: 10)
        for index in 2..<1400 { stage.receive(stage.frame(index, isKeyFrame: index == 1300, count: 10)) }
        #expect(stage.out.frames.count >= 100)
        #expect(stage.engine.drops[.latePacket] == 0)
    }

    @Test("the last packet of a stream that goes quiet is asked for without proof")
    func tailLoss() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: true))
        let packets = stage.frame(1, isKeyFrame: false)
        stage.receive(packets.dropLast(), after: 33)
        stage.wait(milliseconds: 40)
        #expect(stage.out.requestedNumbers == [105])
        stage.receive([stage.sender.retransmission(of: packets[2])], after: 60)
        #expect(stage.out.frames.count == 2)
        stage.wait(milliseconds: 3000)
        #expect(stage.out.requestedNumbers == [105])
    }

    @Test("reordering alone leads to no request once it was seen, and to no dropped frame")
    func reordering() {
        let conditions = LinkConditions(delayMilliseconds: 20, reordering: 0.2)
        var call = LossyCall(codec: .vp9, downlink: conditions, uplink: LinkConditions(delayMilliseconds: 20), seed: 4)
        call.runLive(seconds: 6, kilobits: 4000)
        #expect(call.violations.isEmpty)
        #expect(call.deliveries.count == call.sentFrames.count)
        #expect(call.sender.pliCount == 0)
        #expect(call.sender.requested.count < 60)
    }

    @Test("VID-08 the size changes from frame to frame; VID-01 picture ids of both widths wrap")
    func sizesAndPictureIDs() {
        var stage = Stage(codec: .vp9)
        let ids: [[UInt8]] = [[126], [127], [0x80, 128], [0x80, 129], [0xFF, 0xFF], [0x80, 0], [1]]
        for (index, id) in ids.enumerated() {
            let size: UInt8 = [40, 80, 160, 20][index % 4]
            let head: UInt8 = index % 2 == 0 ? 0x8E : 0x8C
            let structure: [UInt8] = index % 2 == 0 ? [0x10, 0, size, 0, size / 2] : []
            stage.receive([stage.sender.packet([head] + id + structure + [size], marker: true, timestamp: UInt32(index) * 3000)], after: 33)
        }
        #expect(stage.out.frameBytes == [[40], [80], [160], [20], [40], [80], [160]])
    }

    @Test("VID-01 a change of picture id width does not end decodability by references")
    func pictureIDWidths() {
        var stage = Stage(codec: .vp9)
        // Key frame 126, then flexible frames that refer to the one before.
        stage.receive([stage.sender.packet([0x8C, 126, 1], marker: true, timestamp: 0)])
        stage.receive([stage.sender.packet([0xDC, 127, 0x02, 2], marker: true, timestamp: 3000)], after: 33)
        // A frame nobody saw is skipped by one that refers past it.
        _ = stage.sender.packet([0xDC, 0x80, 128, 0x02, 3], marker: true, timestamp: 6000)
        stage.receive([stage.sender.packet([0xDC, 0x80, 129, 0x04, 4], marker: true, timestamp: 9000)], after: 33)
        stage.wait(milliseconds: 15)
        #expect(stage.out.frameBytes == [[1], [2], [4]])
        // One that refers to the lost frame is not.
        stage.receive([stage.sender.packet([0xDC, 0x80, 130, 0x04, 5], marker: true, timestamp: 12_000)], after: 33)
        stage.wait(milliseconds: 100)
        #expect(stage.out.frameBytes.count == 3)
        #expect(stage.engine.drops[.waitingForKeyFrame] == 1)
    }

    @Test("VID-05 a scalability structure with picture groups is passed over exactly", arguments: [0, 1, 255])
    func scalabilityStructure(groups: Int) {
        var stage = Stage(codec: .vp9)
        var payload: [UInt8] = [0x0E, 0x18, 1, 64, 0, 180, UInt8(groups)]
        for group in 0..<groups { payload += group % 2 == 0 ? [0x04, 1] : [0x00] }
        stage.receive([stage.sender.packet(payload + [42, 43], marker: true, timestamp: 0)])
        #expect(stage.out.frameBytes == [[42, 43]])
    }

    @Test("a lost frame that nobody refers to is left out after a moment, without key frame")
    func discardable() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: true))
        let packets = stage.frame(1, isKeyFrame: false, isNonReference: true)
        stage.receive([packets[0], packets[2]], after: 33)
        stage.receive(stage.frame(2, isKeyFrame: false), after: 33)
        stage.wait(milliseconds: 1500)
        #expect(stage.out.frameBytes.last == testFrame(2, isKeyFrame: false, count: 3000))
        #expect(stage.out.frames.count == 2)
    }

    @Test("temporal layers: the base layer goes on over a lost upper frame, upper frames wait for a sync")
    func temporalLayers() {
        var stage = Stage()
        func payload(_ mark: UInt8, key: Bool = false, base: UInt8, layer: UInt8, sync: Bool = false) -> [UInt8] {
            [0x90, 0x60, base, layer << 6 | (sync ? 0x20 : 0), key ? 0x10 : 0x11, mark]
        }
        stage.receive([stage.sender.packet(payload(0, key: true, base: 7, layer: 0), marker: true, timestamp: 0)])
        stage.receive([stage.sender.packet(payload(1, base: 7, layer: 1, sync: true), marker: true, timestamp: 3000)], after: 33)
        _ = stage.sender.packet(payload(2, base: 7, layer: 1), marker: true, timestamp: 6000)
        stage.receive([stage.sender.packet(payload(3, base: 8, layer: 0), marker: true, timestamp: 9000)], after: 33)
        stage.wait(milliseconds: 15)
        stage.receive([stage.sender.packet(payload(4, base: 8, layer: 1), marker: true, timestamp: 12_000)], after: 33)
        stage.receive([stage.sender.packet(payload(5, base: 9, layer: 0), marker: true, timestamp: 15_000)], after: 33)
        stage.receive([stage.sender.packet(payload(6, base: 9, layer: 1, sync: true), marker: true, timestamp: 18_000)], after: 33)
        #expect(stage.out.frameBytes.map { $0[1] } == [0, 1, 3, 5, 6])
        #expect(stage.out.pliCount == 0)
    }

    @Test("a broken base layer stays broken until a key frame, also when its index comes round again")
    func baseLayerIndexWrap() {
        var stage = Stage(codec: .vp9)
        stage.receive(stage.frame(0, isKeyFrame: true, count: 100))
        _ = stage.frame(1, isKeyFrame: false, count: 100)
        for index in 2..<700 {
            stage.receive(stage.frame(index, isKeyFrame: false, count: 100), after: 33)
            stage.wait(milliseconds: 0)
        }
        #expect(stage.out.frames.count == 1)
    }

    @Test("frame trailers become metadata when negotiated, and stay in the frame when not", arguments: [true, false])
    func trailer(negotiated: Bool) {
        var stage = Stage(session: MediaSender.session(usesFrameMetadata: negotiated))
        let metadata = FrameMetadata(frameID: 9, captureTimeMicros: 1234, userData: FrameUserData(Array("hello".utf8)))
        var writer = ByteWriter()
        writer.write(testFrame(0, isKeyFrame: true, count: 2000))
        FrameTrailer.write(metadata, into: &writer)
        stage.receive(stage.sender.packets(writer.bytes, isKeyFrame: true, timestamp: 1, now: stage.now))
        #expect(stage.out.frames.first?.frame.metadata == (negotiated ? metadata : nil))
        #expect(stage.out.frameBytes.first == (negotiated ? testFrame(0, isKeyFrame: true, count: 2000) : writer.bytes))
    }

    @Test("a paused track stores and asks for nothing; after resuming it starts with a key frame")
    func pause() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: true))
        stage.engine.setReceiving(false, section: 0, now: stage.now)
        stage.receive(stage.frame(1, isKeyFrame: false), after: 33)
        _ = stage.frame(2, isKeyFrame: false)
        stage.receive(stage.frame(3, isKeyFrame: true), after: 33)
        stage.wait(milliseconds: 500)
        stage.engine.requestKeyFrame(section: 0, now: stage.now, into: &stage.out)
        #expect(stage.out.frames.count == 1)
        #expect(stage.out.pliCount == 0 && stage.out.requestedNumbers.isEmpty)
        stage.engine.setReceiving(true, section: 0, now: stage.now)
        stage.receive(stage.frame(4, isKeyFrame: false), after: 33)
        #expect(stage.out.pliCount == 1)
        stage.receive(stage.frame(5, isKeyFrame: true), after: 100)
        #expect(stage.out.frameBytes.last == testFrame(5, isKeyFrame: true, count: 3000))
    }

    @Test("a decoder's request is repeated until a key frame comes, delta frames notwithstanding")
    func decoderRequest() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: true))
        stage.engine.requestKeyFrame(section: 0, now: stage.now, into: &stage.out)
        #expect(stage.out.pliCount == 1)
        for index in 1..<20 { stage.receive(stage.frame(index, isKeyFrame: false), after: 33); stage.wait(milliseconds: 0) }
        #expect(stage.out.pliCount >= 2)
        #expect(stage.out.frames.count == 20)
        stage.receive(stage.frame(20, isKeyFrame: true), after: 33)
        let count = stage.out.pliCount
        stage.wait(milliseconds: 3000)
        #expect(stage.out.pliCount == count)
    }

    @Test("a new source takes over, stragglers of the old one do not take it back")
    func sourceChange() {
        var stage = Stage()
        let old = stage.frame(0, isKeyFrame: true)
        stage.receive(old)
        let late = stage.frame(1, isKeyFrame: false)
        stage.sender.ssrc = 0x3333
        stage.sender.sequence = 5
        stage.receive(stage.frame(2, isKeyFrame: true), after: 33)
        stage.receive(late, after: 1)
        stage.receive(stage.frame(3, isKeyFrame: false), after: 33)
        #expect(stage.out.frames.map(\.frame.ssrc) == [MediaSender.ssrc, 0x3333, 0x3333])
        #expect(stage.engine.drops[.unknownStream] == 3)
        #expect(stage.statistics.ssrc == 0x3333)
    }

    @Test("a broken descriptor loses its frame, not the stream")
    func brokenPayload() {
        var stage = Stage()
        stage.receive(stage.frame(0, isKeyFrame: true))
        stage.receive([stage.sender.packet([0x90, 0x80], marker: true, timestamp: 500_000)], after: 33)
        #expect(stage.engine.drops[.malformedPayload] == 1)
        stage.receive(stage.frame(1, isKeyFrame: true), after: 33)
        #expect(stage.out.frames.count == 2)
    }

    @Test("without NACK a gap waits only for reordering, then asks for a key frame; FIR when there is no PLI")
    func withoutRetransmission() {
        var stage = Stage(session: MediaSender.session(nack: false, pli: false, fir: true))
        stage.receive(stage.frame(0, isKeyFrame: true))
        stage.receive(Array(stage.frame(1, isKeyFrame: false).dropFirst()), after: 33)
        stage.wait(milliseconds: 100)
        #expect(stage.out.requestedNumbers.isEmpty)
        let sequences = stage.out.feedback.flatMap { packet -> [UInt8] in
            if case .fullIntraRequest(let request) = packet { request.entries.map(\.sequence) } else { [] }
        }
        #expect(sequences == [0])
        #expect(stage.statistics.firsSent == 1)
    }

    @Test("retransmissions of an unknown or too old packet, and probes, are counted and harmless")
    func strangeRetransmissions() {
        var stage = Stage()
        let packets = stage.frame(0, isKeyFrame: true)
        stage.receive([stage.sender.retransmission(of: packets[0])])
        #expect(stage.engine.drops[.unknownStream] == 1)
        stage.receive(packets)
        stage.receive([stage.sender.retransmission(of: packets[0])])
        #expect(stage.engine.drops[.latePacket] == 1)
        var header = RTPHeader(payloadType: 97, sequenceNumber: 1, timestamp: 0, ssrc: MediaSender.rtxSSRC)
        stage.receive([stage.sender.write(header, [], padding: 100)])
        header.sequenceNumber = 2
        stage.receive([stage.sender.write(header, [1])])
        #expect(stage.engine.drops[.malformedRetransmission] == 1)
        #expect(stage.engine.drops[.paddingOnly] == 1)
        #expect(stage.out.frames.count == 1)
    }
}
