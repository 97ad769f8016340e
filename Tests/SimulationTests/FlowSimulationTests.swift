import RTCBase
import RTCEngine
import RTCSimulation
import Testing

@Suite("FlowSimulation")
struct FlowSimulationTests {
    private static func settings(_ bitsPerSecond: Double, roundTrip: Double, loss: Double = 0, seed: UInt64 = 1) -> FlowSimulation.Settings
    {
        var forward = LinkConditions(loss: loss, delayMilliseconds: roundTrip / 2)
        forward.rateBitsPerSecond = bitsPerSecond
        forward.queueMilliseconds = 1_000
        return FlowSimulation.Settings(seed: seed, forward: forward, backward: LinkConditions(loss: loss, delayMilliseconds: roundTrip / 2))
    }

    private static func run(_ settings: FlowSimulation.Settings) -> FlowSimulation.Report {
        var simulation = FlowSimulation(settings)
        let report = simulation.run()
        #expect(report.violations.isEmpty)
        return report
    }

    struct Path: Sendable, CustomTestStringConvertible {
        var rate: Double
        var roundTrip: Double
        var loss: Double
        var testDescription: String { "\(Int(rate / 1_000)) kbit/s, \(Int(roundTrip)) ms, \(Int(loss * 100)) % lost" }
    }

    private static let paths = [
        Path(rate: 300_000, roundTrip: 40, loss: 0), Path(rate: 300_000, roundTrip: 300, loss: 0.02),
        Path(rate: 1e6, roundTrip: 100, loss: 0.1), Path(rate: 2.5e6, roundTrip: 20, loss: 0),
        Path(rate: 2.5e6, roundTrip: 300, loss: 0.05),
        Path(rate: 8e6, roundTrip: 60, loss: 0.01),
    ]

    @Test("a steady path: the mean estimate within 70 and 105 % of it, 95 % of the packets wait less than 150 ms", arguments: paths)
    func steady(path: Path) {
        var settings = Self.settings(path.rate, roundTrip: path.roundTrip, loss: path.loss)
        settings.seconds = 40
        let report = Self.run(settings)
        let share = report.mean(within: 10..<40) / path.rate
        #expect(share > 0.7 && share < 1.05)
        #expect(report.queue(percentile: 95, within: 0..<40) < 150)
    }

    @Test("random loss of a tenth is no congestion: 70 % of the path and more", arguments: [300_000.0, 1.5e6])
    func randomLoss(rate: Double) {
        var settings = Self.settings(rate, roundTrip: 50, loss: 0.1)
        settings.seconds = 40
        #expect(Self.run(settings).mean(within: 10..<40) > rate * 0.7)
    }

    @Test("loss in bursts is none either")
    func bursts() {
        var settings = Self.settings(2e6, roundTrip: 60)
        settings.forward.burstLoss = BurstLoss(enter: 0.005, leave: 0.25)
        settings.seconds = 40
        #expect(Self.run(settings).mean(within: 10..<40) > 1.4e6)
    }

    @Test("jitter of 30 ms, disorder and duplicates are no queue")
    func jitter() {
        var settings = Self.settings(2e6, roundTrip: 60)
        settings.forward.jitterMilliseconds = 30
        settings.forward.reordering = 0.01
        settings.forward.duplication = 0.01
        settings.seconds = 40
        let share = Self.run(settings).mean(within: 10..<40) / 2e6
        #expect(share > 0.7 && share < 1.05)
    }

    @Test("CC-07 2 Mbit/s, 300 kbit/s for 10 s, 2 Mbit/s: 80 % of it again within 10 s", arguments: [40.0, 200])
    func drop(roundTrip: Double) throws {
        var settings = Self.settings(2e6, roundTrip: roundTrip)
        let start = FlowSimulation.start
        settings.forward.capacity = .steps([
            .init(time: start, bitsPerSecond: 2e6), .init(time: start.adding(milliseconds: 20_000), bitsPerSecond: 300_000),
            .init(time: start.adding(milliseconds: 30_000), bitsPerSecond: 2e6),
        ])
        settings.seconds = 45
        let report = Self.run(settings)
        #expect(try #require(report.seconds(until: 1.6e6, after: 30)) < 10)
        #expect(report.mean(within: 24..<30) < 330_000)
    }

