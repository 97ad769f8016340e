import RTCBase
import RTCEngine
import RTCSimulation
import Testing

/// Loss handling over simulated links of 50 ms each way; 6 Mbit/s is about 600 packets a second.
@Suite("Receive under loss")
struct ReceiveLossTests {
    @Test(
        "RTP-17 p50 below 300 ms, whole frames in order, few key-frame requests",
        arguments: [(0.0, 85.0, 0), (0.02, 160.0, 0), (0.05, 220.0, 1), (0.1, 300.0, 3)], [1, 2] as [UInt64])
    func latency(weather: (loss: Double, p50: Double, requests: Int), seed: UInt64) {
        let conditions = LinkConditions(loss: weather.loss, delayMilliseconds: 50, jitterMilliseconds: 5)
        var call = LossyCall(codec: .vp9, downlink: conditions, uplink: conditions, seed: seed)
        call.runLive(seconds: 10, kilobits: 6000)
        #expect(call.violations.isEmpty, "\(call.violations.prefix(3))")
        #expect(call.latency(percentile: 0.5) <= weather.p50)
        #expect(call.latency(percentile: 0.95) <= weather.p50 * 2)
        #expect(call.sender.pliCount <= weather.requests)
        #expect(call.deliveries.count >= call.sentFrames.count * 95 / 100)
        // Each lost packet is asked for about as often as chance demands, not more.
        #expect(Double(call.sender.requested.count) <= 2.2 * Double(call.toReceiver.lostCount) + 5)
        #expect(call.sender.reports.count >= 9)
        #expect(call.sender.feedbackCount >= 80)
    }

    @Test("losses in bursts and a stop of half a second are survived within a second")
    func bursts() {
        var conditions = LinkConditions(delayMilliseconds: 50, jitterMilliseconds: 2)
        conditions.burstLoss = BurstLoss(enter: 0.005, leave: 0.2)
        let outage = MonotonicTime(milliseconds: 1_004_000)
        conditions.outages = [outage..<outage.adding(milliseconds: 500)]
        var call = LossyCall(codec: .vp8, downlink: conditions, uplink: LinkConditions(delayMilliseconds: 50), seed: 3)
        call.runLive(seconds: 8, kilobits: 4000)
        #expect(call.violations.isEmpty, "\(call.violations.prefix(3))")
        #expect(call.latency(percentile: 0.5) <= 220)
        let after = call.deliveries.first { $0.time > outage.adding(milliseconds: 550) }
        #expect(after.map { $0.time < outage.adding(milliseconds: 1000) } == true)
        #expect(call.sender.pliCount <= 4)
    }

    @Test("a long round trip is learnt from answers, so that nothing is asked for twice too soon")
    func longRoundTrip() {
        let conditions = LinkConditions(loss: 0.02, delayMilliseconds: 150)
        var call = LossyCall(codec: .vp9, downlink: conditions, uplink: LinkConditions(delayMilliseconds: 150), seed: 5)
        call.runLive(seconds: 8, kilobits: 2000)
        #expect(call.violations.isEmpty)
        #expect((290_000_000...360_000_000).contains(call.engine.roundTripNanoseconds))
        #expect(Double(call.sender.requested.count) <= 1.6 * Double(call.toReceiver.lostCount) + 10)
        #expect(call.sender.pliCount == 0)
    }
}
