import RTCBase

/// Reception quality of one source (RFC 3550 §6.4.1).
package struct ReportBlock: Hashable, Sendable {
    package var ssrc: UInt32
    /// Of 256, since the last report.
    package var fractionLost: UInt8
    /// 24 bits, signed: duplicates can make it negative.
    package var cumulativeLost: Int32
    /// Cycles in the upper half.
    package var highestSequence: UInt32
    /// In units of the media clock.
    package var jitter: UInt32
    /// Middle 32 bits of the last sender report's NTP time; 0 when none came.
    package var lastSR: UInt32
    /// In 1/65536 s.
    package var delaySinceLastSR: UInt32

    package init(
        ssrc: UInt32, fractionLost: UInt8, cumulativeLost: Int32, highestSequence: UInt32, jitter: UInt32, lastSR: UInt32,
        delaySinceLastSR: UInt32
    ) {
        self.ssrc = ssrc
        self.fractionLost = fractionLost
        self.cumulativeLost = cumulativeLost
        self.highestSequence = highestSequence
        self.jitter = jitter
        self.lastSR = lastSR
        self.delaySinceLastSR = delaySinceLastSR
    }

    static let byteCount = 24
    /// The count field has five bits.
    package static let maxPerReport = 31

    /// Reads `count` blocks from `offset` on; the caller has checked that they are there.
    static func read(_ body: RawSpan, at offset: Int, count: Int) -> [ReportBlock] {
        (0..<count).map { index in ReportBlock(body, at: offset + index * byteCount) }
    }

    private init(_ body: RawSpan, at offset: Int) {
        let loss = body.uint32(at: offset + 4)
        self.init(
            ssrc: body.uint32(at: offset), fractionLost: UInt8(truncatingIfNeeded: loss >> 24),
            cumulativeLost: Int32(bitPattern: loss << 8) >> 8, highestSequence: body.uint32(at: offset + 8),
            jitter: body.uint32(at: offset + 12), lastSR: body.uint32(at: offset + 16), delaySinceLastSR: body.uint32(at: offset + 20))
    }

    func write(into writer: inout ByteWriter) {
        writer.write(ssrc)
        writer.write(fractionLost)
        // Out of the 24-bit range the value sticks to the end of it (RFC 3550 A.3).
        writer.writeUInt24(UInt32(bitPattern: min(max(cumulativeLost, -0x80_0000), 0x7F_FFFF)) & 0xFF_FFFF)
        writer.write(highestSequence)
        writer.write(jitter)
        writer.write(lastSR)
        writer.write(delaySinceLastSR)
    }
}
