import RTCBase
import RTCEngine
import RTCSimulation
import Testing

/// Loss handling over simulated links of 50 ms each way; 6 Mbit/s is about 600 packets a second.
@Suite("Receive under loss")
struct ReceiveLossTests {
    private func call(loss: Double, jitter: Double = 0, seed: UInt64, codec: VideoCodec = .vp9, kilobits: Int = 6000) -> LossyCall {
        let conditions = LinkConditions(loss: loss, delayMilliseconds: 50, jitterMilliseconds: jitter)
        var call = LossyCall(codec: codec, downlink: conditions, uplink: conditions, seed: seed)
        call.runLive(seconds: 20, kilobits: kilobits)
        return call
    }

    @Test("RTP-17 low latency and few key-frame requests under loss", arguments: [0.02, 0.05, 0.1, 0.2], [1, 2] as [UInt64])
    func latency(loss: Double, seed: UInt64) {
        let call = call(loss: loss, jitter: 5, seed: seed)
        let p50 = call.latency(percentile: 0.5)
        let p95 = call.latency(percentile: 0.95)
        let delivered = Double(call.deliveries.count) / Double(call.sentFrames.count)
        print("loss \(loss) seed \(seed): p50 \(p50) p95 \(p95) delivered \(delivered) pli \(call.sender.pliCount) frozen \(call.frozenMilliseconds) nacks \(call.sender.nackPacketCount) requested \(call.sender.requested.count) lost \(call.toReceiver.lostCount)")
        #expect(call.violations.isEmpty, "\(call.violations.prefix(3))")
        #expect(p50 <= 300)
    }
}
