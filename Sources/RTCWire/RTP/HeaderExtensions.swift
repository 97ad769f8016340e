import RTCBase

/// The local ids of the header extensions we use, as negotiated by `a=extmap` (RFC 8285 §5); 0 = not negotiated.
package struct HeaderExtensionIDs: Sendable, Hashable {
    package var mid: UInt8 = 0
    package var transportSequenceNumber: UInt8 = 0
    package var absoluteSendTime: UInt8 = 0
    package var streamID: UInt8 = 0
    package var repairedStreamID: UInt8 = 0
    package var audioLevel: UInt8 = 0

    package init() {}
}

/// The URIs that name these extensions in SDP.
package enum HeaderExtensionURI {
    package static let mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
    package static let transportSequenceNumber = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
    package static let absoluteSendTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
    package static let streamID = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
    package static let repairedStreamID = "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
    package static let audioLevel = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
}

/// What one packet's extension block says about the extensions we use; ranges are byte places in the packet.
///
/// Reading is tolerant and allocates nothing: a broken element ends the reading, what came before it stays (RFC 8285
/// §4.2, trap RTP-05). The payload's place never depends on it.
package struct HeaderExtensionValues: Sendable, Hashable {
    package var mid: Range<Int>?
    package var streamID: Range<Int>?
    package var repairedStreamID: Range<Int>?
    package var transportSequenceNumber: UInt16?
    /// Where the two bytes of the transport-wide number are, for a sender that fills them in at egress.
    package var transportSequenceNumberOffset: Int?
    /// 6.18 fixed-point seconds, 24 bits.
    package var absoluteSendTime: UInt32?
    package var absoluteSendTimeOffset: Int?
    /// -dBov, 0 (loudest) ... 127 (RFC 6464 §3), without the voice bit.
    package var audioLevel: UInt8?
    package var hasVoice: Bool?

    package init() {}

    package init(parsing packet: RawSpan, header: RTPHeader, ids: HeaderExtensionIDs) {
        let end = header.extensionOffset + header.extensionCount
        guard header.extensionProfile != 0, header.extensionOffset >= 0, header.extensionCount > 0, end <= packet.byteCount else { return }
        if header.extensionProfile == 0xBEDE {
            readOneByteElements(packet, from: header.extensionOffset, to: end, ids: ids)
        } else if header.extensionProfile & 0xFFF0 == 0x1000 {
            readTwoByteElements(packet, from: header.extensionOffset, to: end, ids: ids)
        }
    }

    private mutating func readOneByteElements(_ packet: RawSpan, from start: Int, to end: Int, ids: HeaderExtensionIDs) {
        var offset = start
        while offset < end {
            let head = packet.uint8(at: offset)
            if head == 0 {
                offset += 1
                continue
            }
            let id = head >> 4
            // Id 15 stops the reading; id 0 with a length is illegal and stops it too.
            guard id != 15, id != 0 else { return }
            let count = Int(head & 0x0F) + 1
            guard offset + 1 + count <= end else { return }
            take(id, packet, (offset + 1)..<(offset + 1 + count), ids)
            offset += 1 + count
        }
    }

    private mutating func readTwoByteElements(_ packet: RawSpan, from start: Int, to end: Int, ids: HeaderExtensionIDs) {
        var offset = start
        while offset < end {
            let id = packet.uint8(at: offset)
            if id == 0 {
                offset += 1
                continue
            }
            guard offset + 2 <= end else { return }
            let count = Int(packet.uint8(at: offset + 1))
            guard offset + 2 + count <= end else { return }
            take(id, packet, (offset + 2)..<(offset + 2 + count), ids)
            offset += 2 + count
        }
    }

    /// Files one element; the first of an id counts, one of a wrong size does not.
    private mutating func take(_ id: UInt8, _ packet: RawSpan, _ range: Range<Int>, _ ids: HeaderExtensionIDs) {
        guard !range.isEmpty else { return }
        if id == ids.transportSequenceNumber {
            // Version 02 of the draft appends a feedback request; the number stays in front.
            guard range.count >= 2, transportSequenceNumber == nil else { return }
            transportSequenceNumber = packet.uint16(at: range.lowerBound)
            transportSequenceNumberOffset = range.lowerBound
        } else if id == ids.mid {
            if mid == nil { mid = range }
        } else if id == ids.absoluteSendTime {
            guard range.count == 3, absoluteSendTime == nil else { return }
            absoluteSendTime = UInt32(packet.uint8(at: range.lowerBound)) << 16 | UInt32(packet.uint16(at: range.lowerBound + 1))
            absoluteSendTimeOffset = range.lowerBound
        } else if id == ids.audioLevel {
            guard audioLevel == nil else { return }
            let value = packet.uint8(at: range.lowerBound)
            audioLevel = value & 0x7F
            hasVoice = value & 0x80 != 0
        } else if id == ids.streamID {
            if streamID == nil { streamID = range }
        } else if id == ids.repairedStreamID {
            if repairedStreamID == nil { repairedStreamID = range }
        }
    }
}

/// One header extension element to write.
package struct HeaderExtension: Hashable, Sendable {
    package var id: UInt8
    package var bytes: [UInt8]

    package init(id: UInt8, bytes: [UInt8]) {
        self.id = id
        self.bytes = bytes
    }

    package static func mid(_ text: String, id: UInt8) -> HeaderExtension { HeaderExtension(id: id, bytes: Array(text.utf8)) }
    package static func transportSequenceNumber(_ number: UInt16, id: UInt8) -> HeaderExtension {
        HeaderExtension(id: id, bytes: [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)])
    }
    package static func absoluteSendTime(_ value: UInt32, id: UInt8) -> HeaderExtension {
        HeaderExtension(
            id: id,
            bytes: [UInt8(truncatingIfNeeded: value >> 16), UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)])
    }
    package static func audioLevel(_ level: UInt8, hasVoice: Bool, id: UInt8) -> HeaderExtension {
        HeaderExtension(id: id, bytes: [(hasVoice ? 0x80 : 0) | (level & 0x7F)])
    }

    /// The whole extension block: profile, length word, elements, zero padding to 32 bits.
    static func writeBlock(_ extensions: [HeaderExtension], into writer: inout ByteWriter) {
        let fitsOneByte = extensions.allSatisfy { (1...14).contains($0.id) && (1...16).contains($0.bytes.count) }
        writer.write(fitsOneByte ? 0xBEDE : 0x1000 as UInt16)
        let lengthOffset = writer.count
        writer.write(0 as UInt16)
        let start = writer.count
        for element in extensions {
            if fitsOneByte {
                writer.write(element.id << 4 | UInt8(element.bytes.count - 1))
            } else {
                writer.write(element.id)
                writer.write(UInt8(element.bytes.count))
            }
            writer.write(element.bytes)
        }
        while (writer.count - start) % 4 != 0 { writer.write(0 as UInt8) }
        writer.overwrite(UInt16(truncatingIfNeeded: (writer.count - start) / 4), at: lengthOffset)
    }
}
