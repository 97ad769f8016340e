import RTCEngine
import Testing

@Suite("RoundTripEstimator")
struct RoundTripEstimatorTests {
    @Test("samples win over reports, reports over the first guess; limits stay in bounds")
    func sources() {
        var estimator = RoundTripEstimator()
        #expect(estimator.nanoseconds == 100_000_000)
        estimator.report(nanoseconds: 40_000_000)
        #expect(estimator.nanoseconds == 40_000_000)
        estimator.addSample(nanoseconds: 200_000_000)
        #expect(estimator.nanoseconds == 200_000_000)
        for _ in 0..<100 { estimator.addSample(nanoseconds: 60_000_000) }
        #expect((60_000_000...61_000_000).contains(estimator.nanoseconds))
        estimator.report(nanoseconds: 1_000_000)
        estimator.addSample(nanoseconds: -5)
        estimator.addSample(nanoseconds: 50_000_000_000)
        #expect((60_000_000...61_000_000).contains(estimator.nanoseconds))
    }

    @Test("a repeat comes after the round trip, never a flood, and waits are bounded", arguments: [1, 30, 100, 400, 1900] as [Int64])
    func limits(milliseconds: Int64) {
        var estimator = RoundTripEstimator()
        for _ in 0..<10 { estimator.addSample(nanoseconds: milliseconds * 1_000_000) }
        #expect(estimator.repeatInterval >= min(milliseconds * 1_000_000 + 10_000_000, 500_000_000))
        #expect(estimator.repeatInterval <= max(20_000_000, milliseconds * 1_400_000 + 10_000_000))
        #expect(estimator.keyFrameRequestAge < estimator.patience)
        #expect(estimator.patience <= 1_000_000_000)
    }
}
