import RTCBase
import RTCEngine
import RTCSimulation
import RTCWire
import Testing

@Suite("CongestionController")
struct CongestionControllerTests {
    @Test("before feedback: the start rate and no window; with it a window that counts what is on its way")
    func window() {
        var loop = FeedbackLoop()
        #expect(loop.controller.targets.estimate.bitsPerSecond == 500_000)
        #expect(loop.controller.targets.congestionWindow == nil)
        loop.send(10)
        #expect(loop.controller.outstanding.bytes == 12_000)
        loop.handle(65_530..<65_538)
        #expect(loop.controller.outstanding.bytes == 2_400)
        #expect(loop.controller.targets.congestionWindow != nil)
        #expect(loop.controller.targets.pacing > loop.controller.targets.estimate)
    }

    @Test("CC-05 a packet told lost that came after all is no loss, and counts once")
    func repair() {
        var loop = FeedbackLoop()
        loop.send(10)
        let late = loop.arrivals.removeValue(forKey: 65_533)
        loop.handle(65_530..<65_540)
        #expect(loop.controller.statistics.packetsLost == 1)
        loop.arrivals[65_533] = late.map { $0 + 40 }
        loop.handle(65_533..<65_540)
        #expect(loop.controller.statistics.packetsLost == 0)
        #expect(loop.controller.statistics.packetsAcknowledged == 10)
        loop.handle(65_533..<65_540)
        #expect(loop.controller.statistics.packetsAcknowledged == 10)
    }

    @Test("CC-03 5000 packets between two feedbacks: those that are remembered are told, the rest is counted")
    func manyPackets() {
        var loop = FeedbackLoop(firstNumber: 0)
        loop.send(5_000, gap: 0)
        loop.now = loop.now.adding(milliseconds: 100)
        for part in loop.report(0..<5_000).split() { loop.controller.handle(part, now: loop.now) }
        #expect(loop.controller.statistics.packetsAcknowledged == UInt64(SentPacketHistory.capacity))
        #expect(loop.controller.statistics.unknownNumbers == UInt64(5_000 - SentPacketHistory.capacity))
        #expect(loop.controller.outstanding.bytes == 0)
    }

    @Test("lost feedback is neither lost rate nor lost packets")
    func lostFeedback() {
        var loop = FeedbackLoop()
        loop.run(seconds: 3, bitsPerSecond: 500_000)
        let before = loop.controller.statistics.acknowledgedBitsPerSecond
        for round in 0..<40 {
            let first = loop.nextNumber
            loop.send(3, gap: 0)
            loop.now = loop.now.adding(milliseconds: 50)
            if round % 3 != 0 { loop.handle(first..<loop.nextNumber) }
        }
        #expect(loop.controller.statistics.packetsLost == 0)
        #expect(abs(Double(loop.controller.statistics.acknowledgedBitsPerSecond) / Double(before) - 1) < 0.35)
        #expect(loop.controller.outstanding.bytes <= 3 * 1_200)
    }

    @Test("reports twice and out of order change nothing")
    func disorder() {
        var loop = FeedbackLoop()
        var other = loop
        for _ in 0..<40 {
            let first = loop.nextNumber
            loop.send(6)
            other.send(6)
            let middle = first + 3
            loop.handle(first..<middle)
            loop.handle(middle..<loop.nextNumber)
            other.handle(middle..<other.nextNumber)
            other.handle(first..<middle)
            other.handle(middle..<other.nextNumber)
        }
        #expect(other.controller.statistics.packetsAcknowledged == loop.controller.statistics.packetsAcknowledged)
        #expect(other.controller.statistics.packetsLost == 0)
        #expect(other.controller.outstanding == loop.controller.outstanding)
        #expect(other.controller.targets.estimate.bitsPerSecond >= 500_000)
    }

