/// A reading of the process-wide monotonic clock, in nanoseconds from an arbitrary start.
///
/// Engine code receives it as an argument and never reads a clock itself; tests make values up (virtual time).
package struct MonotonicTime: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    package init(milliseconds: Int64) { self.nanoseconds = milliseconds &* 1_000_000 }

    package static func < (lhs: MonotonicTime, rhs: MonotonicTime) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

    package func adding(nanoseconds other: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds &+ other) }
    package func adding(milliseconds: Int64) -> MonotonicTime { adding(nanoseconds: milliseconds &* 1_000_000) }

    /// Nanoseconds from `earlier` to this reading; negative when `earlier` is later.
    package func nanoseconds(since earlier: MonotonicTime) -> Int64 { nanoseconds &- earlier.nanoseconds }
    package func milliseconds(since earlier: MonotonicTime) -> Double { Double(nanoseconds(since: earlier)) / 1e6 }

    package static func - (lhs: MonotonicTime, rhs: MonotonicTime) -> Duration {
        .nanoseconds(lhs.nanoseconds(since: rhs))
    }
    package static func + (lhs: MonotonicTime, rhs: Duration) -> MonotonicTime {
        let (seconds, attoseconds) = rhs.components
        return lhs.adding(nanoseconds: seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }
}
