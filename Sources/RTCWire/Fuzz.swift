import RTCBase

/// One entry for each parser, compiled in every build so that they cannot rot. Each takes any bytes, must not trap, and
/// gives false when a promise is broken: what was read, written and read again must be equal.
package enum WireFuzz {
    package static func demux(_ bytes: [UInt8]) -> Bool {
        _ = PacketKind.classify(bytes.span.bytes)
        return true
    }

    package static func rtp(_ bytes: [UInt8]) -> Bool {
        let packet = bytes.span.bytes
        guard let header = try? RTPHeader(parsing: packet) else { return true }
        guard header.payloadOffset + header.payloadCount + header.paddingCount == bytes.count, header.payloadCount >= 0 else {
            return false
        }
        var writer = ByteWriter()
        guard Retransmission.write(original: packet, header: header, payloadType: 97, ssrc: 1, sequenceNumber: 2, into: &writer),
            let copy = try? RTPHeader(parsing: writer.bytes.span.bytes)
        else { return false }
        return copy.payloadCount == header.payloadCount + Retransmission.headerCount && copy.timestamp == header.timestamp
            && copy.marker == header.marker && copy.extensionCount == header.extensionCount && copy.paddingCount == 0
            && Retransmission.originalSequenceNumber(packet: writer.bytes.span.bytes, header: copy) == header.sequenceNumber
    }

    package static func headerExtensions(_ bytes: [UInt8]) -> Bool {
        let packet = bytes.span.bytes
        guard let header = try? RTPHeader(parsing: packet) else { return true }
        var ids = HeaderExtensionIDs()
        (ids.mid, ids.transportSequenceNumber, ids.absoluteSendTime) = (9, 4, 2)
        (ids.streamID, ids.repairedStreamID, ids.audioLevel) = (10, 11, 14)
        let values = HeaderExtensionValues(parsing: packet, header: header, ids: ids)
        let block = header.extensionOffset..<(header.extensionOffset + header.extensionCount)
        for range in [values.mid, values.streamID, values.repairedStreamID] {
            if let range, range.clamped(to: block) != range { return false }
        }
        return true
    }

    package static func rtcp(_ bytes: [UInt8]) -> Bool {
        guard let packets = try? RTCPPacket.parseCompound(bytes.span.bytes) else { return true }
        let written = packets.filter { if case .unknown = $0 { false } else { true } }
        guard !written.isEmpty else { return true }
        var writer = ByteWriter()
        for packet in written { packet.write(into: &writer) }
        guard let again = try? RTCPPacket.parseCompound(writer.bytes.span.bytes) else { return false }
        return again == written
    }

    /// Splitting a feedback must keep every status, and the absolute time of every received packet.
    package static func transportFeedback(_ bytes: [UInt8]) -> Bool {
        guard let packets = try? RTCPPacket.parseCompound(bytes.span.bytes) else { return true }
        for case .transportFeedback(let feedback) in packets {
            let parts = feedback.split(maxBytes: 100)
            for part in parts {
                var writer = ByteWriter()
                part.write(into: &writer)
                guard writer.count <= 100 else { return false }
            }
            guard parts.flatMap({ Self.arrivals($0) }) == Self.arrivals(feedback) else { return false }
        }
        return true
    }

    /// Arrival times in 250 µs, on the 24-bit circle of the reference time; nil for a packet that did not come.
    private static func arrivals(_ feedback: TransportFeedback) -> [Int64?] {
        var time = Int64(feedback.referenceTime64ms) * 256
        return feedback.packets.map { status in
            guard case .received(let delta) = status else { return nil }
            time += Int64(delta)
            return time
        }
    }

    package static func vp8(_ bytes: [UInt8]) -> Bool {
        guard let descriptor = try? VP8Descriptor(parsing: bytes.span.bytes) else { return true }
        let data = bytes.span.bytes.extracting(descriptor.headerCount..<bytes.count)
        _ = VP8Descriptor.isKeyFrame(data)
        _ = VP8Descriptor.keyFrameSize(data)
        var writer = ByteWriter()
        descriptor.write(into: &writer)
        guard var again = try? VP8Descriptor(parsing: writer.bytes.span.bytes) else { return false }
        // The X octet and a K or T octet may be there without saying anything; they are not written then.
        guard again.headerCount == writer.count, again.headerCount <= descriptor.headerCount else { return false }
        again.headerCount = descriptor.headerCount
        return again == descriptor
    }

    package static func vp9(_ bytes: [UInt8]) -> Bool {
        guard var descriptor = try? VP9Descriptor(parsing: bytes.span.bytes) else { return true }
        guard descriptor.headerCount <= bytes.count else { return false }
        descriptor.scalabilityStructure?.pictureGroupCount = 0
        var writer = ByteWriter()
        descriptor.write(into: &writer)
        guard let again = try? VP9Descriptor(parsing: writer.bytes.span.bytes), again.headerCount == writer.count else { return false }
        descriptor.headerCount = descriptor.writtenCount
        return again == descriptor
    }

    package static func frameTrailer(_ bytes: [UInt8]) -> Bool {
        guard let (metadata, count) = FrameTrailer.parse(bytes.span.bytes) else { return true }
        guard count >= 8, count <= bytes.count else { return false }
        var writer = ByteWriter()
        FrameTrailer.write(metadata, into: &writer)
        guard let again = FrameTrailer.parse(writer.bytes.span.bytes) else { return false }
        return again.metadata == metadata && again.byteCount == writer.count
    }

    package static func sdp(_ bytes: [UInt8]) -> Bool {
        guard let description = try? SessionDescription(parsing: String(decoding: bytes, as: UTF8.self)) else { return true }
        let text = description.write()
        guard text.utf8.count <= SDPParser.maxBytes else { return true }
        guard let again = try? SessionDescription(parsing: text) else { return false }
        return again == description
    }

    package static func dcep(_ bytes: [UInt8]) -> Bool {
        guard let message = try? DCEPMessage(parsing: bytes.span.bytes) else { return true }
        return (try? DCEPMessage(parsing: message.bytes.span.bytes)) == message
    }

    /// The bytes are cut into frames by a first length byte each.
    package static func chunks(_ bytes: [UInt8]) -> Bool {
        var assembler = ChunkAssembler(maxMessageBytes: 200)
        var rest = bytes[...]
        while let length = rest.popFirst() {
            let frame = [UInt8](rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
            guard let result = try? assembler.receive(frame.span.bytes, isText: false) else { continue }
            guard result.bytes.count <= 200 else { return false }
        }
        return true
    }

    package static func stun(_ bytes: [UInt8]) -> Bool {
        guard let message = try? STUNMessage(parsing: bytes.span.bytes) else { return true }
        guard (message.integrity == nil) == (message.authenticatedBytes(of: bytes.span.bytes) == nil) else { return false }
        let tag = message.integrity
        guard let written = tag == nil ? message.bytes() : message.bytes(sign: { _ in tag }),
            let again = try? STUNMessage(parsing: written.span.bytes)
        else { return false }
        // What the sender told in this message and how it was laid out are two things.
        return again.hasFingerprint && again.bytes(sign: tag.map { tag in { _ in tag } }) == written && again.integrity == tag
            && again.username == message.username && again.role == message.role && again.mappedAddress == message.mappedAddress
    }

    /// Every entry with its name, for a driver.
    package static let all: [(name: String, run: @Sendable ([UInt8]) -> Bool)] = [
        ("demux", demux), ("rtp", rtp), ("headerExtensions", headerExtensions), ("rtcp", rtcp), ("transportFeedback", transportFeedback),
        ("vp8", vp8), ("vp9", vp9), ("frameTrailer", frameTrailer), ("sdp", sdp), ("dcep", dcep), ("chunks", chunks), ("stun", stun),
    ]
}
