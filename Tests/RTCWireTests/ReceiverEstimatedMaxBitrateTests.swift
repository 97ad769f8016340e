import RTCBase
import Testing

@testable import RTCWire

@Suite struct ReceiverEstimatedMaxBitrateTests {
    private static func roundTrip(_ bitrate: UInt64) throws -> UInt64? {
        let bytes = writeRTCP(.receiverEstimatedMaxBitrate(ReceiverEstimatedMaxBitrate(senderSSRC: 1, bitrate: bitrate, ssrcs: [2])))
        guard case .receiverEstimatedMaxBitrate(let estimate) = try parseRTCP(bytes).first else { return nil }
        return estimate.bitrate
    }

    @Test("draft-alvestrand-rmcat-remb §2.2: 18 bits and an exponent carry any rate, rounded down")
    func rates() throws {
        for bitrate in [0, 1, 0x3FFFF, 0x40000, 2_500_000, UInt64.max] {
            let read = try #require(try Self.roundTrip(bitrate))
            #expect(read <= bitrate && bitrate - read <= bitrate >> 17)
        }
    }

    @Test("a rate beyond 64 bits and missing SSRCs are refused")
    func refused() {
        #expect(throws: WireError.badValue) { try parseRTCP(hex("8fce 0004 00000001 00000000 52454d42 00ffffff")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("8fce 0004 00000001 00000000 52454d42 0101f400")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("8fce 0003 00000001 00000000 52454d42")) }
    }
}
