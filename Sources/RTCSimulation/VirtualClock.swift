package import RTCBase

/// Time that passes only when told to. A simulation steps it from deadline to deadline, so days of network weather
/// pass in seconds, the same each run.
package struct VirtualClock: Sendable {
    package private(set) var now: MonotonicTime

    /// Starts away from zero, so that code which takes zero for "never" is found out.
    package init(startingAt start: MonotonicTime = MonotonicTime(milliseconds: 1_000_000)) { now = start }

    /// Goes to the earliest of `deadlines`, at least by a nanosecond so that a simulation cannot stand still, and
    /// not beyond `limit`.
    package mutating func advance(to deadlines: [MonotonicTime?], limit: MonotonicTime) {
        let earliest = deadlines.compactMap(\.self).min() ?? limit
        now = min(max(earliest, now.adding(nanoseconds: 1)), max(limit, now))
    }

    package mutating func advance(to time: MonotonicTime) { now = max(now, time) }

    /// The same for one deadline.
    package mutating func advance(to deadline: MonotonicTime, limit: MonotonicTime) {
        now = min(max(deadline, now.adding(nanoseconds: 1)), max(limit, now))
    }
}
