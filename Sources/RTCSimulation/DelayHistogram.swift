/// How often which delay occurred, to about a quarter of a millisecond below 64 ms and 1 ms above, up to 4 s. A fixed block of
/// counts, so that a run of any length costs the same.
package struct DelayHistogram: Sendable {
    private var fine = [UInt32](repeating: 0, count: 256)
    private var coarse = [UInt32](repeating: 0, count: 4_000)
    package private(set) var count = 0
    package private(set) var maxMilliseconds = 0.0

    package init() {}

    package mutating func add(nanoseconds: Int64) {
        let delay = max(0, nanoseconds)
        count += 1
        maxMilliseconds = max(maxMilliseconds, Double(delay) / 1e6)
        if delay < 64_000_000 { fine[Int(delay / 250_000)] += 1 } else { coarse[min(Int(delay / 1_000_000), coarse.count - 1)] += 1 }
    }

    package mutating func merge(_ other: DelayHistogram) {
        for index in fine.indices { fine[index] += other.fine[index] }
        for index in coarse.indices { coarse[index] += other.coarse[index] }
        count += other.count
        maxMilliseconds = max(maxMilliseconds, other.maxMilliseconds)
    }

    /// The delay that `percent` of all do not exceed, rounded up to the histogram's steps; 0 when there are none.
    package func milliseconds(percentile percent: Double) -> Double {
        guard count > 0 else { return 0 }
        let rank = max(1, Int((Double(count) * percent / 100).rounded(.up)))
        var seen = 0
        for (index, number) in fine.enumerated() {
            seen += Int(number)
            if seen >= rank { return min(Double(index + 1) / 4, maxMilliseconds) }
        }
        for (index, number) in coarse.enumerated() {
            seen += Int(number)
            if seen >= rank { return min(Double(index + 1), maxMilliseconds) }
        }
        return maxMilliseconds
    }
}
