import RTCBase
import Testing

@testable import RTCWire

@Suite struct RetransmissionTests {
    @Test("RTP-03 a retransmission has version 2, the original number first, its own sequence, marker and extensions copied")
    func wraps() throws {
        let original = hex("b2e0 1234 89abcdef 01020304 0a0b0c0d 0e0f1011 bede0001 10aa0000 cafebabe 000003")
        let header = try RTPHeader(bytes: original)
        var writer = ByteWriter()
        #expect(
            Retransmission.write(original: original.span.bytes, header: header, payloadType: 97, ssrc: 9, sequenceNumber: 77, into: &writer)
        )
        let expected = hex("92e1 004d 89abcdef 00000009 0a0b0c0d 0e0f1011 bede0001 10aa0000 1234 cafebabe")
        #expect(writer.bytes == expected)
        let copy = try RTPHeader(bytes: writer.bytes)
        #expect(Retransmission.originalSequenceNumber(packet: writer.bytes.span.bytes, header: copy) == 0x1234)
    }

    @Test("RFC 4588 §4: a packet without two payload bytes carries no original")
    func empty() throws {
        for payload in [[], [1]] as [[UInt8]] {
            let packet = hex("80e1 004d 89abcdef 00000009") + payload
            let header = try RTPHeader(bytes: packet)
            #expect(Retransmission.originalSequenceNumber(packet: packet.span.bytes, header: header) == nil)
        }
    }
}
