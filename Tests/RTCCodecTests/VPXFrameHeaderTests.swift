import RTCBase
import RTCCodec
import Testing

@Suite("VPXFrameHeader")
struct VPXFrameHeaderTests {
    @Test("sizes in VP8 key frames are read and bounded")
    func vp8() throws {
        let header = try parse(Self.vp8KeyFrame(width: 175, height: 143), .vp8)
        #expect(header.isKeyFrame && header.width == 175 && header.height == 143)
        #expect(try parse(Self.vp8KeyFrame(width: 0xc000 | 640, height: 0x4000 | 360), .vp8).width == 640)
        #expect(kind { try parse(Self.vp8KeyFrame(width: 16_383, height: 16_383), .vp8) } == .tooLarge)
        #expect(kind { try parse(Self.vp8KeyFrame(width: 0, height: 10), .vp8) } == .corrupt)
        #expect(kind { try parse(Array(Self.vp8KeyFrame(width: 16, height: 16).prefix(9)), .vp8) } == .corrupt)
        #expect(try parse([0x11, 0, 0], .vp8).isKeyFrame == false)
        #expect(kind { try parse([0x11, 0], .vp8) } == .corrupt)
        var wrongStart = Self.vp8KeyFrame(width: 16, height: 16)
        wrongStart[4] = 0
        #expect(kind { try parse(wrongStart, .vp8) } == .corrupt)
    }

    @Test("8K is allowed, more is not")
    func limits() {
        #expect(VPXFrameHeader.isAllowed(width: 8192, height: 4320))
        #expect(VPXFrameHeader.isAllowed(width: 1, height: 16_384))
        #expect(!VPXFrameHeader.isAllowed(width: 8192, height: 8192))
        #expect(!VPXFrameHeader.isAllowed(width: 16_385, height: 1))
        #expect(!VPXFrameHeader.isAllowed(width: 0, height: 1))
        #expect(!VPXFrameHeader.isAllowed(width: -1, height: -1))
    }

    @Test("VP9 profiles 1 to 3 are a typed error, from the bitstream of a real frame")
    func profiles() throws {
        let pool = FrameBufferPool()
        let frame = try Pictures.encoded(.vp9, width: 64, height: 48, count: 1, pool: pool)[0].array
        #expect(try parse(frame, .vp9).isKeyFrame)
        for profile: UInt8 in 1...3 {
            var changed = frame
            // Bits 5 and 4: the low bit of the profile comes first.
            changed[0] = changed[0] & 0xcf | (profile & 1) << 5 | (profile >> 1) << 4
            #expect(kind { try parse(changed, .vp9) } == .unsupportedFormat)
            let decoder = try VPXDecoder(codec: .vp9)
            #expect(kind { try decoder.decode(EncodedFrame(changed, codec: .vp9), pool: pool) } == .unsupportedFormat)
        }
    }

    @Test("sizes in VP9 frames are read and bounded, inter and intra-only ones too")
    func vp9() throws {
        let key = try parse(Self.vp9KeyFrame(width: 853, height: 481), .vp9)
        #expect(key.isKeyFrame && key.width == 853 && key.height == 481)
        #expect(kind { try parse(Self.vp9KeyFrame(width: 65_536, height: 65_536), .vp9) } == .tooLarge)
        #expect(kind { try parse(Self.vp9InterFrame(width: 65_536, height: 65_536), .vp9) } == .tooLarge)
        let inter = try parse(Self.vp9InterFrame(width: 320, height: 180), .vp9)
        #expect(!inter.isKeyFrame && inter.width == 320 && inter.height == 180)
        let fromReference = try parse(Self.vp9InterFrame(width: nil, height: 0), .vp9)
        #expect(fromReference.width == nil)
        // Hidden, intra-only.
        var bits = Bits()
        bits.add(0b10_00_0_1_0_0, 8)
        bits.add(0b1_00, 3)
        bits.add(0x498342, 24)
        bits.add(0xff, 8)
        bits.add(40_000 - 1, 16)
        bits.add(40_000 - 1, 16)
        #expect(kind { try parse(bits.bytes, .vp9) } == .tooLarge)
    }

    @Test("every frame of a VP9 superframe is looked at")
    func superframe() throws {
        let first = Self.vp9KeyFrame(width: 320, height: 180)
        let second = Self.vp9InterFrame(width: 640, height: 360)
        let good = Self.superframe([first, second])
        let header = try parse(good, .vp9)
        #expect(header.isKeyFrame && header.width == 640 && header.height == 360)
        let bad = Self.superframe([first, Self.vp9InterFrame(width: 60_000, height: 60_000)])
        #expect(kind { try parse(bad, .vp9) } == .tooLarge)
        var lying = good
        lying[lying.count - 2] = 0xff
        #expect(kind { try parse(lying, .vp9) } == .corrupt)
        #expect(kind { try parse([0xdf], .vp9) } == .corrupt)
    }

    @Test("fuzz: any bytes give a header or a typed error")
    func fuzz() {
        var random = SeededGenerator(seed: 1)
        var accepted = 0
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            if !bytes.isEmpty, Bool.random(using: &random) { bytes[0] = bytes[0] & 0x0f | 0x80 }
            for codec in VideoCodec.allCases where kind({ try parse(bytes, codec) }) == nil { accepted += 1 }
        }
        #expect(accepted > 0)
    }

    private func parse(_ bytes: [UInt8], _ codec: VideoCodec) throws(CodecError) -> VPXFrameHeader {
        try VPXFrameHeader(parsing: bytes.span.bytes, codec: codec)
    }

    static func vp8KeyFrame(width: UInt16, height: UInt16) -> [UInt8] {
        [
            0x10, 0, 0, 0x9d, 0x01, 0x2a, UInt8(truncatingIfNeeded: width), UInt8(width >> 8), UInt8(truncatingIfNeeded: height),
            UInt8(height >> 8),
        ]
    }

    static func vp9KeyFrame(width: Int, height: Int) -> [UInt8] {
        var bits = Bits()
        bits.add(0b10_00_0_0_1_0, 8)
        bits.add(0x498342, 24)
        bits.add(0b001_0, 4)
        bits.add(width - 1, 16)
        bits.add(height - 1, 16)
        bits.add(0, 40)
        return bits.bytes
    }

    static func vp9InterFrame(width: Int?, height: Int) -> [UInt8] {
        var bits = Bits()
        bits.add(0b10_00_0_1_1_0, 8)
        bits.add(0, 2)
        bits.add(0, 8 + 12)
        if let width {
            bits.add(0, 3)
            bits.add(width - 1, 16)
            bits.add(height - 1, 16)
        } else {
            bits.add(1, 1)
        }
        bits.add(0, 40)
        return bits.bytes
    }

    static func superframe(_ frames: [[UInt8]]) -> [UInt8] {
        let marker = UInt8(0xc0 | 1 << 3 | (frames.count - 1))
        let sizes = frames.flatMap { [UInt8(truncatingIfNeeded: $0.count), UInt8($0.count >> 8)] }
        return frames.flatMap(\.self) + [marker] + sizes + [marker]
    }

    struct Bits {
        private(set) var bytes: [UInt8] = []
        private var used = 0

        mutating func add(_ value: Int, _ count: Int) {
            for shift in stride(from: count - 1, through: 0, by: -1) {
                if used % 8 == 0 { bytes.append(0) }
                bytes[bytes.count - 1] |= UInt8(value >> shift & 1) << UInt8(7 - used % 8)
                used += 1
            }
        }
    }
}
