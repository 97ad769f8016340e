import RTCBase
import RTCEngine
import RTCWire
import Testing

@Suite("ReceiveStatistics")
struct ReceiveStatisticsTests {
    @Test("loss, fraction and extended highest number follow RFC 3550 A.3 over a wrap; repairs count for us only")
    func loss() {
        var statistics = ReceiveStatistics(clockRate: 90_000)
        // 65,536 is added by unwrapping; 65,530 to 65,545 with every fourth missing.
        for number in 65_530..<65_546 as Range<Int64> where number % 4 != 1 {
            statistics.receive(number: number + 65_536, timestamp: UInt32(number), byteCount: 100, arrival: start)
        }
        statistics.receiveRepaired(number: 65_533 + 65_536, byteCount: 100)
        let block = statistics.makeReportBlock(ssrc: 9, now: start)
        #expect(block.highestSequence == 65_544)
        #expect(block.cumulativeLost == 3)
        #expect(block.fractionLost == UInt8(3 * 256 / 15))
        #expect(statistics.packetsLost == 2)
        #expect(statistics.makeReportBlock(ssrc: 9, now: start).fractionLost == 0)
        #expect(statistics.makeReportBlock(ssrc: 9, now: start).lastSR == 0)
    }

    @Test("LSR and DLSR tell the last sender report and the time since")
    func senderReport() {
        var statistics = ReceiveStatistics(clockRate: 90_000)
        statistics.receive(number: 70_000, timestamp: 0, byteCount: 1, arrival: start)
        statistics.receiveSenderReport(ntp: NTPTimestamp(rawValue: 0x1122_3344_5566_7788), arrival: start)
        let block = statistics.makeReportBlock(ssrc: 9, now: start.adding(milliseconds: 1500))
        #expect(block.lastSR == 0x3344_5566)
        #expect(block.delaySinceLastSR == 65_536 * 3 / 2)
    }

    @Test("jitter: none for an even stream whatever the packets per frame, a sixteenth of one deviation, no leap")
    func jitter() {
        var statistics = ReceiveStatistics(clockRate: 90_000)
        var number: Int64 = 70_000
        func frame(_ index: Int, lateMilliseconds: Int64 = 0, offset: UInt32 = 0) {
            for part in 0..<3 as Range<Int64> {
                statistics.receive(
                    number: number, timestamp: UInt32.max - 9000 &+ UInt32(index) &* 900 &+ offset, byteCount: 1,
                    arrival: start.adding(milliseconds: Int64(index) * 10 + lateMilliseconds + part))
                number += 1
            }
        }
        for index in 0..<20 { frame(index) }
        #expect(statistics.jitterSeconds == 0)
        frame(20, lateMilliseconds: 16)
        #expect(abs(statistics.jitterSeconds - 0.001) < 0.0001)
        frame(21, lateMilliseconds: 16, offset: 900_000_000)
        #expect(abs(statistics.jitterSeconds - 0.001) < 0.0001)
    }
}
