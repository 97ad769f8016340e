package import RTCBase

/// A look at the first bytes of a compressed frame, before the decoder sees it.
///
/// libvpx allocates picture memory for whatever size a header claims, so the size is read and bounded here first. The
/// VP8 frame tag and key frame header are RFC 6386 §9.1; the VP9 uncompressed header and the superframe index are from
/// the VP9 bitstream specification §6.2 and annex B. Nothing after the frame size is read.
package struct VPXFrameHeader: Hashable, Sendable {
    /// For a VP9 superframe: of its first frame.
    package private(set) var isKeyFrame = false
    /// The size that the header states; nil when the frame takes it from a reference. Of a superframe, the largest.
    package private(set) var width: Int?
    package private(set) var height: Int?

    /// Neither side may be longer (libvpx's own limit, and VP8's format ends here)...
    package static let maxSide = 16_384
    /// ... and the area may not be over 8K (8192 x 4320, rounded up to whole superblocks of 64): 53 MB as I420.
    package static let maxPixels = 8192 * 4352

    package static func isAllowed(width: Int, height: Int) -> Bool {
        width > 0 && height > 0 && width <= maxSide && height <= maxSide && width * height <= maxPixels
    }

    /// Throws `.corrupt`, `.unsupportedFormat` (VP9 profiles 1 to 3) or `.tooLarge`.
    package init(parsing frame: RawSpan, codec: VideoCodec) throws(CodecError) {
        switch codec {
        case .vp8: try parseVP8(frame)
        case .vp9: try parseVP9Chunk(frame)
        }
    }

    private mutating func parseVP8(_ frame: RawSpan) throws(CodecError) {
        guard frame.byteCount >= 3 else { throw Self.corrupt }
        isKeyFrame = frame.uint8(at: 0) & 1 == 0
        guard isKeyFrame else { return }
        guard frame.byteCount >= 10 else { throw Self.corrupt }
        guard frame.uint8(at: 3) == 0x9d, frame.uint16(at: 4) == 0x012a else { throw Self.corrupt }
        // The upper two bits of each field are an upscaling hint for the display.
        let width = Int(frame.uint16(at: 6).byteSwapped & 0x3fff)
        let height = Int(frame.uint16(at: 8).byteSwapped & 0x3fff)
        try note(width: width, height: height)
    }

    /// One frame, or up to eight of them (layers, hidden references) when the chunk ends with a superframe index.
    private mutating func parseVP9Chunk(_ chunk: RawSpan) throws(CodecError) {
        let count = chunk.byteCount
        guard count > 0 else { throw Self.corrupt }
        let marker = chunk.uint8(at: count - 1)
        guard marker & 0xe0 == 0xc0 else { return try parseVP9(chunk, isFirst: true) }
        let frames = Int(marker & 7) + 1
        let sizeBytes = Int(marker >> 3 & 3) + 1
        let indexStart = count - 2 - frames * sizeBytes
        guard indexStart >= 0, chunk.uint8(at: indexStart) == marker else { throw Self.corrupt }
        var start = 0
        for index in 0..<frames {
            var size = 0
            for byte in 0..<sizeBytes {
                size |= Int(chunk.uint8(at: indexStart + 1 + index * sizeBytes + byte)) << (8 * byte)
            }
            guard size > 0, size <= indexStart - start else { throw Self.corrupt }
            try parseVP9(chunk.extracting(start..<(start + size)), isFirst: index == 0)
            start += size
        }
    }

    private mutating func parseVP9(_ frame: RawSpan, isFirst: Bool) throws(CodecError) {
        var position = 0
        guard try Self.bits(2, of: frame, at: &position) == 2 else { throw Self.corrupt }
        guard try Self.bits(2, of: frame, at: &position) == 0 else {
            throw CodecError(.unsupportedFormat, function: "VP9 profile")
        }
        if try Self.bits(1, of: frame, at: &position) == 1 { return }  // shows a frame that is already decoded
        let isInter = try Self.bits(1, of: frame, at: &position) == 1
        let isShown = try Self.bits(1, of: frame, at: &position) == 1
        let isErrorResilient = try Self.bits(1, of: frame, at: &position) == 1
        if !isInter {
            if isFirst { isKeyFrame = true }
            try Self.syncCode(frame, at: &position)
            let colorSpace = try Self.bits(3, of: frame, at: &position)
            guard colorSpace != 7 else { throw CodecError(.unsupportedFormat, function: "VP9 color space") }  // RGB: 4:4:4 only
            position += 1  // color range
            return try frameSize(frame, at: &position)
        }
        let isIntraOnly = isShown ? false : try Self.bits(1, of: frame, at: &position) == 1
        if !isErrorResilient { position += 2 }  // reset_frame_context
        if isIntraOnly {
            try Self.syncCode(frame, at: &position)
            position += 8  // refresh flags
            return try frameSize(frame, at: &position)
        }
        position += 8 + 3 * 4  // refresh flags; three references, each an index and a sign
        for _ in 0..<3 where try Self.bits(1, of: frame, at: &position) == 1 { return }  // size of that reference
        try frameSize(frame, at: &position)
    }

    private mutating func frameSize(_ frame: RawSpan, at position: inout Int) throws(CodecError) {
        let width = try Self.bits(16, of: frame, at: &position) + 1
        let height = try Self.bits(16, of: frame, at: &position) + 1
        try note(width: width, height: height)
    }

    private mutating func note(width newWidth: Int, height newHeight: Int) throws(CodecError) {
        guard newWidth > 0, newHeight > 0 else { throw Self.corrupt }
        guard Self.isAllowed(width: newWidth, height: newHeight) else { throw CodecError(.tooLarge, function: "frame size") }
        if let width, let height, width * height >= newWidth * newHeight { return }
        width = newWidth
        height = newHeight
    }

    private static func syncCode(_ frame: RawSpan, at position: inout Int) throws(CodecError) {
        guard try bits(24, of: frame, at: &position) == 0x498342 else { throw corrupt }
    }

    /// The next `count` bits, most significant first.
    private static func bits(_ count: Int, of bytes: RawSpan, at position: inout Int) throws(CodecError) -> Int {
        guard position + count <= bytes.byteCount * 8 else { throw corrupt }
        var value = 0
        for _ in 0..<count {
            value = value << 1 | Int(bytes.uint8(at: position >> 3) >> UInt8(7 - position & 7) & 1)
            position += 1
        }
        return value
    }

    private static let corrupt = CodecError(.corrupt, function: "frame header")
}