    @Test("an outage of three seconds is over when it is over")
    func outage() throws {
        var settings = Self.settings(2e6, roundTrip: 60)
        let start = FlowSimulation.start
        settings.forward.outages = [start.adding(milliseconds: 15_000)..<start.adding(milliseconds: 18_000)]
        settings.seconds = 30
        #expect(try #require(Self.run(settings).seconds(until: 1.6e6, after: 18)) < 10)
    }

    @Test("CC-01 300 kbit/s for 30 s lower nothing, and 2 Mbit/s are there within 10 s", arguments: [20.0, 150])
    func appLimited(roundTrip: Double) throws {
        var settings = Self.settings(3e6, roundTrip: roundTrip)
        settings.flows[0].demand = [(0, 300_000), (30, 2_000_000)]
        settings.seconds = 41
        let report = Self.run(settings)
        let early = report.mean(within: 3..<5)
        #expect(report.estimates(within: 5..<30).allSatisfy { $0 >= early * 0.95 })
        #expect(try #require(report.seconds(until: 2e6, after: 30)) < 10)
        #expect(report.carried(within: 38..<41) > 1.7e6)
    }

    @Test("2 Mbit/s within 2 s of the start on a clean path", arguments: [2.0, 40, 150])
    func start(roundTrip: Double) throws {
        var settings = Self.settings(6e6, roundTrip: roundTrip)
        settings.seconds = 5
        #expect(try #require(Self.run(settings).seconds(until: 2e6, after: 0)) < 2)
    }

    @Test("processes held off the core, heaps of feedback and late sends: no congestion on a free path", arguments: [UInt64(1), 2, 3])
    func heldOff(seed: UInt64) throws {
        var settings = Self.settings(20e6, roundTrip: 2, seed: seed)
        settings.flows[0].limits.max = Bitrate(bitsPerSecond: 2_500_000)
        settings.flows[0].audioBytes = 120
        settings.flows[0].senderStalls = Self.stalls(seed: seed)
        settings.flows[0].receiverStalls = Self.stalls(seed: seed &+ 100)
        settings.seconds = 20
        let report = Self.run(settings)
        #expect(try #require(report.seconds(until: 2e6, after: 0)) < 2)
        #expect(report.estimates(within: 2..<20).allSatisfy { $0 >= 2e6 })
    }

    /// Half of the time not running, up to 100 ms at once.
    private static func stalls(seed: UInt64) -> [Range<MonotonicTime>] {
        var generator = SplitMix64(seed: seed)
        var time = FlowSimulation.start
        return (0..<300).map { _ in
            let begin = time.adding(nanoseconds: 500_000 + generator.nextNanoseconds(upTo: 100_000_000))
            time = begin.adding(nanoseconds: 5_000_000 + generator.nextNanoseconds(upTo: 95_000_000))
            return begin..<time
        }
    }

    @Test("two flows share a link within 60 to 40", arguments: [(1.5e6, 40.0), (4e6, 100)])
    func sharing(rate: Double, roundTrip: Double) {
        var settings = Self.settings(rate, roundTrip: roundTrip)
        settings.flows.append(FlowSimulation.Flow())
        settings.flows[1].startSeconds = 5
        settings.seconds = 70
        let report = Self.run(settings)
        let first = report.carried(flow: 0, within: 30..<70)
        let second = report.carried(flow: 1, within: 30..<70)
        #expect(max(first, second) / (first + second) < 0.6)
        #expect(first + second > 0.8 * rate)
    }

    @Test("one seed is one run")
    func determinism() {
        var settings = Self.settings(1e6, roundTrip: 60, loss: 0.05, seed: 9)
        settings.seconds = 5
        #expect(Self.run(settings).samples.map(\.estimate) == Self.run(settings).samples.map(\.estimate))
    }
}
