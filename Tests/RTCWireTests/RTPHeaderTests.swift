import RTCBase
import Testing

@testable import RTCWire

@Suite struct RTPHeaderTests {
    @Test("RFC 3550 §5.1: fields, CSRC list, extension block and payload have their places")
    func fields() throws {
        let packet = hex("92e0 1234 89abcdef 01020304 0a0b0c0d 0e0f1011 bede0001 10aa0000 cafebabe55")
        let header = try RTPHeader(bytes: packet)
        #expect(header.marker && header.payloadType == 96 && header.sequenceNumber == 0x1234)
        #expect(header.timestamp == 0x89AB_CDEF && header.ssrc == 0x0102_0304 && header.csrcCount == 2)
        #expect(header.extensionProfile == 0xBEDE && header.extensionOffset == 24 && header.extensionCount == 4)
        #expect(header.payloadRange == 28..<33 && header.paddingCount == 0)
    }

    @Test("RFC 3550 §5.1: padding counts 1 to the rest of the packet", arguments: [0, 1, 4, 5, 255])
    func padding(_ count: Int) throws {
        var packet = hex("a0e0 0001 00000002 00000003 aabbccdd")
        packet[packet.count - 1] = UInt8(count)
        if (1...4).contains(count) {
            let header = try RTPHeader(bytes: packet)
            #expect(header.paddingCount == count && header.payloadCount == 4 - count)
        } else {
            #expect(throws: WireError.badLength) { try RTPHeader(bytes: packet) }
        }
    }

    @Test("RFC 3550 §5.3.1: cut anywhere before the payload a packet is refused")
    func truncated() {
        let packet = hex("92e0 1234 89abcdef 01020304 0a0b0c0d 0e0f1011 bede0001 10aa0000")
        for count in 0..<packet.count {
            #expect(throws: WireError.truncated) { try RTPHeader(bytes: packet.prefix(count)) }
        }
        #expect((try? RTPHeader(bytes: packet))?.payloadCount == 0)
    }

    @Test("RFC 3550 §5.1: only version 2 is read", arguments: [0x00, 0x40, 0xC0] as [UInt8])
    func version(_ bits: UInt8) {
        var packet = hex("80e0 0001 00000002 00000003")
        packet[0] = bits
        #expect(throws: WireError.badVersion) { try RTPHeader(bytes: packet) }
    }

    @Test("a written header reads back", arguments: [0, 1, 3])
    func roundTrip(_ extensionCount: Int) throws {
        let header = RTPHeader(marker: true, payloadType: 98, sequenceNumber: 65_535, timestamp: 1, ssrc: 0xFFFF_FFFF)
        let elements = (0..<extensionCount).map { HeaderExtension(id: UInt8($0 + 1), bytes: Array(repeating: 7, count: $0 + 1)) }
        var writer = ByteWriter()
        header.write(into: &writer, extensions: elements, csrcs: [5, 6])
        writer.write([1, 2, 3])
        let again = try RTPHeader(bytes: writer.bytes)
        #expect(again.marker && again.payloadType == 98 && again.sequenceNumber == 65_535 && again.ssrc == 0xFFFF_FFFF)
        #expect(again.csrcCount == 2 && again.payloadCount == 3 && again.extensionCount % 4 == 0)
        #expect((again.extensionProfile == 0xBEDE) == (extensionCount > 0))
    }
}
