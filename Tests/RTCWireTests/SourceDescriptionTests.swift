import RTCBase
import Testing

@testable import RTCWire

@Suite struct SourceDescriptionTests {
    @Test("RFC 3550 §6.5: every chunk is filled to 32 bits with at least one zero", arguments: 0...9)
    func chunkLength(_ count: Int) throws {
        let description = SourceDescription(chunks: [
            .init(ssrc: 1, cname: String(repeating: "x", count: count)), .init(ssrc: 2, cname: "y"),
        ])
        let bytes = writeRTCP(.sourceDescription(description))
        #expect(bytes.count % 4 == 0)
        #expect(try parseRTCP(bytes) == [.sourceDescription(description)])
    }

    @Test("RFC 3550 §6.5: a chunk or an item that is cut off is refused")
    func truncated() {
        #expect(throws: WireError.truncated) { try parseRTCP(hex("81ca 0000")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("81ca 0001 00000001")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("81ca 0002 00000001 01046162")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("82ca 0002 00000001 01016100")) }
    }

    @Test("a CNAME that is not UTF-8 counts as none; one over 255 bytes is cut")
    func names() throws {
        #expect(
            try parseRTCP(hex("81ca 0002 00000001 0101ff00")) == [
                .sourceDescription(SourceDescription(chunks: [.init(ssrc: 1, cname: nil)]))
            ])
        let long = SourceDescription(ssrc: 1, cname: String(repeating: "n", count: 300))
        #expect(
            try parseRTCP(writeRTCP(.sourceDescription(long)))
                == [.sourceDescription(SourceDescription(ssrc: 1, cname: String(repeating: "n", count: 255)))])
    }
}
