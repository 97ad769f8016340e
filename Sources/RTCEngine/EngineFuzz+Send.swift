import RTCBase
import RTCWire

extension EngineFuzz {
    /// Lets an engine send while `bytes` decide what it is given: frames of all sizes, reports and requests about numbers near
    /// those sent and far from them, any RTCP at all, starts, stops, limits, and time. What it sends stays within a datagram
    /// and its deadlines move on.
    package static func sending(_ bytes: [UInt8]) {
        var engine = PeerEngine(
            session: sendingSession, localSSRC: 1, cname: "fuzz", pool: FrameBufferPool(maxCached: 2), send: SendSettings(seed: 5))
        var out = EngineOutputs()
        var now = MonotonicTime(milliseconds: 1000)
        var last: UInt16 = 0
        var offset = 0
        while offset + 4 <= bytes.count {
            let (kind, step, shape, length) = (bytes[offset], bytes[offset + 1], bytes[offset + 2], Int(bytes[offset + 3]))
            offset += 4
            let end = min(bytes.count, offset + length)
            let body = Array(bytes[offset..<end])
            offset = end
            now = now.adding(nanoseconds: Int64(step) * Int64(step) * 50_000)
            let section = Int(shape & 3)
            switch kind % 12 {
            case 0: engine.startSending(section: section, now: now, into: &out)
            case 1: engine.stopSending(section: section, now: now, into: &out)
            case 2, 3, 4, 5:
                let frame = EncodedFrame(
                    codec: shape & 4 == 0 ? .vp9 : .vp8,
                    bytes: MediaBytes(copying: Array(repeating: shape, count: length * length).span.bytes),
                    isKeyFrame: shape & 0x18 == 0, rtpTimestamp: UInt32(truncatingIfNeeded: now.nanoseconds / 11_111), ssrc: 0,
                    metadata: shape & 0x20 == 0 ? nil : FrameMetadata(frameID: 1, captureTimeMicros: 2, userData: FrameUserData(body)),
                    firstPacketTime: now, completeTime: now)
                engine.sendVideo(frame, section: section, now: now, into: &out)
            case 6: engine.sendAudio(body.span.bytes, rtpTimestamp: UInt32(shape) << 24, section: section, now: now, into: &out)
            case 7:
                let rate = Bitrate(bitsPerSecond: Int64(shape) << Int64(length & 31))
                engine.setBitrateLimits(BitrateLimits(min: rate, start: rate, max: rate), now: now, into: &out)
                engine.setVideoCeiling(Bitrate(bitsPerSecond: Int64(length) << 16 - 5), section: section, now: now, into: &out)
            case 8: engine.handleRTCP(body.span.bytes, now: now, into: &out)
            case 9: engine.handleTimeout(now: now, into: &out)
            default:
                let datagram = request(shape: shape, last: last, body: body, now: now)
                engine.handleRTCP(datagram.span.bytes, now: now, into: &out)
            }
            for range in out.rtpPackets {
                assert(range.count <= SendStream.maxDatagramBytes - 16)
                last = UInt16(out.rtpBytes[range.lowerBound + 2]) << 8 | UInt16(out.rtpBytes[range.lowerBound + 3])
            }
            out.removeAll()
        }
        for _ in 0..<256 {
            guard let deadline = engine.nextDeadline() else { break }
            now = max(now, deadline)
            engine.handleTimeout(now: now, into: &out)
            if let next = engine.nextDeadline() { precondition(next > now, "a deadline does not move on") }
            out.removeAll()
        }
    }

    private static func request(shape: UInt8, last: UInt16, body: [UInt8], now: MonotonicTime) -> [UInt8] {
        var writer = ByteWriter()
        let ssrc: UInt32 = shape & 8 == 0 ? 100 : 200
        switch shape >> 4 & 7 {
        case 0, 1, 2:
            GenericNACK(senderSSRC: 7, mediaSSRC: ssrc, sequenceNumbers: body.map { last &- UInt16($0) }).write(into: &writer)
        case 3: PictureLossIndication(senderSSRC: 7, mediaSSRC: ssrc).write(into: &writer)
        case 4: FullIntraRequest(senderSSRC: 7, entries: [.init(ssrc: ssrc, sequence: shape)]).write(into: &writer)
        case 5:
            let middle = NTPTimestamp(unixNanoseconds: 0).adding(nanoseconds: now.nanoseconds).middle32
            let block = ReportBlock(
                ssrc: ssrc, fractionLost: shape, cumulativeLost: Int32(shape), highestSequence: UInt32(last), jitter: 9,
                lastSR: middle &- UInt32(body.count) << 8, delaySinceLastSR: UInt32(shape))
            ReceiverReport(ssrc: 7, reports: [block, block]).write(into: &writer)
        case 6: ReceiverEstimatedMaxBitrate(senderSSRC: 7, bitrate: UInt64(shape) << 12, ssrcs: [ssrc]).write(into: &writer)
        default:
            let packets = body.map { $0 & 3 == 0 ? PacketStatus.notReceived : .received(delta250us: Int16($0) - 20) }
            TransportFeedback(
                senderSSRC: 7, mediaSSRC: ssrc, baseSequenceNumber: UInt16(shape) &- 20,
                referenceTime64ms: Int32(truncatingIfNeeded: now.nanoseconds / 64_000_000 & 0x7F_FFFF), feedbackCount: shape,
                packets: packets
            ).write(into: &writer)
        }
        return writer.bytes
    }

    private static var sendingSession: NegotiatedSession {
        var ids = HeaderExtensionIDs()
        ids.mid = 1
        ids.transportSequenceNumber = 3
        ids.absoluteSendTime = 2
        let video = NegotiatedSection(
            mid: "0", kind: .video, trackName: "v", sends: true, videoCodecs: [96: .vp8, 98: .vp9], preferredPayloadType: 98,
            rtxPayloadTypes: [97: 96, 99: 98], localSSRC: 100, localRTXSSRC: 101, extensionIDs: ids, usesNACK: true,
            usesTransportFeedback: true)
        var plain = video
        plain.mid = "a rather long name of a section"
        plain.rtxPayloadTypes = [:]
        plain.localSSRC = 200
        plain.receives = true
        let audio = NegotiatedSection(
            mid: "2", kind: .audio, trackName: "a", sends: true, preferredPayloadType: 111, opusPayloadTypes: [111], localSSRC: 300,
            extensionIDs: ids, usesTransportFeedback: true)
        return NegotiatedSession(
            usernameFragment: "", password: "", fingerprints: [], isDTLSClient: true, usesFrameMetadata: true,
            sections: [video, plain, audio])
    }
}
