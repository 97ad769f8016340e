package import RTCBase

/// REMB: the receiver's estimate of what the path carries (draft-alvestrand-rmcat-remb §2.2).
package struct ReceiverEstimatedMaxBitrate: Hashable, Sendable {
    package var senderSSRC: UInt32
    /// Bits per second; 18 significant bits travel.
    package var bitrate: UInt64
    /// At most 255 are written.
    package var ssrcs: [UInt32]

    package init(senderSSRC: UInt32, bitrate: UInt64, ssrcs: [UInt32]) {
        self.senderSSRC = senderSSRC
        self.bitrate = bitrate
        self.ssrcs = ssrcs
    }

    private static let identifier: UInt32 = 0x5245_4D42  // "REMB"

    /// Nil for application layer feedback of another kind.
    init?(body: RawSpan) throws(WireError) {
        guard body.byteCount >= 8 else { throw .truncated }
        guard body.byteCount >= 12, body.uint32(at: 8) == Self.identifier else { return nil }
        guard body.byteCount >= 16 else { throw .truncated }
        let packed = body.uint32(at: 12)
        let count = Int(packed >> 24)
        guard body.byteCount >= 16 + 4 * count else { throw .truncated }
        let exponent = UInt64(packed >> 18 & 0x3F)
        let mantissa = UInt64(packed & 0x3FFFF)
        guard (mantissa << exponent) >> exponent == mantissa else { throw .badValue }
        self.init(
            senderSSRC: body.uint32(at: 0), bitrate: mantissa << exponent, ssrcs: (0..<count).map { body.uint32(at: 16 + 4 * $0) })
    }

    package func write(into writer: inout ByteWriter) {
        let sources = ssrcs.prefix(255)
        var exponent: UInt32 = 0
        while bitrate >> UInt64(exponent) > 0x3FFFF { exponent += 1 }
        let start = RTCPHead.open(RTCPType.payloadSpecificFeedback, format: 15, into: &writer)
        writer.write(senderSSRC)
        writer.write(0 as UInt32)
        writer.write(Self.identifier)
        writer.write(UInt32(sources.count) << 24 | exponent << 18 | UInt32(truncatingIfNeeded: bitrate >> UInt64(exponent)))
        for source in sources { writer.write(source) }
        RTCPHead.close(start, in: &writer)
    }
}
