import RTCBase
import RTCEngine
import RTCSimulation
import RTCWire
import Testing

/// What leaves, byte by byte.
@Suite("SendStream")
struct SendStreamTests {
    /// One section over a perfect link, with a key frame and some frames sent.
    private func makeCall(codec: VideoCodec = .vp9, rtx: Bool = true, mid: String = "0", frames: Int = 3, metadata: Bool = false)
        -> TwoPeers
    {
        // At its ceiling from the start: nothing is probed, and a frame leaves in 3 ms.
        let rate = Bitrate(bitsPerSecond: 4_000_000)
        let settings = SendSettings(limits: BitrateLimits(min: rate, start: rate, max: rate), seed: 1)
        var call = TwoPeers(settings: settings, rtx: rtx, mid: mid)
        call.encoders[0]?.codec = codec
        call.encoders[0]?.fixedBitsPerSecond = 1_000_000
        call.encoders[0]?.capturesMetadata = metadata
        call.publish()
        call.run(milliseconds: Int64(frames) * 33 + 30)
        return call
    }

    private func read(_ packet: [UInt8]) throws -> (header: RTPHeader, values: HeaderExtensionValues) {
        let header = try RTPHeader(parsing: packet.span.bytes)
        return (header, HeaderExtensionValues(parsing: packet.span.bytes, header: header, ids: TwoPeers.extensionIDs))
    }

    @Test("numbers go up by one, transport-wide numbers too, the last packet of a frame has the marker, send times are true")
    func numbering() throws {
        let call = makeCall()
        let packets = call.packets(of: 1000)
        #expect(packets.count > 8)
        #expect(packets[0].header.sequenceNumber < 0x8001)
        for (previous, next) in zip(packets, packets.dropFirst()) {
            #expect(next.header.sequenceNumber == previous.header.sequenceNumber &+ 1)
            #expect(previous.header.marker == (previous.header.timestamp != next.header.timestamp))
        }
        let transport = try call.sent.map { try read($0.bytes).values.transportSequenceNumber }
        #expect(transport == (1...transport.count).map { UInt16($0) })
        for packet in call.sent {
            let sent = try #require(try read(packet.bytes).values.absoluteSendTime)
            let seconds = Double(sent) / Double(1 << 18)
            let expected = (Double(packet.time.nanoseconds) / 1e9).truncatingRemainder(dividingBy: 64)
            #expect(abs(seconds - expected) < 0.000_01)
        }
        let stamps = packets.map(\.header.timestamp)
        #expect(Set(stamps).count == 4 && stamps[0] != UInt32(truncatingIfNeeded: start.nanoseconds / 100_000 * 9))
    }

