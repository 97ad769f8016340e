import RTCBase
import RTCWire
import Testing

@testable import RTCTransport

@Suite("STUN message integrity")
struct STUNKeyTests {
    private static let password = "VOkJxbRl1RmTxUk/WvJxBt"
    // RFC 5769 §2.1 to §2.3; `STUNMessageTests` reads the rest of them.
    private static let messages = [
        """
        00010058 2112a442 b7e7a701bc34d686fa87dfae 80220010 5354554e207465737420636c69656e74 00240004 6e0001ff
        80290008 932ff9b151263b36 00060009 6576746a3a68367659202020 00080014 9aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2
        80280004 e57a3bcf
        """,
        """
        0101003c 2112a442 b7e7a701bc34d686fa87dfae 8022000b 7465737420766563746f7220 00200008 0001a147 e112a643
        00080014 2b91f599fd9e90c38c7489f92af9ba53f06be7d7 80280004 c07d4c96
        """,
        """
        01010048 2112a442 b7e7a701bc34d686fa87dfae 8022000b 7465737420766563746f7220
        00200014 0002a147 0113a9faa5d3f179bc25f4b5bed2b9d9 00080014 a382954e4be67bf11784c97c8292c275bfe3ed41 80280004 c8fb0b4c
        """,
    ]

    private static func bytes(_ text: String) -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    @Test("RFC 5769 the samples' tags are right with their password and with no other", arguments: 0..<3)
    func samples(index: Int) throws {
        let datagram = Self.bytes(Self.messages[index])
        let message = try STUNMessage(parsing: datagram.span.bytes)
        let authenticated = message.authenticatedBytes(of: datagram.span.bytes)
        let signed = try #require(authenticated)
        let tag = try #require(message.integrity)
        let key = try #require(STUNKey(password: Self.password))
        #expect(key.verify(tag, of: signed) && key.tag(of: signed) == tag)
        let other = try #require(STUNKey(password: Self.password + "x"))
        #expect(!other.verify(tag, of: signed))
        #expect(!key.verify(Array(tag.dropLast()), of: signed) && !key.verify([], of: signed))
        for place in stride(from: 0, to: signed.count, by: 5) {
            var changed = signed
            changed[place] ^= 0x10
            #expect(!key.verify(tag, of: changed))
        }
    }

    @Test("passwords of every length that ICE allows, against an implementation of the test's own; RFC 2202 case 6 for long ones")
    func lengths() throws {
        for count in [22, 63, 64, 65, 256] {
            let password = String((0..<count).map { Character(Unicode.Scalar(UInt8(97 + $0 % 26))) })
            let key = try #require(STUNKey(password: password))
            let long = Array(password.utf8)
            let message = Array("some message".utf8)
            #expect(key.tag(of: message) == STUNPeer.hmacSHA1(key: count > 64 ? STUNPeer.sha1(long) : long, message))
        }
        #expect(
            STUNPeer.hmacSHA1(
                key: STUNPeer.sha1(Array(repeating: 0xAA, count: 80)), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8))
                == Self.bytes("aa4ae5e15272d00e95705637ce8a3b55ed402112"))
    }
}
