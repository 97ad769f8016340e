import RTCSimulation
import Testing

@Suite("DelayHistogram")
struct DelayHistogramTests {
    @Test("percentiles are right to its steps")
    func percentiles() {
        var histogram = DelayHistogram()
        for millisecond in 1...1_000 { histogram.add(nanoseconds: Int64(millisecond) * 1_000_000) }
        #expect(histogram.milliseconds(percentile: 5) == 50.25)
        #expect(histogram.milliseconds(percentile: 50) == 501)
        #expect(histogram.milliseconds(percentile: 95) == 951)
        #expect(histogram.milliseconds(percentile: 100) == 1_000)
        #expect(histogram.maxMilliseconds == 1_000)
    }

    @Test("is 0 when empty, takes anything, and adds up")
    func edges() {
        var histogram = DelayHistogram()
        #expect(histogram.milliseconds(percentile: 95) == 0)
        histogram.add(nanoseconds: -5)
        histogram.add(nanoseconds: 90_000_000_000)
        var other = DelayHistogram()
        other.add(nanoseconds: 1_000_000)
        histogram.merge(other)
        #expect(histogram.count == 3)
        #expect(histogram.milliseconds(percentile: 60) == 1.25)
        #expect(histogram.maxMilliseconds == 90_000)
    }
}
