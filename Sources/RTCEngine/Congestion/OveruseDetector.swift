// Whether the path is used too much (draft-ietf-rmcat-gcc-02 §5.4, with a second witness). In: trend and queueing delay
// after each group. Out: a hypothesis. The trend sees a queue grow, early; the floor of the delay says whether there is
// a queue at all, which a trend made of scheduling noise does not have.

/// What the delay says about the path.
package enum BandwidthUsage: Hashable, Sendable {
    case normal
    case overuse
    /// A queue is draining.
    case underuse
}

package struct OveruseDetector: Sendable {
    package private(set) var usage = BandwidthUsage.normal
    /// Adapts to how noisy the trend is (draft-ietf-rmcat-gcc-02 §5.4).
    package private(set) var threshold = OveruseDetector.initialThreshold
    private var lastUpdate: Int64?
    private var overuseStart: Int64?
    private var previousTrend = 0.0

    package init() {}

    /// `toleranceMilliseconds`: the standing queue that is overuse whatever the trend says.
    package mutating func update(
        trend: Double, floorMilliseconds: Double, quickFloorMilliseconds: Double, toleranceMilliseconds: Double, arrival: Int64
    ) {
        let isGrowing = trend > threshold && floorMilliseconds > toleranceMilliseconds / 2
        if isGrowing {
            let start = overuseStart ?? arrival
            overuseStart = start
        } else {
            overuseStart = nil
        }
        let isConfirmed = overuseStart.map { arrival &- $0 >= Self.overuseNanoseconds } ?? false
        let stands = floorMilliseconds > toleranceMilliseconds
        let isSudden = quickFloorMilliseconds > max(3 * toleranceMilliseconds, Self.suddenMilliseconds)
        if trend < -threshold && floorMilliseconds > toleranceMilliseconds / 2 {
            usage = .underuse
        } else if (isConfirmed && trend >= previousTrend) || stands || isSudden {
            usage = .overuse
        } else {
            usage = .normal
        }
        previousTrend = trend
        adapt(to: trend, arrival: arrival)
    }

    private mutating func adapt(to trend: Double, arrival: Int64) {
        let milliseconds = min(max(Double(arrival &- (lastUpdate ?? arrival)) / 1e6, 0), 100)
        lastUpdate = arrival
        // A spike is no noise to get used to.
        guard abs(trend) <= threshold + 15 else { return }
        let gain = abs(trend) < threshold ? Self.downGain : Self.upGain
        threshold = min(
            max(threshold + gain * (abs(trend) - threshold) * milliseconds, Self.thresholds.lowerBound), Self.thresholds.upperBound)
    }

    /// draft-ietf-rmcat-gcc-02 §5.4 table 1.
    private static let initialThreshold = 12.5
    private static let thresholds = 6.0...600.0
    private static let upGain = 0.0087
    private static let downGain = 0.039
    private static let overuseNanoseconds: Int64 = 10_000_000
    private static let suddenMilliseconds = 80.0
}
