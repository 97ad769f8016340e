import RTCBase
import RTCEngine
import RTCWire
import Testing

@Suite("Packetizer")
struct PacketizerTests {
    private func frame(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) } }

    @Test(
        "VID-04 VP8: descriptors are as long as they say, S marks the first packet, bytes survive",
        arguments: [1, 500, 1_116, 1_117, 50_000])
    func vp8(count: Int) throws {
        let bytes = frame(count)
        var packetizer = VP8Packetizer(firstPictureID: 0x7FFF)
        var result = PacketizedFrame()
        for expectedID in [0x7FFF, 0, 1] as [UInt16] {
            packetizer.packetize(bytes.span.bytes, into: &result)
            var joined: [UInt8] = []
            for (index, range) in result.payloads.enumerated() {
                #expect(range.count <= PacketizedFrame.defaultMaxPayloadBytes)
                let payload = result.withPayload(range) { $0.copy() }
                let descriptor = try VP8Descriptor(parsing: payload.span.bytes)
                #expect(descriptor.headerCount == 4)
                #expect(descriptor.isStartOfFrame == (index == 0))
                #expect(descriptor.partitionIndex == 0)
                #expect(descriptor.pictureID == expectedID)
                joined += payload[descriptor.headerCount...]
            }
            #expect(joined == bytes)
        }
    }

    @Test("VID-07 VP9: never flexible, with TL0PICIDX; VID-04 bytes survive", arguments: [1, 1_000, 1_115, 1_116, 80_000])
    func vp9(count: Int) throws {
        let bytes = frame(count)
        var packetizer = VP9Packetizer(firstPictureID: 0x7FFE)
        var result = PacketizedFrame()
        for (number, isKeyFrame) in [true, false, false, true].enumerated() {
            packetizer.packetize(bytes.span.bytes, isKeyFrame: isKeyFrame, size: (1280, 720), into: &result)
            var joined: [UInt8] = []
            for (index, range) in result.payloads.enumerated() {
                #expect(range.count <= PacketizedFrame.defaultMaxPayloadBytes)
                let payload = result.withPayload(range) { $0.copy() }
                let descriptor = try VP9Descriptor(parsing: payload.span.bytes)
                #expect(!descriptor.isFlexible)
                #expect(descriptor.tl0PictureIndex == UInt8(number))
                #expect(descriptor.pictureID == (0x7FFE + UInt16(number)) & 0x7FFF)
                #expect(descriptor.isInterPredicted == !isKeyFrame)
                #expect(descriptor.isStartOfFrame == (index == 0))
                #expect(descriptor.isEndOfFrame == (index == result.payloads.count - 1))
                #expect((descriptor.scalabilityStructure?.widths[0] == 1280) == (isKeyFrame && index == 0))
                joined += payload[descriptor.headerCount...]
            }
            #expect(joined == bytes)
        }
    }

    @Test("packets of one frame are of nearly equal size, and an empty frame is one packet")
    func balance() {
        var packetizer = VP8Packetizer()
        var result = PacketizedFrame()
        packetizer.packetize(frame(1_200).span.bytes, into: &result)
        #expect(result.payloads.map(\.count) == [604, 604])
        packetizer.packetize(RawSpan(), into: &result)
        #expect(result.payloads.map(\.count) == [4])
    }
}
