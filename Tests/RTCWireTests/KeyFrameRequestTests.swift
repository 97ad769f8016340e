import RTCBase
import Testing

@testable import RTCWire

@Suite struct KeyFrameRequestTests {
    @Test("RFC 4585 §6.3.1: PLI is two SSRCs")
    func pictureLossIndication() throws {
        let bytes = writeRTCP(.pictureLossIndication(PictureLossIndication(senderSSRC: 0x1111_1111, mediaSSRC: 0x2222_2222)))
        #expect(bytes == hex("81ce 0002 11111111 22222222"))
        #expect(throws: WireError.truncated) { try parseRTCP(hex("81ce 0001 11111111")) }
    }

    @Test("RFC 5104 §4.3.1.1: FIR names source and number; the media SSRC field is zero")
    func fullIntraRequest() throws {
        let request = FullIntraRequest(senderSSRC: 1, entries: [.init(ssrc: 0x22, sequence: 7), .init(ssrc: 0x33, sequence: 8)])
        let bytes = writeRTCP(.fullIntraRequest(request))
        #expect(bytes == hex("84ce 0006 00000001 00000000 00000022 07000000 00000033 08000000"))
        #expect(try parseRTCP(bytes) == [.fullIntraRequest(request)])
        #expect(throws: WireError.badLength) { try parseRTCP(hex("84ce 0003 00000001 00000000 00000022")) }
    }
}
