import RTCBase
import RTCEngine
import Testing

@Suite("ProbeEstimator")
struct ProbeEstimatorTests {
    private let probe = Probe(cluster: 3, rate: Bitrate(bitsPerSecond: 3_000_000), minimumBytes: 6_000, minimumPackets: 5)

    /// Packets of 1200 bytes, `sendGap` and `arrivalGap` milliseconds apart; numbers in `lost` never arrive.
    private func result(sendGap: Double, arrivalGap: Double, lost: Set<Int64> = []) -> ProbeEstimator.Result? {
        var estimator = ProbeEstimator()
        estimator.begin(probe)
        let packets = (0..<5).map {
            SentPacket(number: $0, byteCount: 1_200, time: MonotonicTime(nanoseconds: Int64(Double($0) * sendGap * 1e6)), probe: 3)
        }
        for packet in packets { estimator.onSent(packet) }
        for packet in packets where !lost.contains(packet.number) {
            if let result = estimator.onArrival(packet, arrival: Int64(Double(packet.number) * arrivalGap * 1e6) + 70_000_000) {
                return result
            }
        }
        return nil
    }

    @Test("arriving as fast as sent is the probe's rate, slower is the path's")
    func rates() throws {
        let full = try #require(result(sendGap: 3.2, arrivalGap: 3.2))
        #expect(full.isFull && full.bitsPerSecond > 2.8e6 && full.bitsPerSecond <= 3e6)
        let slow = try #require(result(sendGap: 3.2, arrivalGap: 9.6))
        #expect(!slow.isFull && abs(slow.bitsPerSecond - 1e6) < 10_000)
    }

    @Test("handed over in one heap, or sent in one go, shows no more than was asked")
    func heaps() throws {
        #expect(try #require(result(sendGap: 3.2, arrivalGap: 0)).bitsPerSecond <= 3e6)
        #expect(try #require(result(sendGap: 0, arrivalGap: 0)).bitsPerSecond == 3e6)
        #expect(try #require(result(sendGap: 0, arrivalGap: 9.6)).bitsPerSecond < 1.3e6)
    }

    @Test("one of five may be lost, not two")
    func loss() {
        #expect(result(sendGap: 3.2, arrivalGap: 3.2, lost: [2]) != nil)
        #expect(result(sendGap: 3.2, arrivalGap: 3.2, lost: [2, 3]) == nil)
    }

    @Test("packets of an unknown cluster are nothing")
    func unknown() {
        var estimator = ProbeEstimator()
        let packet = SentPacket(number: 1, byteCount: 100, time: MonotonicTime(nanoseconds: 0), probe: 9)
        estimator.onSent(packet)
        let check1 = estimator.onArrival(packet, arrival: 5) == nil
        #expect(check1)
    }
}
