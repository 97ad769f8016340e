import RTCEngine
import Testing

@Suite("TrendlineEstimator")
struct TrendlineEstimatorTests {
    private func estimator(_ delay: (Int) -> Double, count: Int = 60) -> TrendlineEstimator {
        var trend = TrendlineEstimator()
        for index in 0..<count {
            let send = Int64(index) * 10_000_000
            let arrival = send + Int64(delay(index) * 1e6)
            trend.add(
                ArrivalGroup(
                    firstSend: send, lastSend: send, firstArrival: arrival, lastArrival: arrival, delay: arrival - send, byteCount: 1_000))
        }
        return trend
    }

    @Test("a steady delay has no slope, a growing and a falling one have theirs")
    func slopes() {
        #expect(estimator { _ in 40 }.slope == 0)
        let growing = estimator { 40 + Double($0) }.slope
        #expect(growing > 0.08 && growing < 0.1)
        let falling = estimator { 140 - Double($0) }.slope
        #expect(falling < -0.08 && falling > -0.12)
    }

    @Test("nothing is said before the window is full")
    func window() {
        #expect(estimator({ Double($0) }, count: 19).slope == 0)
        #expect(estimator({ Double($0) }, count: 20).slope > 0)
    }
}