    @Test("RTP-15 the MID is in each packet until the peer reported on the stream")
    func mid() throws {
        var call = makeCall()
        for packet in call.sent { #expect(try read(packet.bytes).values.mid.map { Array(packet.bytes[$0]) } == [0x30]) }
        #expect(call.frames[0]?.isEmpty == false)
        call.run(milliseconds: 1000)
        let last = try #require(call.packets(of: 1000).last)
        #expect(try read(last.packet.bytes).values.mid == nil)
        #expect(call.violations.isEmpty)
    }

    @Test(
        "no packet is larger than 1200 bytes with its SRTP tag, also with a long mid",
        arguments: ["0", "main_video_of_the_app", "0123456789abcdef"])
    func size(mid: String) throws {
        for codec in VideoCodec.allCases {
            let call = makeCall(codec: codec, mid: mid, metadata: true)
            let largest = call.sent.map(\.bytes.count).max() ?? 0
            #expect(largest <= 1184 && largest > 1000)
            #expect(call.violations.isEmpty && call.frames[0]?.isEmpty == false)
        }
    }

    @Test("VID-04 VID-07 our descriptors read back, VP9 is never flexible, the payload is the frame", arguments: VideoCodec.allCases)
    func descriptors(codec: VideoCodec) throws {
        let call = makeCall(codec: codec)
        var ids: [UInt16] = []
        for (header, packet) in call.packets(of: 1000) {
            #expect(header.payloadType == (codec == .vp9 ? 98 : 96))
            let payload = packet.bytes.span.bytes.extracting(header.payloadRange)
            switch codec {
            case .vp8:
                let descriptor = try VP8Descriptor(parsing: payload)
                #expect(descriptor.partitionIndex == 0 && descriptor.headerCount == 4)
                if descriptor.isStartOfPartition { ids.append(try #require(descriptor.pictureID)) }
            case .vp9:
                let descriptor = try VP9Descriptor(parsing: payload)
                #expect(!descriptor.isFlexible && descriptor.tl0PictureIndex != nil)
                if descriptor.isStartOfFrame { ids.append(try #require(descriptor.pictureID)) }
            }
        }
        #expect(ids.count >= 3)
        for (previous, next) in zip(ids, ids.dropFirst()) { #expect(next == (previous + 1) & 0x7FFF) }
        #expect(call.frames[0]?.count ?? 0 >= 3 && call.violations.isEmpty)
    }

    @Test("RTP-03 a repeat: version 2, the original number in front, a number of its own, marker and timestamp copied")
    func repeats() throws {
        var call = makeCall(frames: 2)
        let originals = call.packets(of: 1000)
        let wanted = [originals[1], originals[originals.count - 1]]
        let before = call.sent.count
        call.withSender { engine, now, out in
            var writer = ByteWriter()
            GenericNACK(senderSSRC: 1, mediaSSRC: 1000, sequenceNumbers: wanted.map(\.header.sequenceNumber)).write(into: &writer)
            engine.handleRTCP(writer.bytes.span.bytes, now: now, into: &out)
        }
        let repeats = call.sent[before...].filter { (try? RTPHeader(parsing: $0.bytes.span.bytes))?.ssrc == 2000 }
        #expect(repeats.count == 2)
        for (index, packet) in repeats.enumerated() {
            #expect(packet.bytes[0] >> 6 == 2)
            let (header, values) = try read(packet.bytes)
            let original = wanted[index]
            #expect(header.payloadType == 99 && header.ssrc == 2000)
            #expect(header.marker == original.header.marker && header.timestamp == original.header.timestamp)
            #expect(
                Retransmission.originalSequenceNumber(packet: packet.bytes.span.bytes, header: header) == original.header.sequenceNumber)
            #expect(Array(packet.bytes[header.payloadRange].dropFirst(2)) == Array(original.packet.bytes[original.header.payloadRange]))
            // A transport-wide number and a send time of its own, and the section's name.
            #expect(values.transportSequenceNumber == UInt16(before + index + 1))
            #expect(values.mid != nil && values.absoluteSendTime != nil)
        }
        let numbers = try repeats.map { try read($0.bytes).header.sequenceNumber }
        #expect(numbers[1] == numbers[0] &+ 1)
    }

    @Test("SRTP-04 without RTX a repeat is the same packet, bit for bit")
    func repeatsWithoutRTX() throws {
        var call = makeCall(rtx: false, frames: 2)
        let original = call.packets(of: 1000)[2]
        let before = call.sent.count
        call.withSender { engine, now, out in
            var writer = ByteWriter()
            GenericNACK(senderSSRC: 1, mediaSSRC: 1000, sequenceNumbers: [original.header.sequenceNumber]).write(into: &writer)
            engine.handleRTCP(writer.bytes.span.bytes, now: now, into: &out)
        }
        #expect(call.sent.count == before + 1)
        #expect(call.sent.last?.bytes == original.packet.bytes)
    }

    @Test("a number is repeated at most once per round trip; what was never sent or is too old not at all")
    func repeatDistance() throws {
        var call = makeCall(frames: 2)
        let number = call.packets(of: 1000)[1].header.sequenceNumber
        func ask(_ numbers: [UInt16]) -> Int {
            let before = call.sent.count
            call.withSender { engine, now, out in
                var writer = ByteWriter()
                GenericNACK(senderSSRC: 1, mediaSSRC: 1000, sequenceNumbers: numbers).write(into: &writer)
                engine.handleRTCP(writer.bytes.span.bytes, now: now, into: &out)
            }
            return call.sent[before...].count { (try? RTPHeader(parsing: $0.bytes.span.bytes))?.ssrc == 2000 }
        }
        call.encoders[0]?.isOn = false
        var answers = [ask([number, number]), ask([number]), ask([number &+ 500, number &- 500])]
        call.run(milliseconds: 60)
        answers.append(ask([number]))
        call.run(milliseconds: 1200)
        answers.append(ask([number]))
        #expect(answers == [1, 0, 0, 1, 0])
        let statisticsFound = call.sender.sendStatistics(section: 0)
        let statistics = try #require(statisticsFound)
        #expect(statistics.nacksReceived == 5 && statistics.retransmittedPackets == 2)
    }

    @Test("a frame that may not be sent is refused: before the start, before a key frame, of a codec not negotiated, too large")
    func refusals() {
        let rate = Bitrate(bitsPerSecond: 4_000_000)
        var call = TwoPeers(settings: SendSettings(limits: BitrateLimits(min: rate, start: rate, max: rate)))
        let delta = SyntheticFrame.bytes(number: 1, codec: .vp9, isKeyFrame: false, count: 100)
        func send(_ bytes: [UInt8], isKeyFrame: Bool, section: Int = 0) {
            call.withSender { engine, now, out in
                engine.sendVideo(
                    TwoPeers.frame(bytes, codec: .vp9, isKeyFrame: isKeyFrame, captured: now), section: section, now: now, into: &out)
            }
        }
        send(delta, isKeyFrame: true)
        send(delta, isKeyFrame: true, section: 7)
        send(delta, isKeyFrame: true, section: -1)
        call.withSender { engine, now, out in
            engine.sendAudio([1, 2].span.bytes, rtpTimestamp: 0, section: 0, now: now, into: &out)
        }
        #expect(call.sent.isEmpty)
        call.publish()
        send(delta, isKeyFrame: false)
        #expect(call.sent.isEmpty && call.keyFrameRequests.count == 1)
        send([UInt8](repeating: 0, count: 4_000_001), isKeyFrame: true)
        send([], isKeyFrame: true)
        #expect(call.sent.isEmpty)
        send(delta, isKeyFrame: true)
        send(delta, isKeyFrame: false)
        #expect(call.sent.count == 2)
        #expect(call.sender.sendStatistics(section: 0)?.framesDropped == 3)
        #expect(call.sender.sendStatistics(section: 5) == nil)
        #expect(call.receiver.sendStatistics(section: 0) == nil)
    }

    @Test("a trailer comes out at the other end")
    func trailer() throws {
        let call = makeCall(metadata: true)
        let frame = try #require(call.frames[0]?.first)
        #expect(frame.metadata?.frameID == frame.number + 1)
        #expect(frame.metadata?.captureTimeMicros == UInt64(frame.capturedAt.nanoseconds / 1000))
        #expect(frame.metadata?.userData == [1, 2, 3])
        #expect(call.violations.isEmpty)
    }
}
