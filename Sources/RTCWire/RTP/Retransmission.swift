package import RTCBase

/// The retransmission payload format (RFC 4588 §4): the original payload behind its two-byte sequence number, in a
/// stream with an SSRC, a payload type and a sequence of its own.
package enum Retransmission {
    /// Bytes of the original sequence number in front of the original payload.
    package static let headerCount = 2

    /// The original sequence number; nil when the packet carries none (an empty one only probes the path, §4).
    package static func originalSequenceNumber(packet: RawSpan, header: RTPHeader) -> UInt16? {
        guard header.payloadCount >= headerCount, header.payloadOffset >= 0,
            header.payloadOffset + headerCount <= packet.byteCount
        else { return nil }
        return packet.uint16(at: header.payloadOffset)
    }

    /// Wraps `original`: marker, timestamp, CSRCs and header extensions are copied, padding is not. False, and nothing
    /// is written, when `header` does not describe `original`.
    package static func write(
        original: RawSpan, header: RTPHeader, payloadType: UInt8, ssrc: UInt32, sequenceNumber: UInt16, into writer: inout ByteWriter
    ) -> Bool {
        guard header.payloadOffset >= RTPHeader.fixedCount, header.payloadCount >= 0,
            header.payloadOffset + header.payloadCount <= original.byteCount
        else { return false }
        writer.write(original.uint8(at: 0) & ~0x20)
        writer.write((header.marker ? 0x80 : 0) | (payloadType & 0x7F))
        writer.write(sequenceNumber)
        writer.write(header.timestamp)
        writer.write(ssrc)
        writer.write(original.extracting(RTPHeader.fixedCount..<header.payloadOffset))
        writer.write(header.sequenceNumber)
        writer.write(original.extracting(header.payloadRange))
        return true
    }
}
