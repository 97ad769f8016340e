import RTCBase
import RTCEngine
import RTCSimulation
import RTCWire
import Testing

@Suite("TransportFeedbackBuilder")
struct TransportFeedbackBuilderTests {
    /// Runs `builder` at `time` and gives each report with its size.
    private func write(_ builder: inout TransportFeedbackBuilder, at time: MonotonicTime) -> [(report: TransportFeedback, count: Int)] {
        var out = EngineOutputs()
        builder.writeDue(now: time, senderSSRC: 1, mediaSSRC: 2, into: &out)
        return zip(out.feedback, out.rtcpPackets).compactMap { packet, range in
            if case .transportFeedback(let report) = packet { (report, range.count) } else { nil }
        }
    }

    /// Arrival in 250 µs ticks since the builder's start by number, from reports; nil for not received.
    private func read(_ reports: [(report: TransportFeedback, count: Int)]) -> [UInt16: Int?] {
        var result: [UInt16: Int?] = [:]
        for (report, _) in reports {
            var time = Int(report.referenceTime64ms) * 256
            for (index, status) in report.packets.enumerated() {
                let number = report.baseSequenceNumber &+ UInt16(truncatingIfNeeded: index)
                if case .received(let delta) = status {
                    time += Int(delta)
                    result[number] = .some(time)
                } else if result[number] == nil {
                    result[number] = .some(nil)
                }
            }
        }
        return result
    }

    @Test("numbers and times come back exactly, losses as losses, over the wrap")
    func roundTrip() {
        var builder = TransportFeedbackBuilder()
        var expected: [UInt16: Int?] = [:]
        for index in 0..<59 {
            let number = UInt16(truncatingIfNeeded: 65_500 + index)
            if index % 7 == 3 {
                expected[number] = .some(nil)
                continue
            }
            builder.record(number, now: start.adding(nanoseconds: Int64(index) * 1_250_000))
            expected[number] = .some(index * 5)
        }
        let early = write(&builder, at: start.adding(milliseconds: 49))
        #expect(early.isEmpty)
        let reports = write(&builder, at: start.adding(milliseconds: 80))
        #expect(reports.count == 1)
        #expect(read(reports) == expected)
        #expect(builder.nextDeadline == nil)
    }

    @Test("each report begins where the last one ended, so a loss between them is told")
    func continuity() {
        var builder = TransportFeedbackBuilder()
        builder.record(10, now: start)
        _ = write(&builder, at: start.adding(milliseconds: 100))
        builder.record(13, now: start.adding(milliseconds: 110))
        let reports = write(&builder, at: start.adding(milliseconds: 300))
        #expect(reports.map(\.report.feedbackCount) == [1])
        #expect(read(reports).keys.sorted() == [11, 12, 13])
        #expect(read(reports)[11] == .some(nil))
    }

    @Test("CC-03 5000 packets between two feedbacks are all told, in packets of at most 1200 bytes")
    func split() {
        var engine = MediaSender.engine()
        var sender = MediaSender(codec: .vp8)
        var out = EngineOutputs()
        var generator = SplitMix64(seed: 1)
        for index in 0..<5000 {
            let time = start.adding(nanoseconds: Int64(index) * 1000 + generator.nextNanoseconds(upTo: 200_000_000))
            let packet = sender.packet([0x10, 0x10], marker: true, timestamp: UInt32(index))
            engine.handleRTP(packet, now: time, into: &out)
        }
        engine.run(until: start.adding(milliseconds: 1000), into: &out)
        #expect(out.rtcpPackets.allSatisfy { $0.count <= 1200 })
        let reports = out.feedback.compactMap { packet -> (report: TransportFeedback, count: Int)? in
            if case .transportFeedback(let report) = packet { (report, 0) } else { nil }
        }
        #expect(reports.count >= 13)
        #expect(read(reports).filter { $0.value != nil }.count == 5000)
        #expect(zip(reports, reports.dropFirst()).allSatisfy { $1.report.feedbackCount == $0.report.feedbackCount &+ 1 })
    }

    @Test("CC-03 sparse numbers stay within the size as well")
    func sparse() {
        var builder = TransportFeedbackBuilder()
        for index in 0..<900 { builder.record(UInt16(index * 4), now: start.adding(nanoseconds: Int64(index) * 90_000_000)) }
        let reports = write(&builder, at: start.adding(milliseconds: 900 * 90))
        #expect(reports.allSatisfy { $0.count <= 1200 })
        #expect(read(reports).filter { $0.value != nil }.count == 900)
    }

    @Test("CC-05 a packet that comes after it was told lost makes the next report go back to it")
    func late() {
        var builder = TransportFeedbackBuilder()
        for number in [100, 101, 103] as [UInt16] { builder.record(number, now: start) }
        let first = write(&builder, at: start.adding(milliseconds: 100))
        #expect(read(first)[102] == .some(nil))
        builder.record(102, now: start.adding(milliseconds: 120))
        builder.record(104, now: start.adding(milliseconds: 121))
        let second = write(&builder, at: start.adding(milliseconds: 250))
        #expect(second.first?.report.baseSequenceNumber == 102)
        #expect(read(second) == [102: 480, 103: 0, 104: 484])
        // Duplicates and very old ones change nothing.
        builder.record(102, now: start.adding(milliseconds: 260))
        builder.record(64_000, now: start.adding(milliseconds: 260))
        let third = write(&builder, at: start.adding(milliseconds: 500))
        #expect(third.isEmpty)
    }

    @Test("a leap of the numbering starts anew, forwards and backwards")
    func leap() {
        var builder = TransportFeedbackBuilder()
        builder.record(1, now: start)
        _ = write(&builder, at: start.adding(milliseconds: 100))
        builder.record(20_000, now: start.adding(milliseconds: 110))
        let forwards = write(&builder, at: start.adding(milliseconds: 300))
        #expect(read(forwards).keys.sorted() == [20_000])
        for index in 0..<40 { builder.record(UInt16(100 + index), now: start.adding(milliseconds: 310)) }
        let backwards = write(&builder, at: start.adding(milliseconds: 600))
        #expect(read(backwards)[139] == .some(310 * 4))
    }

    @Test("the reference time goes on past what 24 bits hold")
    func referenceWrap() {
        var builder = TransportFeedbackBuilder()
        builder.record(1, now: start)
        _ = write(&builder, at: start.adding(milliseconds: 100))
        // Past 2^23 units of 64 ms: about six days.
        let later = start.adding(milliseconds: (1 << 23) * 64 + 64)
        builder.record(2, now: later)
        let reports = write(&builder, at: later.adding(milliseconds: 100))
        let wrapped = Int32(-(1 << 23) + 1)
        #expect(reports.first?.report.referenceTime64ms == wrapped)
    }
}
