import RTCBase
import Testing

@testable import RTCWire

@Suite struct GenericNACKTests {
    private static func nack(_ numbers: [UInt16]) -> GenericNACK { GenericNACK(senderSSRC: 1, mediaSSRC: 2, sequenceNumbers: numbers) }

    @Test("RFC 4585 §6.2.1: number and mask of the 16 that follow")
    func packing() {
        let bytes = writeRTCP(.genericNACK(Self.nack([100, 101, 116, 117])))
        #expect(bytes == hex("81cd 0004 00000001 00000002 0064 8001 0075 0000"))
    }

    @Test("RTP-08 BLP handles the wrap")
    func wrap() throws {
        let bytes = writeRTCP(.genericNACK(Self.nack([65_534, 65_535, 0, 14])))
        #expect(bytes == hex("81cd 0003 00000001 00000002 fffe 8003"))
        #expect(try parseRTCP(bytes) == [.genericNACK(Self.nack([65_534, 65_535, 0, 14]))])
        #expect(try parseRTCP(writeRTCP(.genericNACK(Self.nack([65_535])))) == [.genericNACK(Self.nack([65_535]))])
    }

    @Test("numbers in any order, also doubled, read back in that order")
    func anyOrder() throws {
        for numbers in [[], [5, 4, 3], [7, 7], [1, 3, 2, 65_535, 0]] as [[UInt16]] {
            #expect(try parseRTCP(writeRTCP(.genericNACK(Self.nack(numbers)))) == [.genericNACK(Self.nack(numbers))])
        }
    }

    @Test("RFC 4585 §6.1: without both SSRCs it is refused")
    func truncated() {
        #expect(throws: WireError.truncated) { try parseRTCP(hex("81cd 0001 00000001")) }
    }
}
