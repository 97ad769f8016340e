// Frames that no codec made: a payload header that depacketizers look at, the frame's number, and bytes computed from
// it, so that a receiver can tell which frame it got and that each byte is right.

package import RTCBase

package enum SyntheticFrame {
    /// The bytes of frame `number`; at least as long as the header needs.
    package static func bytes(number: UInt64, codec: VideoCodec, isKeyFrame: Bool, count: Int) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: max(count, headerCount))
        switch codec {
        case .vp8:
            // RFC 6386 §9.1: key bit, then start code and size; inter frames have filler in these places.
            writer.write(UInt8(isKeyFrame ? 0x10 : 0x11))
            writer.write([0, 0] as [UInt8])
            writer.write(isKeyFrame ? [0x9D, 0x01, 0x2A, 0x80, 0x02, 0x68, 0x01] : [UInt8](repeating: 0x55, count: 7))
        case .vp9:
            // Frame marker 2, profile 0, then show_existing_frame 0 and the frame type.
            writer.write(UInt8(isKeyFrame ? 0x82 : 0x86))
            writer.write([UInt8](repeating: 0x55, count: 9))
        }
        writer.write(number)
        for offset in writer.count..<max(count, writer.count) { writer.write(filler(number: number, offset: offset)) }
        return writer.bytes
    }

    /// The number inside, if every byte of the frame is right.
    package static func number(of frame: RawSpan) -> UInt64? {
        guard frame.byteCount >= headerCount else { return nil }
        let number = UInt64(frame.uint32(at: 10)) << 32 | UInt64(frame.uint32(at: 14))
        for offset in headerCount..<frame.byteCount where frame.uint8(at: offset) != filler(number: number, offset: offset) { return nil }
        return number
    }

    private static func filler(number: UInt64, offset: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: (number &+ 1) &* 0x9E37_79B9 &+ UInt64(offset) &* 0x85EB_CA6B >> 7)
    }

    private static let headerCount = 18
}
