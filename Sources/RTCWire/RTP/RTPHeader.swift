package import RTCBase

/// The fixed RTP header with the places of extension block, payload and padding in the packet (RFC 3550 §5.1, §5.3.1).
///
/// Parsing allocates nothing. The CSRC list is skipped; the extension block is kept as a byte range, because its
/// length word alone says where the payload starts, whatever the block contains.
package struct RTPHeader: Hashable, Sendable {
    package var marker: Bool
    package var payloadType: UInt8
    package var sequenceNumber: UInt16
    package var timestamp: UInt32
    package var ssrc: UInt32
    package var csrcCount: Int
    package var payloadOffset: Int
    /// Padding removed.
    package var payloadCount: Int
    /// Bytes of padding at the end, the counting byte included; 0 without the P bit.
    package var paddingCount: Int
    /// The 16 bits "defined by profile"; 0 when there is no extension block.
    package var extensionProfile: UInt16
    /// First byte after the extension's 4-byte head.
    package var extensionOffset: Int
    package var extensionCount: Int

    package static let fixedCount = 12

    /// A header to write; the places (`payloadOffset`...) describe a bare 12-byte header.
    package init(marker: Bool = false, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32) {
        self.marker = marker
        self.payloadType = payloadType & 0x7F
        self.sequenceNumber = sequenceNumber
        self.timestamp = timestamp
        self.ssrc = ssrc
        csrcCount = 0
        payloadOffset = Self.fixedCount
        payloadCount = 0
        paddingCount = 0
        extensionProfile = 0
        extensionOffset = 0
        extensionCount = 0
    }

    package init(parsing packet: RawSpan) throws(WireError) {
        let count = packet.byteCount
        guard count >= Self.fixedCount else { throw .truncated }
        let first = packet.uint8(at: 0)
        guard first >> 6 == 2 else { throw .badVersion }
        let second = packet.uint8(at: 1)
        self.init(
            marker: second & 0x80 != 0, payloadType: second & 0x7F, sequenceNumber: packet.uint16(at: 2),
            timestamp: packet.uint32(at: 4), ssrc: packet.uint32(at: 8))
        csrcCount = Int(first & 0x0F)
        var offset = Self.fixedCount + 4 * csrcCount
        if first & 0x10 != 0 {
            guard count >= offset + 4 else { throw .truncated }
            extensionProfile = packet.uint16(at: offset)
            extensionOffset = offset + 4
            extensionCount = 4 * Int(packet.uint16(at: offset + 2))
            offset = extensionOffset + extensionCount
        }
        guard count >= offset else { throw .truncated }
        if first & 0x20 != 0 {
            guard count > offset else { throw .badLength }
            paddingCount = Int(packet.uint8(at: count - 1))
            guard paddingCount >= 1, paddingCount <= count - offset else { throw .badLength }
        }
        payloadOffset = offset
        payloadCount = count - offset - paddingCount
    }

    package var payloadRange: Range<Int> { payloadOffset..<(payloadOffset + payloadCount) }

    /// Writes the header; payload and padding follow by the caller. `extensions` become a one-byte block (RFC 8285 §4.2)
    /// when they all fit that form, a two-byte block (§4.3) otherwise; what fits neither is left out.
    package func write(
        into writer: inout ByteWriter, extensions: [HeaderExtension] = [], csrcs: [UInt32] = [], hasPadding: Bool = false
    ) {
        let sources = csrcs.prefix(15)
        let usable = extensions.filter { $0.id != 0 && $0.bytes.count <= 255 }
        var first: UInt8 = 0x80 | UInt8(sources.count)
        if hasPadding { first |= 0x20 }
        if !usable.isEmpty { first |= 0x10 }
        writer.write(first)
        writer.write((marker ? 0x80 : 0) | (payloadType & 0x7F))
        writer.write(sequenceNumber)
        writer.write(timestamp)
        writer.write(ssrc)
        for source in sources { writer.write(source) }
        if !usable.isEmpty { HeaderExtension.writeBlock(usable, into: &writer) }
    }

    /// Writes the twelve fixed bytes alone; an extension block, payload and padding follow by the caller. Allocates nothing.
    package func writeFixed(hasExtensions: Bool, hasPadding: Bool = false, into writer: inout ByteWriter) {
        writer.write((0x80 | (hasPadding ? 0x20 : 0) | (hasExtensions ? 0x10 : 0)) as UInt8)
        writer.write((marker ? 0x80 : 0) | (payloadType & 0x7F))
        writer.write(sequenceNumber)
        writer.write(timestamp)
        writer.write(ssrc)
    }
}
