import RTCBase
import RTCEngine
import RTCSimulation
import Testing

@Suite("ArrivalDelayEstimator")
struct ArrivalDelayEstimatorTests {
    /// Packets of 20 ms with a delay of their own each.
    private func feed(
        _ estimator: inout ArrivalDelayEstimator, from first: Int = 0, count: Int, delayMilliseconds: (Int) -> Double
    ) {
        for number in first..<first + count {
            let nanoseconds = Int64((Double(number * 20) + delayMilliseconds(number)) * 1e6)
            estimator.add(arrival: MonotonicTime(nanoseconds: nanoseconds), timestamp: Int64(number) * 960, durationSamples: 960)
        }
    }

    private func enough(_ estimator: ArrivalDelayEstimator) -> Double { Double(estimator.enoughNanoseconds) / 1e6 }

    @Test("a steady path needs the least there is, once half a second has shown it")
    func steady() {
        var estimator = ArrivalDelayEstimator()
        feed(&estimator, count: 24) { _ in 37 }
        #expect(enough(estimator) == 10)
        feed(&estimator, from: 24, count: 10) { _ in 37 }
        #expect(enough(estimator) == 2)
        #expect(estimator.baseNanoseconds == 37_000_000)
    }

    @Test("jitter asks for as much as nearly all packets need", arguments: [10.0, 30, 100])
    func jitter(_ amount: Double) {
        for seed in 1...5 as ClosedRange<UInt64> {
            var generator = SplitMix64(seed: seed)
            var estimator = ArrivalDelayEstimator()
            feed(&estimator, count: 1_000) { _ in 20 + amount * generator.nextUnit() }
            #expect((amount * 0.93...amount + 1.5).contains(enough(estimator)), "seed \(seed)")
        }
    }

    @Test("a heap after an outage is one event, and one event is no rule")
    func heap() {
        var estimator = ArrivalDelayEstimator()
        feed(&estimator, count: 400) { number in (200..<215).contains(number) ? Double(215 - number) * 20 : 0 }
        #expect(enough(estimator) == 2)
    }

    @Test("two stalls in seconds are not worth half a second of delay, nor is one a second of 5 ms worth nothing")
    func rareStalls() {
        var estimator = ArrivalDelayEstimator()
        feed(&estimator, count: 600) { number in number == 400 || number == 500 ? 500 : 0 }
        #expect(enough(estimator) == 2)
        estimator = ArrivalDelayEstimator()
        feed(&estimator, count: 600) { number in number % 50 == 0 ? 5 : 0 }
        #expect((5...6).contains(enough(estimator)))
    }

    @Test("outages that come again every second are what there is to cope with")
    func repeatedHeaps() {
        var estimator = ArrivalDelayEstimator()
        feed(&estimator, count: 1_000) { number in number % 50 < 5 ? Double(5 - number % 50) * 20 : 0 }
        #expect((99...102).contains(enough(estimator)))
    }

    @Test("jitter that ended is forgotten within half a minute")
    func forgetting() {
        var generator = SplitMix64(seed: 3)
        var estimator = ArrivalDelayEstimator()
        feed(&estimator, count: 500) { _ in 60 * generator.nextUnit() }
        #expect(enough(estimator) > 50)
        feed(&estimator, from: 500, count: 1_400) { _ in 0 }
        #expect(enough(estimator) <= 3)
    }

    @Test("a new path becomes the base within 8 s", arguments: [-100.0, 100])
    func newPath(_ change: Double) {
        var estimator = ArrivalDelayEstimator()
        feed(&estimator, count: 500) { _ in 150 }
        feed(&estimator, from: 500, count: 410) { _ in 150 + change }
        #expect(estimator.baseNanoseconds == Int64(150 + change) * 1_000_000)
    }

    @Test("a sender's clock that is 200 ppm off costs no more than 2 ms", arguments: [-200.0, 200])
    func drift(_ ppm: Double) {
        var estimator = ArrivalDelayEstimator()
        feed(&estimator, count: 3_000) { number in 50 + Double(number * 20) * ppm / 1e6 }
        #expect(enough(estimator) <= 3)
    }

    @Test("a loss that FEC can repair counts as arriving with the repair")
    func repair() {
        var generator = SplitMix64(seed: 9)
        var estimator = ArrivalDelayEstimator()
        for number in 0..<500 {
            estimator.add(
                arrival: MonotonicTime(milliseconds: Int64(number * 20)), timestamp: Int64(number) * 960, durationSamples: 960,
                repairedSamples: generator.chance(0.03) ? 960 : 0)
        }
        #expect((20...22).contains(enough(estimator)))
    }

    @Test("timestamps from anywhere do not trap")
    func arbitrary() {
        var generator = SplitMix64(seed: 1)
        var estimator = ArrivalDelayEstimator()
        for _ in 0..<10_000 {
            estimator.add(
                arrival: MonotonicTime(nanoseconds: .random(in: .min ... .max, using: &generator)),
                timestamp: .random(in: .min ... .max, using: &generator), durationSamples: .random(in: 0...5_760, using: &generator),
                repairedSamples: .random(in: 0...5_760, using: &generator))
        }
        #expect(estimator.enoughNanoseconds >= 0)
    }
}
