package import RTCBase

/// Spans of time in which a process gets no core: it does nothing then, and finds everything late afterwards.
package struct HeldOff: Sendable {
    private let spans: [Range<MonotonicTime>]
    private var index = 0

    /// - Parameter spans: in order, not overlapping.
    package init(_ spans: [Range<MonotonicTime>] = []) { self.spans = spans }

    /// When the process runs again if it does not at `now`; called with times that only grow.
    package mutating func end(at now: MonotonicTime) -> MonotonicTime? {
        while index < spans.count, spans[index].upperBound <= now { index += 1 }
        guard index < spans.count, spans[index].contains(now) else { return nil }
        return spans[index].upperBound
    }

    /// Spans of 20 ms up to a longest one, some of them within each second.
    package static func random(
        perSecond: Double, longestMilliseconds: Int64, from begin: MonotonicTime, to end: MonotonicTime, generator: inout SplitMix64
    ) -> HeldOff {
        var spans: [Range<MonotonicTime>] = []
        var time = begin
        while perSecond > 0 {
            time = time.adding(nanoseconds: generator.nextNanoseconds(upTo: Int64(2e9 / perSecond)) + 1_000_000)
            guard time < end else { break }
            let stop = time.adding(nanoseconds: 20_000_000 + generator.nextNanoseconds(upTo: max(0, longestMilliseconds - 20) * 1_000_000))
            spans.append(time..<stop)
            time = stop
        }
        return HeldOff(spans)
    }
}
