import RTCBase
import Testing

@testable import RTCWire

@Suite struct VP8DescriptorTests {
    private static func parse(_ text: String) throws -> VP8Descriptor { try VP8Descriptor(bytes: hex(text)) }

    @Test("RFC 7741 §4.2: one byte alone, and every extension")
    func fields() throws {
        let plain = try Self.parse("30 00")
        #expect(plain.headerCount == 1 && plain.isStartOfFrame && plain.isNonReference && plain.pictureID == nil)
        let full = try Self.parse("92 f0 8123 44 7f 00")
        #expect(full.headerCount == 6 && full.isStartOfPartition && full.partitionIndex == 2 && !full.isStartOfFrame)
        #expect(full.pictureID == 0x123 && full.hasLongPictureID && full.tl0PictureIndex == 0x44)
        #expect(full.temporalID == 1 && full.isLayerSync && full.keyIndex == 31)
        let keyOnly = try Self.parse("80 10 e5")
        #expect(keyOnly.temporalID == nil && keyOnly.keyIndex == 5 && !keyOnly.isLayerSync && keyOnly.headerCount == 3)
    }

    @Test("VID-01 picture ids 126, 127 of 7 bits, then 128 of 15 bits, and 127 then 0")
    func pictureIDWidths() throws {
        let read = try ["80 80 7e", "80 80 7f", "80 80 8080", "80 80 00", "80 80 ffff", "80 80 8000"].map { try Self.parse($0) }
        #expect(read.map(\.pictureID) == [126, 127, 128, 0, 32_767, 0])
        #expect(read.map(\.hasLongPictureID) == [false, false, true, false, true, true])
        #expect(read.map(\.headerCount) == [3, 3, 4, 3, 4, 4])
    }

    @Test("RFC 7741 §4.2: cut anywhere the descriptor is refused")
    func truncated() {
        let whole = hex("92 f0 8123 44 7f")
        for count in 0..<whole.count {
            #expect(throws: WireError.truncated) { try VP8Descriptor(bytes: whole.prefix(count)) }
        }
    }

    @Test("VID-04 the descriptor's length equals what is written, for every combination of parts")
    func writtenLength() throws {
        for mask in 0..<32 {
            let descriptor = VP8Descriptor(
                isStartOfPartition: mask & 1 != 0, partitionIndex: 3, pictureID: mask & 2 != 0 ? 300 : nil,
                tl0PictureIndex: mask & 4 != 0 ? 9 : nil, temporalID: mask & 8 != 0 ? 2 : nil, isLayerSync: true,
                keyIndex: mask & 16 != 0 ? 21 : nil)
            var writer = ByteWriter()
            descriptor.write(into: &writer)
            #expect(writer.count == descriptor.headerCount)
            #expect(try VP8Descriptor(bytes: writer.bytes) == descriptor)
        }
        let short = VP8Descriptor(isStartOfPartition: true, pictureID: 127, hasLongPictureID: false)
        var writer = ByteWriter()
        short.write(into: &writer)
        #expect(writer.bytes == hex("90 80 7f"))
    }

    @Test("RFC 7741 §4.3, RFC 6386 §9.1: key frames and their size without scaling bits")
    func keyFrames() throws {
        let key = hex("300c00 9d012a f040 b480")
        #expect(isVP8KeyFrame(key))
        let size = try #require(vp8KeyFrameSize(key))
        #expect(size == (240, 180))
        #expect(!isVP8KeyFrame(hex("310c")) && !isVP8KeyFrame([UInt8]()))
        #expect(vp8KeyFrameSize(hex("300c00 9d012b f000 b400")) == nil)
        #expect(vp8KeyFrameSize(Array(key.prefix(9))) == nil)
    }
}
