import RTCBase
import Testing

@testable import RTCWire

@Suite struct GoodbyeTests {
    @Test("RFC 3550 §6.6: BYE with sources, without, and with a reason", arguments: [nil, "x", "camera malfunction"] as [String?])
    func reasons(_ reason: String?) throws {
        for ssrcs in [[], [1], [1, 2, 3]] as [[UInt32]] {
            let goodbye = Goodbye(ssrcs: ssrcs, reason: reason)
            #expect(try parseRTCP(writeRTCP(.goodbye(goodbye))) == [.goodbye(goodbye)])
        }
    }

    @Test("RFC 3550 §6.6: a reason that is cut off does not hide the leave; a missing source does")
    func truncated() throws {
        #expect(try parseRTCP(hex("81cb 0002 00000001 09616263")) == [.goodbye(Goodbye(ssrcs: [1]))])
        #expect(throws: WireError.truncated) { try parseRTCP(hex("82cb 0001 00000001")) }
    }
}
