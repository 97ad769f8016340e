import RTCBase
import Testing

@testable import RTCWire

@Suite struct VP9DescriptorTests {
    private static func parse(_ text: String) throws -> VP9Descriptor { try VP9Descriptor(bytes: hex(text)) }

    @Test("RFC 9628 §4.2: non-flexible mode with layers and TL0PICIDX")
    func nonFlexible() throws {
        let descriptor = try Self.parse("ec 8102 35 77 00")
        #expect(descriptor.headerCount == 5 && descriptor.pictureID == 0x102 && descriptor.hasLongPictureID)
        #expect(descriptor.isInterPredicted && !descriptor.isFlexible && descriptor.isStartOfFrame && descriptor.isEndOfFrame)
        #expect(descriptor.temporalID == 1 && descriptor.switchingUp && descriptor.spatialID == 2 && descriptor.usesInterLayer)
        #expect(descriptor.tl0PictureIndex == 0x77 && descriptor.scalabilityStructure == nil)
    }

    @Test("RFC 9628 §4.2: flexible mode has up to three differences and no TL0PICIDX")
    func flexible() throws {
        let descriptor = try Self.parse("f1 05 20 03 05 fe 00")
        #expect(descriptor.headerCount == 6 && descriptor.isFlexible && descriptor.isNotReference && descriptor.tl0PictureIndex == nil)
        #expect(descriptor.referenceDiffs.count == 3)
        #expect((0..<4).map { descriptor.referenceDiffs[$0] } == [1, 2, 127, 0])
        #expect(try Self.parse("b0 05 20 00").referenceDiffs.count == 0, "a key picture has no differences")
        #expect(throws: WireError.badValue) { try Self.parse("d0 05 03 03 03 02") }
    }

    @Test("VID-01 picture ids change their width")
    func pictureIDWidths() throws {
        let read = try ["80 7e", "80 7f", "80 8080", "80 00"].map { try Self.parse($0) }
        #expect(read.map(\.pictureID) == [126, 127, 128, 0])
        #expect(read.map(\.headerCount) == [2, 2, 3, 2])
    }

    @Test("VID-05 scalability structure with N_S=0, Y=1, G=1 and N_G up to 255 is skipped exactly", arguments: [0, 1, 2, 8, 254, 255])
    func pictureGroups(_ groups: Int) throws {
        var bytes = hex("8a 05 18 0500 02d0") + [UInt8(groups)]
        for group in 0..<groups {
            let references = group % 4
            bytes.append(UInt8(references << 2))
            bytes += Array(repeating: 1, count: references)
        }
        let descriptor = try VP9Descriptor(bytes: (bytes + [0xAA, 0xBB]))
        #expect(descriptor.headerCount == bytes.count)
        let structure = try #require(descriptor.scalabilityStructure)
        #expect(structure.spatialLayers == 1 && structure.pictureGroupCount == groups)
        #expect(structure.widths[0] == 1280 && structure.heights[0] == 720 && structure.widths[1] == 0)
        #expect(throws: WireError.truncated) { try VP9Descriptor(bytes: bytes.dropLast()) }
    }

    @Test("VID-05 eight layers with sizes; a structure without sizes or groups", arguments: 1...8)
    func layers(_ count: Int) throws {
        var structure = VP9Descriptor.ScalabilityStructure(spatialLayers: count, hasSizes: true)
        for layer in 0..<count {
            structure.widths[layer] = UInt16(100 * (layer + 1))
            structure.heights[layer] = UInt16(10 * (layer + 1))
        }
        for structure in [structure, VP9Descriptor.ScalabilityStructure(spatialLayers: count)] {
            let descriptor = VP9Descriptor(
                isStartOfFrame: true, isEndOfFrame: false, isInterPredicted: false, pictureID: 5, tl0PictureIndex: 1,
                scalabilityStructure: structure)
            var writer = ByteWriter()
            descriptor.write(into: &writer)
            #expect(writer.count == descriptor.headerCount)
            #expect(try VP9Descriptor(bytes: writer.bytes) == descriptor)
        }
    }

    @Test("RFC 9628 §4.2: cut anywhere the descriptor is refused")
    func truncated() {
        let whole = hex("fa 8105 20 03 02 30 0500 02d0 0280 0168")
        #expect((try? VP9Descriptor(bytes: whole))?.headerCount == whole.count)
        for count in 0..<whole.count {
            #expect(throws: WireError.truncated) { try VP9Descriptor(bytes: whole.prefix(count)) }
        }
    }

    @Test("VID-07 what we write is F=0 with TL0PICIDX, and its length is known before")
    func ourForm() throws {
        let descriptor = VP9Descriptor(
            isStartOfFrame: true, isEndOfFrame: true, isInterPredicted: true, pictureID: 0x7FFF, tl0PictureIndex: 255)
        var writer = ByteWriter()
        descriptor.write(into: &writer)
        #expect(writer.bytes == hex("ec ffff 00 ff") && descriptor.headerCount == 5)
        #expect(!descriptor.isStartOfKeyFrame)
    }

    @Test("a key picture starts where nothing earlier and no lower layer is needed")
    func keyFrames() throws {
        #expect(try Self.parse("88 05").isStartOfKeyFrame)
        #expect(try !Self.parse("80 05").isStartOfKeyFrame, "not its first packet")
        #expect(try !Self.parse("c8 05").isStartOfKeyFrame, "inter predicted")
        #expect(try !Self.parse("a8 05 03 01").isStartOfKeyFrame, "an upper spatial layer")
    }

    @Test("the size of a key frame is read from its header, and from nothing else")
    func size() {
        // 1280x720: marker 2, key, shown; sync code; colour space 2; 16 bits each of size less one.
        let bytes = hex("82 498342 40 4ff0 2cf0 00")
        let size = VP9Descriptor.keyFrameSize(bytes.span.bytes)
        #expect(size?.width == 1280 && size?.height == 720)
        for position in 0..<4 {
            var other = bytes
            other[position] ^= 0x44
            #expect(VP9Descriptor.keyFrameSize(other.span.bytes) == nil)
        }
        for count in 0..<10 { #expect(VP9Descriptor.keyFrameSize(Array(bytes.prefix(count)).span.bytes) == nil) }
    }
}
