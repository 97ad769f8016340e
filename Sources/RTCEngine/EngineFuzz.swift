// Entries for fuzzing, compiled in every build so that they cannot rot. In: any bytes. Out: nothing; the engine must
// neither trap nor grow. The bytes steer which packets come, in which order and at what time.

import RTCBase
import RTCWire

package enum EngineFuzz {
    /// Feeds `bytes` to an engine as RTP and RTCP: whole datagrams as they are, and well-formed headers around arbitrary
    /// payloads, so that the parts behind the parsers are reached as well.
    package static func packets(_ bytes: [UInt8]) {
        var engine = PeerEngine(session: session, localSSRC: 1, cname: "fuzz", pool: FrameBufferPool(maxCached: 2))
        var out = EngineOutputs()
        var now = MonotonicTime(milliseconds: 1000)
        var offset = 0
        var sequence: UInt16 = 65_000
        var timestamp: UInt32 = 0
        while offset + 4 <= bytes.count {
            let (kind, step, shape, length) = (bytes[offset], bytes[offset + 1], bytes[offset + 2], Int(bytes[offset + 3]))
            offset += 4
            let end = min(bytes.count, offset + length)
            let body = Array(bytes[offset..<end])
            offset = end
            now = now.adding(nanoseconds: Int64(step) * Int64(step) * 100_000)
            switch kind % 8 {
            case 0: engine.handleRTP(body.span.bytes, now: now, into: &out)
            case 1: engine.handleRTCP(body.span.bytes, now: now, into: &out)
            case 2: engine.handleTimeout(now: now, into: &out)
            case 3: engine.setReceiving(shape & 1 == 0, section: Int(shape >> 1 & 3), now: now)
            case 4:
                engine.requestKeyFrame(section: Int(shape & 3), now: now, into: &out)
                engine.updateRoundTripTime(nanoseconds: Int64(step) * 10_000_000 - 1000)
            default:
                if shape & 0x10 != 0 { timestamp &+= 3000 }
                // Mostly the next number, now and then a step, a repeat or a leap.
                sequence &+= shape & 0x60 == 0 ? UInt16(kind) << 3 : 1
                if shape & 0x80 != 0 { sequence &-= UInt16(shape & 7) }
                let packet = datagram(kind: kind, shape: shape, sequence: sequence, timestamp: timestamp, body: body)
                engine.handleRTP(packet.span.bytes, now: now, into: &out)
            }
            if shape & 4 != 0 { out.removeAll() }
        }
        // Whatever happened, deadlines end.
        for _ in 0..<64 {
            guard let deadline = engine.nextDeadline() else { break }
            now = max(now, deadline)
            engine.handleTimeout(now: now, into: &out)
            out.removeAll()
        }
    }

    private static func datagram(kind: UInt8, shape: UInt8, sequence: UInt16, timestamp: UInt32, body: [UInt8]) -> [UInt8] {
        let payloadTypes: [UInt8] = [96, 98, 97, 111]
        let payloadType = payloadTypes[Int(kind >> 3) % payloadTypes.count]
        let header = RTPHeader(
            marker: shape & 1 != 0, payloadType: payloadType, sequenceNumber: sequence, timestamp: timestamp,
            ssrc: payloadType == 97 ? 9 : UInt32(payloadType))
        var writer = ByteWriter()
        header.write(into: &writer, extensions: [.transportSequenceNumber(sequence, id: 3)])
        if payloadType == 97 { writer.write(sequence &- UInt16(shape & 31)) }
        // A frame start, so that assembly goes on.
        if shape & 2 != 0 { writer.write(payloadType == 98 ? 0x08 : 0x10 as UInt8) }
        writer.write(body)
        return writer.bytes
    }

    private static var session: NegotiatedSession {
        var ids = HeaderExtensionIDs()
        ids.mid = 1
        ids.transportSequenceNumber = 3
        let video = NegotiatedSection(
            mid: "0", kind: .video, trackName: "v", receives: true, videoCodecs: [96: .vp8, 98: .vp9], rtxPayloadTypes: [97: 96],
            announcedSSRCs: [96: 9], extensionIDs: ids, usesNACK: true, usesPLI: true, usesFIR: true, usesTransportFeedback: true)
        let audio = NegotiatedSection(
            mid: "1", kind: .audio, trackName: "a", receives: true, opusPayloadTypes: [111], extensionIDs: ids,
            usesTransportFeedback: true)
        return NegotiatedSession(
            usernameFragment: "", password: "", fingerprints: [], isDTLSClient: true, usesFrameMetadata: true, sections: [video, audio])
    }
}
