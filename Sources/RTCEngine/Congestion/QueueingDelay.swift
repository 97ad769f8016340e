// How long packets wait at the bottleneck. In: groups. Out: the least delay of the last moments above the least delay
// of the last minute. The floor, not the mean: a process held off its core, a jittery radio and the frame's own
// train through the bottleneck raise single delays, only a queue that stands raises all of them.

package struct QueueingDelay: Sendable {
    private struct Sample: Sendable {
        var arrival: Int64
        var delay: Int64
    }

    /// A ring of the last groups.
    private var recent: [Sample] = []
    private var next = 0
    /// Least delays of the last spans of `bucketNanoseconds`, newest last.
    private var buckets: [Int64] = []
    private var bucketEnd: Int64 = 0

    package init() {
        recent.reserveCapacity(Self.capacity)
        buckets.reserveCapacity(Self.bucketCount + 1)
    }

    package mutating func add(_ group: ArrivalGroup) {
        // The last packet of a heap may have waited for a frame's time without any queue.
        let allowance = group.isHeap ? min(Self.heapNanoseconds, max(0, group.delay &- (base ?? group.delay))) : 0
        let sample = Sample(arrival: group.lastArrival, delay: group.delay &- allowance)
        if recent.count < Self.capacity { recent.append(sample) } else { recent[next] = sample }
        next = (next + 1) % Self.capacity
        if buckets.isEmpty || group.lastArrival >= bucketEnd {
            buckets.append(group.delay)
            if buckets.count > Self.bucketCount { buckets.removeFirst() }
            bucketEnd = group.lastArrival &+ Self.bucketNanoseconds
        } else {
            buckets[buckets.count - 1] = min(buckets[buckets.count - 1], group.delay)
        }
    }

    /// Delay of the empty path in the receiver's clock; nil before the first group.
    package var base: Int64? { buckets.min() }

    /// Milliseconds that every group of the last 100 ms, and at least of the last eight, has waited.
    package var floorMilliseconds: Double { floor(minimumCount: Self.floorCount, nanoseconds: Self.floorNanoseconds) }

    /// The same over the last three groups: sooner, and fooled more easily.
    package var quickFloorMilliseconds: Double { floor(minimumCount: Self.quickCount, nanoseconds: 0) }

    /// Takes what stands now for the empty path: the rate fell and the delay did not, so it is the path's own.
    package mutating func rebase() {
        guard let base else { return }
        let floor = base &+ Int64(floorMilliseconds * 1e6)
        buckets.removeAll(keepingCapacity: true)
        buckets.append(floor)
    }

    private func floor(minimumCount: Int, nanoseconds: Int64) -> Double {
        guard let base, recent.count >= minimumCount else { return 0 }
        var least = Int64.max
        var newest: Int64?
        for age in 1...recent.count {
            let sample = recent[(next - age + Self.capacity * 2) % Self.capacity]
            let since = (newest ?? sample.arrival) &- sample.arrival
            if age > minimumCount, since > nanoseconds || age > recent.count { break }
            newest = newest ?? sample.arrival
            least = min(least, sample.delay)
        }
        return max(0, Double(least &- base) / 1e6)
    }

    private static let capacity = 64
    private static let heapNanoseconds: Int64 = 33_000_000
    /// As many for a flow of few packets as for a larger one beside it: the least of more samples is less.
    private static let floorCount = 8
    private static let quickCount = 3
    private static let floorNanoseconds: Int64 = 100_000_000
    /// A minute: two flows that fill a path together seldom leave it empty, and the one that forgets sooner how that was
    /// takes more and more. Not longer, for clocks drift apart by some milliseconds meanwhile.
    private static let bucketCount = 30
    private static let bucketNanoseconds: Int64 = 2_000_000_000
}
