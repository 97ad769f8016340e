import RTCBase
import RTCEngine
import RTCWire
import Testing

@Suite("RTCPScheduler")
struct RTCPSchedulerTests {
    @Test("the first report is early, the others about a second apart, none before anything came")
    func times() {
        var scheduler = RTCPScheduler(localSSRC: 1, cname: "x")
        #expect(scheduler.nextDeadline == nil)
        scheduler.start(now: start)
        var times: [Int64] = []
        for millisecond in 0..<3500 as Range<Int64> where scheduler.takeDue(now: start.adding(milliseconds: millisecond)) {
            times.append(millisecond)
        }
        #expect(times == [200, 1200, 2200, 3200])
    }

    @Test("a compound begins with a report and carries the CNAME; more than 31 blocks are spread")
    func compound() throws {
        var scheduler = RTCPScheduler(localSSRC: 1, cname: "name")
        var out = EngineOutputs()
        let block = ReportBlock(
            ssrc: 9, fractionLost: 0, cumulativeLost: 0, highestSequence: 0, jitter: 0, lastSR: 0, delaySinceLastSR: 0)
        scheduler.blocks = Array(repeating: block, count: 40)
        scheduler.writeReport(into: &out)
        scheduler.blocks = []
        scheduler.writeReport(into: &out)
        #expect(out.rtcpPackets.count == 2)
        let packets = out.feedback
        #expect(packets.count == 5)
        guard case .receiverReport(let first) = packets[0], case .receiverReport(let second) = packets[1],
            case .sourceDescription(let description) = packets[2]
        else {
            Issue.record("other packets")
            return
        }
        #expect(first.reports.count == 31 && second.reports.count == 9)
        #expect(description.chunks.map(\.cname) == ["name"])
    }
}
