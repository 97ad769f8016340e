import RTCBase
import Testing

@testable import RTCWire

@Suite struct DCEPMessageTests {
    @Test("RFC 8832 §5: OPEN and ACK byte for byte")
    func bytes() throws {
        let open = DCEPMessage.open(label: "data", protocolName: "p", isOrdered: true, reliability: .reliable)
        #expect(open.bytes == hex("03 00 0100 00000000 0004 0001 64617461 70"))
        #expect(try DCEPMessage(bytes: open.bytes) == open)
        #expect(DCEPMessage.acknowledge.bytes == [2])
        #expect(try DCEPMessage(bytes: [2]) == .acknowledge)
    }

    @Test(
        "DC-08 channel types say order and reliability",
        arguments: [
            (true, ChannelReliability.reliable, 0x00, 0), (false, .reliable, 0x80, 0), (true, .maxRetransmits(3), 0x01, 3),
            (false, .maxRetransmits(0), 0x81, 0), (true, .maxLifetimeMilliseconds(100), 0x02, 100),
            (false, .maxLifetimeMilliseconds(100), 0x82, 100),
        ] as [(Bool, ChannelReliability, UInt8, UInt32)])
    func channelTypes(_ isOrdered: Bool, reliability: ChannelReliability, type: UInt8, parameter: UInt32) throws {
        let message = DCEPMessage.open(label: "l", protocolName: "", isOrdered: isOrdered, reliability: reliability)
        guard case .open(let channelType, _, let value, "l", "") = try DCEPMessage(bytes: message.bytes) else {
            Issue.record("not an open")
            return
        }
        #expect(channelType == type && value == parameter)
        let properties = DCEPMessage.properties(channelType: channelType, reliability: value)
        #expect(properties.isOrdered == isOrdered && properties.reliability == reliability)
    }

    @Test("RFC 8832 §5.1: cut off, of an unknown type or not UTF-8 it is refused")
    func refused() {
        let open = DCEPMessage.open(label: "ab", protocolName: "c", isOrdered: true, reliability: .reliable).bytes
        for count in 0..<open.count {
            #expect(throws: WireError.truncated) { try DCEPMessage(bytes: open.prefix(count)) }
        }
        for text in [
            "00", "01", "04", "03 03 0000 00000000 0000 0000", "03 83 0000 00000000 0000 0000", "03 00 0000 00000000 0001 0000 ff",
        ] {
            #expect(throws: WireError.badValue, "\(text)") { try DCEPMessage(bytes: hex(text)) }
        }
    }

    @Test("a reliability parameter beyond 16 bits counts as the largest")
    func clamps() {
        #expect(DCEPMessage.properties(channelType: 0x01, reliability: .max).reliability == .maxRetransmits(65_535))
    }
}