    @Test("senseless reports trap nothing and leave the limits alone", arguments: [UInt64(1), 2, 3, 4])
    func garbage(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var loop = FeedbackLoop()
        let limits = BitrateLimits().ordered
        for _ in 0..<2_000 {
            if generator.chance(0.7) { loop.send(Int.random(in: 1...20, using: &generator), gap: 1) }
            let near = generator.chance(0.7)
            let packets = (0..<Int.random(in: 0...60, using: &generator)).map { _ -> PacketStatus in
                generator.chance(0.3)
                    ? .notReceived : .received(delta250us: Int16.random(in: near ? 0...100 : .min ... .max, using: &generator))
            }
            let report = TransportFeedback(
                senderSSRC: 0, mediaSSRC: 0,
                baseSequenceNumber: near
                    ? UInt16(truncatingIfNeeded: loop.nextNumber - Int64.random(in: 0...100, using: &generator))
                    : .random(in: 0 ... .max, using: &generator),
                referenceTime64ms: near ? 1_000 : Int32.random(in: -8_388_608...8_388_607, using: &generator), feedbackCount: 0,
                packets: packets)
            loop.controller.handle(report, now: loop.now)
            loop.controller.handleTimeout(now: loop.now)
            while loop.controller.takeProbe() != nil {}
            let targets = loop.controller.targets
            #expect(targets.estimate >= limits.min && targets.estimate <= limits.max)
            #expect(loop.controller.outstanding.bytes >= 0)
            if let deadline = loop.controller.nextDeadline() { #expect(deadline > loop.now.adding(milliseconds: -30)) }
            loop.now = loop.now.adding(milliseconds: Int64.random(in: 0...(generator.chance(0.01) ? 20_000 : 30), using: &generator))
        }
        loop.controller.handle(
            TransportFeedback(
                senderSSRC: 0, mediaSSRC: 0, baseSequenceNumber: 0, referenceTime64ms: .max, feedbackCount: 0,
                packets: Array(repeating: .received(delta250us: .max), count: 65_535)), now: loop.now)
    }

    @Test("a clock of the receiver that is set anew starts over and lowers nothing")
    func clockStep() {
        var loop = FeedbackLoop()
        loop.run(seconds: 3, bitsPerSecond: 500_000)
        let before = loop.controller.targets.estimate
        for step: Int64 in [1_000_000, -5_000_000] {
            for _ in 0..<100 {
                let first = loop.nextNumber
                loop.send(3, gap: 0)
                for number in first..<loop.nextNumber { loop.arrivals[number]? += step }
                loop.now = loop.now.adding(milliseconds: 50)
                loop.handle(first..<loop.nextNumber)
            }
        }
        #expect(loop.controller.targets.estimate >= before)
        #expect(loop.controller.statistics.overuses == 0)
    }

    @Test("silence of the peer lowers the estimate a little; a process that slept is not silence")
    func silence() throws {
        var loop = FeedbackLoop()
        loop.run(seconds: 3, bitsPerSecond: 500_000)
        let before = loop.controller.targets.estimate.bitsPerSecond
        loop.send(5, gap: 0)
        var slept = loop
        slept.now = slept.now.adding(milliseconds: 5_000)
        slept.controller.handleTimeout(now: slept.now)
        #expect(slept.controller.targets.estimate.bitsPerSecond == before)
        for _ in 0..<40 {
            loop.send(1, gap: 0)
            loop.now = try #require(loop.controller.nextDeadline())
            loop.controller.handleTimeout(now: loop.now)
        }
        let after = loop.controller.targets.estimate.bitsPerSecond
        #expect(after < before && after * 2 > before)
        // What is sent into nothing is given up after a second, so that sending goes on.
        #expect(loop.controller.outstanding.bytes <= 6 * 1_200)
    }

    @Test("no deadline when nothing is on its way")
    func idle() throws {
        var loop = FeedbackLoop()
        #expect(loop.controller.nextDeadline() == nil)
        loop.send(1)
        loop.handle(65_530..<65_531)
        loop.now = try #require(loop.controller.nextDeadline())
        loop.controller.handleTimeout(now: loop.now)
        #expect(loop.controller.nextDeadline() == nil)
    }

    @Test("a peer without feedback: receiver reports move the rate, REMB bounds it")
    func fallback() {
        var loop = FeedbackLoop()
        for _ in 0..<10 {
            loop.send(60, gap: 16)
            loop.controller.handleLoss(fraction: 0, roundTripNanoseconds: 40_000_000, now: loop.now)
        }
        let grown = loop.controller.targets.estimate.bitsPerSecond
        #expect(grown > 600_000)
        loop.controller.handleREMB(Bitrate(bitsPerSecond: 400_000), now: loop.now)
        #expect(loop.controller.targets.estimate.bitsPerSecond == 400_000)
        loop.controller.handleREMB(Bitrate(bitsPerSecond: .max), now: loop.now)
        loop.controller.handleREMB(Bitrate(bitsPerSecond: -5), now: loop.now)
        #expect(loop.controller.targets.estimate.bitsPerSecond == grown)
        for _ in 0..<5 {
            loop.now = loop.now.adding(milliseconds: 1_000)
            loop.controller.handleLoss(fraction: 200, roundTripNanoseconds: nil, now: loop.now)
        }
        #expect(loop.controller.targets.estimate.bitsPerSecond < grown / 2)
    }

    @Test("with feedback nobody believes REMB or receiver reports")
    func feedbackWins() {
        var loop = FeedbackLoop()
        loop.run(seconds: 2, bitsPerSecond: 500_000)
        let before = loop.controller.targets.estimate
        loop.controller.handleREMB(Bitrate(bitsPerSecond: 100_000), now: loop.now)
        loop.controller.handleLoss(fraction: 255, roundTripNanoseconds: nil, now: loop.now)
        #expect(loop.controller.targets.estimate == before)
    }

    @Test("limits hold at once, in whatever order they are given")
    func limits() {
        var loop = FeedbackLoop()
        loop.controller.setLimits(
            BitrateLimits(min: Bitrate(bitsPerSecond: 900_000), start: Bitrate(bitsPerSecond: 1), max: Bitrate(bitsPerSecond: 5)),
            now: loop.now)
        #expect(loop.controller.targets.estimate.bitsPerSecond == 900_000)
        let wild = BitrateLimits(min: Bitrate(bitsPerSecond: .min), start: Bitrate(bitsPerSecond: .max), max: Bitrate(bitsPerSecond: .max))
            .ordered
        #expect(wild.min <= wild.start && wild.start <= wild.max && wild.max.bitsPerSecond <= 1_000_000_000)
    }
}
