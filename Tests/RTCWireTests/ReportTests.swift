import RTCBase
import Testing

@testable import RTCWire

@Suite struct ReportTests {
    @Test("RFC 3550 §6.4.1: cumulative loss is 24 bits with a sign", arguments: [0, -1, 1, 0x7F_FFFF, -0x80_0000] as [Int32])
    func cumulativeLoss(_ lost: Int32) throws {
        let block = ReportBlock(
            ssrc: 1, fractionLost: 128, cumulativeLost: lost, highestSequence: 2, jitter: 3, lastSR: 4, delaySinceLastSR: 5)
        #expect(
            try parseRTCP(writeRTCP(.receiverReport(ReceiverReport(ssrc: 9, reports: [block])))) == [
                .receiverReport(ReceiverReport(ssrc: 9, reports: [block]))
            ])
    }

    @Test("RFC 3550 A.3: loss beyond 24 bits sticks to the end of the range")
    func clamps() throws {
        for (given, expected) in [(Int32.max, 0x7F_FFFF), (Int32.min, -0x80_0000)] as [(Int32, Int32)] {
            let block = ReportBlock(
                ssrc: 1, fractionLost: 0, cumulativeLost: given, highestSequence: 2, jitter: 3, lastSR: 4, delaySinceLastSR: 5)
            guard
                case .receiverReport(let report) = try parseRTCP(writeRTCP(.receiverReport(ReceiverReport(ssrc: 9, reports: [block]))))
                    .first
            else {
                Issue.record("not a receiver report")
                return
            }
            #expect(report.reports.first?.cumulativeLost == expected)
        }
    }

    @Test("RFC 3550 §6.4: a report count that the content does not hold is refused; a profile's extension is ignored")
    func counts() throws {
        #expect(throws: WireError.truncated) { try parseRTCP(hex("81c9 0001 00000001")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("80c9 0000")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("80c8 0001 00000001")) }
        #expect(try parseRTCP(hex("80c9 0002 00000001 deadbeef")) == [.receiverReport(ReceiverReport(ssrc: 1))])
    }

    @Test("RFC 3550 §6.4.1: more blocks than the count field can say are not written")
    func atMost31() throws {
        let block = ReportBlock(
            ssrc: 1, fractionLost: 0, cumulativeLost: 0, highestSequence: 2, jitter: 3, lastSR: 4, delaySinceLastSR: 5)
        let many = ReceiverReport(ssrc: 9, reports: Array(repeating: block, count: 40))
        guard case .receiverReport(let report) = try parseRTCP(writeRTCP(.receiverReport(many))).first else {
            Issue.record("not a receiver report")
            return
        }
        #expect(report.reports.count == 31)
    }
}
