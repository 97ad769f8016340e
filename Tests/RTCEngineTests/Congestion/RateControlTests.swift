import RTCBase
import RTCEngine
import Testing

@Suite("RateControl")
struct RateControlTests {
    private var now = MonotonicTime(milliseconds: 1_000)
    private var rate = RateControl(estimate: 2e6, limits: 50_000...20e6)

    private mutating func run(
        _ seconds: Double, usage: BandwidthUsage = .normal, floor: Double = 0, acknowledged: Double = 2e6, isAppLimited: Bool = false,
        response: Int64 = 150_000_000
    ) {
        for _ in 0..<Int(seconds * 20) {
            now = now.adding(milliseconds: 50)
            _ = rate.update(
                RateControl.Input(
                    usage: usage, floorMilliseconds: floor, quickFloorMilliseconds: floor, toleranceMilliseconds: 30, emptyMilliseconds: 4,
                    acknowledged: acknowledged, recentlyAcknowledged: acknowledged, isAppLimited: isAppLimited,
                    responseNanoseconds: response),
                now: now)
        }
    }

    @Test("overuse goes below what arrived, once for one response, and resumes when the queue is gone")
    mutating func decrease() {
        run(0.05, usage: .overuse, floor: 40)
        #expect(rate.isDraining)
        #expect(rate.estimate < 0.9 * 2e6 && rate.estimate > 0.8 * 2e6)
        let lowered = rate.estimate
        run(0.1, usage: .overuse, floor: 40)
        #expect(rate.estimate == lowered)
        run(0.05, floor: 0)
        #expect(!rate.isDraining)
        #expect(rate.estimate >= lowered)
    }

    @Test("a long queue is answered by more than a short one, but never by all")
    mutating func depth() {
        var other = self
        run(0.05, usage: .overuse, floor: 40)
        other.run(0.05, usage: .overuse, floor: 600)
        #expect(other.rate.estimate < rate.estimate * 0.7)
        var third = other
        third.run(0.2, usage: .overuse, floor: 900, acknowledged: 0)
        #expect(third.rate.estimate > 50_000)
    }

    @Test("a delay that does not follow the rate is the path's own")
    mutating func futile() {
        var told = false
        for _ in 0..<100 where !told {
            now = now.adding(milliseconds: 200)
            told = rate.update(
                RateControl.Input(
                    usage: .overuse, floorMilliseconds: 60, quickFloorMilliseconds: 60, toleranceMilliseconds: 30, emptyMilliseconds: 4,
                    acknowledged: 2e6,
                    recentlyAcknowledged: 2e6, isAppLimited: false, responseNanoseconds: 150_000_000), now: now)
        }
        #expect(told)
        #expect(rate.estimate > 500_000)
    }

    @Test("growth: fast before the first queue, then the smaller flow relatively faster, then ever faster without one")
    mutating func growth() {
        run(1, acknowledged: 4e6)
        #expect(rate.estimate > 3e6)
        func growth(of bitsPerSecond: Double) -> Double {
            var test = RateControlTests()
            test.rate = RateControl(estimate: bitsPerSecond, limits: 50_000...100e6)
            test.run(0.05, usage: .overuse, floor: 40, acknowledged: bitsPerSecond)
            test.run(0.05, acknowledged: bitsPerSecond)
            let before = test.rate.estimate
            test.run(0.5, acknowledged: bitsPerSecond)
            return test.rate.estimate / before
        }
        #expect(growth(of: 1e6) > growth(of: 4e6) && growth(of: 4e6) > 1)
        var quiet = RateControlTests()
        quiet.run(0.05, usage: .overuse, floor: 40, acknowledged: 300_000)
        quiet.run(10, acknowledged: 300_000)
        #expect(quiet.rate.estimate > 2e6)
    }

    @Test("CC-01 while the application makes little there is neither growth nor loss of rate")
    mutating func appLimited() {
        run(30, acknowledged: 100_000, isAppLimited: true)
        #expect(rate.estimate == 2e6)
    }

    @Test("a pause of the process is no time to grow in")
    mutating func heldOff() {
        run(0.05, usage: .overuse, floor: 40)
        run(0.05)
        let before = rate.estimate
        now = now.adding(milliseconds: 20_000)
        run(0.05)
        #expect(rate.estimate < before * 1.3)
    }

    @Test("limits hold")
    mutating func limits() {
        run(60, acknowledged: 100e6)
        #expect(rate.estimate == 20e6)
        rate.setLimits(50_000...1e6)
        #expect(rate.estimate == 1e6)
    }
}
