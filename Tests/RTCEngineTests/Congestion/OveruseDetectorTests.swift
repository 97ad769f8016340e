import RTCEngine
import Testing

@Suite("OveruseDetector")
struct OveruseDetectorTests {
    private func usage(trend: Double, floor: Double, quick: Double? = nil, groups: Int = 5) -> BandwidthUsage {
        var detector = OveruseDetector()
        for index in 0..<groups {
            detector.update(
                trend: trend, floorMilliseconds: floor, quickFloorMilliseconds: quick ?? floor, toleranceMilliseconds: 30,
                arrival: Int64(index) * 10_000_000)
        }
        return detector.usage
    }

    @Test("a trend alone is noise, with a queue under it overuse")
    func witnesses() {
        #expect(usage(trend: 20, floor: 0) == .normal)
        #expect(usage(trend: 20, floor: 20) == .overuse)
        #expect(usage(trend: 20, floor: 20, groups: 1) == .normal)
        #expect(usage(trend: 0, floor: 20) == .normal)
    }

    @Test("a queue that stands above the tolerance is overuse whatever the trend, a draining one is not")
    func standing() {
        #expect(usage(trend: 0, floor: 31) == .overuse)
        #expect(usage(trend: -20, floor: 31) == .underuse)
    }

    @Test("three groups far behind are enough")
    func sudden() {
        #expect(usage(trend: 0, floor: 0, quick: 95, groups: 1) == .overuse)
    }

    @Test("the threshold follows noise up and comes down again, within its bounds")
    func threshold() {
        var detector = OveruseDetector()
        func feed(_ trend: Double, _ range: Range<Int>) {
            for index in range {
                detector.update(
                    trend: index.isMultiple(of: 2) ? trend : -trend, floorMilliseconds: 0, quickFloorMilliseconds: 0,
                    toleranceMilliseconds: 30, arrival: Int64(index) * 20_000_000)
            }
        }
        feed(25, 0..<200)
        #expect(detector.threshold > 20)
        feed(0, 200..<2_000)
        #expect(detector.threshold == 6)
    }
}
