// The estimate for a peer that sends receiver reports only (draft-ietf-rmcat-gcc-02 §6). In: fraction lost and round
// trip, once a second or so. Out: bits per second. A round trip far above its shortest is a queue.

package import RTCBase

package struct ReportedLossControl: Sendable {
    /// Bits per second; nil before the first report.
    package private(set) var bound: Double?
    private var roundTrip = RoundTripFloor()
    private var lastUpdate: MonotonicTime?

    package init() {}

    /// Lets reports move the rate from `rate` on.
    package mutating func begin(_ rate: Double) { bound = bound ?? rate }

    package mutating func update(
        fraction: Double, roundTripNanoseconds: Int64?, start: Double, sent: Double?, limits: ClosedRange<Double>, now: MonotonicTime
    ) {
        let rate = bound ?? start
        // Several streams report in one compound: one step for all of them, and the worst of them counts.
        let elapsed = lastUpdate.map { Double(now.nanoseconds(since: $0)) / 1e9 } ?? 1
        if let roundTripNanoseconds { roundTrip.add(roundTripNanoseconds, now: now) }
        let queue = (roundTripNanoseconds ?? 0) - (roundTrip.nanoseconds ?? 0)
        var next = rate
        if fraction > Self.highLoss {
            next = rate * (1 - fraction / 2)
        } else if queue > Self.longQueue {
            next = rate * Self.queueShare
        } else if fraction < Self.lowLoss, (sent ?? rate) > rate * Self.usedShare {
            next = rate * (1 + Self.growth * min(max(elapsed, 0), 2))
        }
        if elapsed < Self.shortestStep, next >= rate { return }
        lastUpdate = now
        bound = min(max(next, limits.lowerBound), limits.upperBound)
    }

    /// draft-ietf-rmcat-gcc-02 §6: decrease above 10 %, increase below 2 %.
    private static let highLoss = 0.1
    private static let lowLoss = 0.02
    private static let growth = 0.08
    private static let usedShare = 0.6
    private static let queueShare = 0.85
    private static let longQueue: Int64 = 150_000_000
    private static let shortestStep = 0.1
}
