import RTCBase
import RTCEngine
import RTCSimulation
import Testing

@Suite("PeerSimulation")
struct PeerSimulationTests {
    private static func settings(
        seed: UInt64 = 1, bitsPerSecond: Double? = 3_000_000, loss: Double = 0, delay: Double = 25, seconds: Double = 20
    ) -> PeerSimulation.Settings {
        var forward = LinkConditions(loss: loss, delayMilliseconds: delay)
        forward.rateBitsPerSecond = bitsPerSecond
        forward.queueMilliseconds = 500
        var settings = PeerSimulation.Settings(
            seed: seed, forward: forward, backward: LinkConditions(loss: loss, delayMilliseconds: delay))
        settings.seconds = seconds
        return settings
    }

    private static func run(_ settings: PeerSimulation.Settings) -> PeerSimulation.Report {
        var simulation = PeerSimulation(settings)
        let report = simulation.run()
        #expect(report.violations.isEmpty, "seed \(settings.seed)")
        return report
    }

    @Test("a clean path shows every frame once, and hears every audio packet", arguments: VideoCodec.allCases, [true, false])
    func clean(codec: VideoCodec, usesFrameMetadata: Bool) throws {
        var settings = Self.settings()
        settings.flows[0].encoder.codec = codec
        settings.flows[0].call.usesFrameMetadata = usesFrameMetadata
        let flow = try #require(Self.run(settings).flows.first)
        #expect(flow.framesMade >= 595)
        #expect(flow.framesDelivered >= flow.framesMade - 2)
        #expect(flow.audioSent == 1_000 && flow.audioDelivered >= 998)
        #expect(flow.longestPauseMilliseconds < 200)
        #expect(flow.samples.count >= 198)
    }

    @Test("a path without any limit is used as far as the encoder goes")
    func unlimited() throws {
        var settings = Self.settings(bitsPerSecond: nil)
        settings.flows[0].encoder.maxBitsPerSecond = 2_000_000
        let flow = try #require(Self.run(settings).flows.first)
        let bits = flow.arrivedBits(within: PeerSimulation.time(10)..<PeerSimulation.time(20))
        #expect((17e6...27e6).contains(bits))
    }

    @Test("one seed is one run, another seed another")
    func determinism() {
        let runs = [5, 5, 6].map { Self.run(Self.settings(seed: $0, loss: 0.03, seconds: 10)) }
        #expect(runs[0].steps == runs[1].steps)
        #expect(runs[0].flows[0].samples.map(\.arrivedBits) == runs[1].flows[0].samples.map(\.arrivedBits))
        #expect(runs[0].flows[0].samples.map(\.arrivedBits) != runs[2].flows[0].samples.map(\.arrivedBits))
    }

    @Test("two flows and their feedback keep apart")
    func twoFlows() {
        var settings = Self.settings(seconds: 15)
        settings.flows.append(PeerSimulation.Flow())
        settings.flows[1].encoder.codec = .vp8
        settings.flows[1].beginSecond = 2
        let report = Self.run(settings)
        #expect(report.flows.count == 2)
        #expect(report.flows.allSatisfy { $0.framesDelivered > 300 && $0.deliveredShare > 0.98 })
        #expect(report.flows[1].firstFrame.map { $0 > PeerSimulation.time(2) } == true)
    }

    @Test("held off, both ends go on afterwards, and pictures nobody had time for are not made")
    func heldOff() {
        var settings = Self.settings(seconds: 10)
        let spans = (1..<9).map { PeerSimulation.time(Double($0))..<PeerSimulation.time(Double($0) + 0.2) }
        settings.senderHeldOff = HeldOff(spans)
        settings.receiverHeldOff = HeldOff(spans.map { $0.lowerBound.adding(milliseconds: 300)..<$0.upperBound.adding(milliseconds: 300) })
        let flow = Self.run(settings).flows[0]
        #expect((230...270).contains(flow.framesMade))
        #expect(flow.deliveredShare > 0.98)
    }

    @Test("a peer without transport-wide feedback is sent to as well")
    func noTransportFeedback() {
        var settings = Self.settings(seconds: 20)
        settings.flows[0].call.usesTransportFeedback = false
        let flow = Self.run(settings).flows[0]
        #expect(flow.framesDelivered > 300)
    }
}
