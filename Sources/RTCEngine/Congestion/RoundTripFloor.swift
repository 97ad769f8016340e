package import RTCBase

/// The shortest round trip of the last half minute: the path without a queue, feedback interval included.
package struct RoundTripFloor: Sendable {
    /// Of the running span and of the one before; nil before the first sample.
    private var current: Int64?
    private var previous: Int64?
    private var spanEnd: MonotonicTime?

    package init() {}

    package var nanoseconds: Int64? {
        guard let current else { return previous }
        return min(current, previous ?? current)
    }

    package mutating func add(_ sample: Int64, now: MonotonicTime) {
        guard sample >= 0, sample <= Self.longest else { return }
        if let end = spanEnd, now >= end {
            previous = current
            current = nil
            spanEnd = nil
        }
        spanEnd = spanEnd ?? now.adding(nanoseconds: Self.span)
        current = min(current ?? sample, sample)
    }

    private static let longest: Int64 = 10_000_000_000
    private static let span: Int64 = 15_000_000_000
}
