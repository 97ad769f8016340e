import RTCBase
import Testing

@testable import RTCWire

@Suite struct PacketKindTests {
    @Test("RFC 7983 §7: every first byte has its kind, RFC 5761 §4: 192-223 in the second byte is RTCP")
    func everyFirstByte() {
        for first in UInt8.min...UInt8.max {
            let expected: PacketKind =
                switch first {
                case 0...3: .stun
                case 20...63: .dtls
                case 64...79: .turnChannel
                case 128...191: .rtp
                default: .unknown
                }
            #expect(classify([first, 96, 0]) == expected, "first byte \(first)")
        }
        for second in UInt8.min...UInt8.max {
            let expected: PacketKind = (192...223).contains(second) ? .rtcp : .rtp
            #expect(classify([0x80, second]) == expected, "second byte \(second)")
        }
    }

    @Test("DTLS-11 an empty datagram and a lone RTP byte are unknown")
    func tooShort() {
        #expect(classify([UInt8]()) == .unknown)
        #expect(classify([0x80]) == .unknown)
    }
}
