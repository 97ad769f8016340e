// The delay-based estimate: additive in effect while the path is free, multiplicative down when a queue stands
// (draft-ietf-rmcat-gcc-02 §5.5). In: the detector's word, the queue, what arrives. Out: bits per second. A decrease
// goes to what the path just carried, goes lower the longer the queue is, and ends at the measured share when the queue
// has drained. Growth is faster for the smaller of two flows, so that they meet, and gets faster the longer no queue was
// seen, so that a path which opened up is filled.

package import RTCBase

package struct RateControl: Sendable {
    package struct Input: Sendable {
        package var usage: BandwidthUsage
        package var floorMilliseconds: Double
        package var quickFloorMilliseconds: Double
        package var toleranceMilliseconds: Double
        /// Less than this is no queue.
        package var emptyMilliseconds: Double
        /// What arrived over the last half second and over the last moments.
        package var acknowledged: Double?
        package var recentlyAcknowledged: Double?
        /// The sender makes less than it may: no growth, for nothing shows that there is room.
        package var isAppLimited: Bool
        /// Round trip and feedback interval: how long a change takes to be seen.
        package var responseNanoseconds: Int64

        package init(
            usage: BandwidthUsage, floorMilliseconds: Double, quickFloorMilliseconds: Double, toleranceMilliseconds: Double,
            emptyMilliseconds: Double, acknowledged: Double?, recentlyAcknowledged: Double?, isAppLimited: Bool, responseNanoseconds: Int64
        ) {
            self.usage = usage
            self.floorMilliseconds = floorMilliseconds
            self.quickFloorMilliseconds = quickFloorMilliseconds
            self.toleranceMilliseconds = toleranceMilliseconds
            self.emptyMilliseconds = emptyMilliseconds
            self.acknowledged = acknowledged
            self.recentlyAcknowledged = recentlyAcknowledged
            self.isAppLimited = isAppLimited
            self.responseNanoseconds = responseNanoseconds
        }
    }

    private struct Drain: Sendable {
        var began: MonotonicTime
        /// The last time the rate was lowered, and the queue then.
        var lowered: MonotonicTime
        var floorMilliseconds: Double
        /// The estimate when the queue is gone, at least.
        var resume: Double
        /// The estimate before.
        var before: Double
        var count = 1
        /// To the ground, so that a flow that came later learns how short the path really is.
        var isDeep: Bool
    }

    /// Bits per second.
    package private(set) var estimate: Double
    /// A queue of ours is draining.
    package var isDraining: Bool { drain != nil }
    /// What arrived when the path was full, averaged, and how much that differs from time to time, as a share.
    package private(set) var capacity: Double?
    package private(set) var capacityDeviation = RateControl.firstDeviation
    package private(set) var lastOveruse: MonotonicTime?
    private var drain: Drain?
    private var lastDeep: MonotonicTime?
    /// When growth reached what the path carried last time.
    private var reachedTop: MonotonicTime?
    private var lastUpdate: MonotonicTime?
    private var limits: ClosedRange<Double>

    package init(estimate: Double, limits: ClosedRange<Double>) {
        self.limits = limits
        self.estimate = min(max(estimate, limits.lowerBound), limits.upperBound)
    }

    package mutating func setLimits(_ limits: ClosedRange<Double>) {
        self.limits = limits
        set(estimate)
    }

    /// A probe or a restart knows better.
    package mutating func set(_ bitsPerSecond: Double) { estimate = min(max(bitsPerSecond, limits.lowerBound), limits.upperBound) }

    /// True when the delay does not follow the rate any more: what stands is the path's own.
    package mutating func update(_ input: Input, now: MonotonicTime) -> Bool {
        let elapsed = min(max(Double(now.nanoseconds(since: lastUpdate ?? now)) / 1e9, 0), Self.longestStep)
        lastUpdate = now
        if input.usage == .overuse {
            return lower(input, now: now)
        }
        if let drain {
            let isOver =
                drain.isDeep
                ? input.floorMilliseconds < input.emptyMilliseconds
                    || now.nanoseconds(since: drain.began) > Self.deepNanoseconds + input.responseNanoseconds
                : input.floorMilliseconds < input.toleranceMilliseconds / 2
            if isOver {
                // The path was full until now, so what arrived last is what it carries.
                let carried = (input.recentlyAcknowledged ?? 0) * backOff
                set(max(estimate, drain.resume, min(carried, drain.before * backOff)))
                self.drain = nil
                lastOveruse = now
            }
            return false
        }
        if input.usage == .normal, !input.isAppLimited { raise(input, elapsed: elapsed, now: now) }
        return false
    }

    private mutating func lower(_ input: Input, now: MonotonicTime) -> Bool {
        lastOveruse = now
        reachedTop = nil
        if let drain {
            // Give the last decrease the time to be seen.
            guard now.nanoseconds(since: drain.lowered) >= input.responseNanoseconds else { return false }
            if input.floorMilliseconds < drain.floorMilliseconds * Self.fallenShare {
                self.drain?.lowered = now
                self.drain?.floorMilliseconds = input.floorMilliseconds
                return false
            }
            if drain.count >= Self.futileCount {
                self.drain = nil
                set(max(estimate, drain.resume))
                return true
            }
        }
        let long = input.acknowledged ?? estimate
        let isLong = input.floorMilliseconds > 2 * input.toleranceMilliseconds
        let recent = input.recentlyAcknowledged ?? long
        // A short queue comes at the end of growth, which the longer mean lags behind.
        let carried = max(isLong ? min(long, recent) : min(max(long, recent), max(estimate, long)), estimate * Self.leastCarried)
        note(capacity: carried)
        let depth = max(0, input.quickFloorMilliseconds - Self.shallowMilliseconds) / Self.deepMilliseconds
        let isDeep = drain?.isDeep ?? (now.nanoseconds(since: lastDeep ?? MonotonicTime(nanoseconds: 0)) > Self.deepInterval)
        if isDeep { lastDeep = now }
        let share = backOff - (isDeep ? Self.deepBackOff : min(depth, 1) * Self.longBackOff)
        let before = drain?.before ?? estimate
        var resume = min(before * Self.leastDecrease, carried * backOff)
        if let drain {
            // Below what the path carries by intention, what arrives says nothing, unless the queue grew all the same.
            let isTold = !drain.isDeep || input.floorMilliseconds > drain.floorMilliseconds * Self.grownShare
            resume = isTold ? min(drain.resume, resume) : drain.resume
        }
        set(min(estimate * Self.leastDecrease, carried * share))
        let count = (drain?.count ?? 0) + 1
        drain = Drain(
            began: drain?.began ?? now, lowered: now, floorMilliseconds: input.floorMilliseconds,
            resume: resume, before: before, count: count, isDeep: isDeep)
        return false
    }

    /// The share of what a full path carried that is used next.
    private var backOff: Double {
        let ratio = max(estimate / Self.growthRate, 1e-6)
        // The logarithm to base 2, straight between powers.
        let doublings = Double(ratio.exponent) + ratio.significand - 1
        return min(max(Self.backOff - Self.backOffPerDoubling * doublings, Self.backOffs.lowerBound), Self.backOffs.upperBound)
    }

    private mutating func note(capacity measured: Double) {
        let old = capacity ?? measured
        let deviation = min(abs(measured - old) / max(old, 1), 1)
        capacityDeviation += (deviation - capacityDeviation) * Self.deviationGain
        capacity = old + (measured - old) * Self.capacityGain
    }

    /// Between 0 for a path whose capacity was the same each time it was full, and 1 for one that is another each time.
    package var capacityChange: Double {
        min(max((capacityDeviation - Self.steadyDeviation) / (Self.wildDeviation - Self.steadyDeviation), 0), 1)
    }

    private mutating func raise(_ input: Input, elapsed: Double, now: MonotonicTime) {
        let most = Self.growthPerResponse * 1e9 / Double(input.responseNanoseconds)
        var growth = Self.startGrowth
        var top = Double.infinity
        if let lastOveruse {
            growth = min(
                max(Self.growth * Self.threeQuarterPower(Self.growthRate / estimate), Self.growths.lowerBound), Self.growths.upperBound)
            // On a long path a queue shows late: what is added until then is all too much.
            growth = min(growth, Self.knownGrowthPerResponse * 1e9 / Double(input.responseNanoseconds))
            // A path whose capacity was the same each time deserves patience, one that changes is tried soon.
            let change = capacityChange
            let steady = max(Self.steadySeconds, Self.steadyGain / growth)
            let quiet = Double(now.nanoseconds(since: lastOveruse)) / 1e9 - (steady + (Self.wildSeconds - steady) * change)
            let over = min(
                max(Self.overCapacity * Self.threeQuarterPower(Self.growthRate / estimate), Self.overs.lowerBound), Self.overs.upperBound)
            if quiet > 0 {
                growth *= Self.power(quiet / (Self.steadyDoubling + (Self.wildDoubling - Self.steadyDoubling) * change))
            } else if let capacity, change < 1 {
                top = capacity * (1 + over) / (1 - change)
            }
        }
        // A queue that begins to stand slows it.
        growth = min(growth, most) * min(max(0, 1.5 * (1 - input.floorMilliseconds / input.toleranceMilliseconds)), 1)
        let next = estimate * (1 + growth * elapsed)
        guard next > top else { return set(next) }
        // Wait at the top for the queue to show; when it does not, there is room, or another flow that should give way.
        let since = reachedTop ?? now
        reachedTop = since
        set(now.nanoseconds(since: since) > input.responseNanoseconds + Self.topNanoseconds ? next : max(estimate, top))
    }

    /// 2 to the power of `exponent`, at most 64, without a library: by squares and a line.
    private static func power(_ exponent: Double) -> Double {
        let whole = min(exponent.rounded(.down), 5)
        return Double(1 << Int(whole)) * (1 + min(exponent - whole, 1))
    }

    private static func threeQuarterPower(_ value: Double) -> Double {
        return value
    }

    private static let longestStep = 0.2
    /// libwebrtc and the draft take 0.85; the queue is drained apart from that. The larger of two flows gives up more.
    private static let backOff = 0.87
    private static let backOffPerDoubling = 0.035
    private static let backOffs = 0.8...0.96
    private static let leastDecrease = 0.95
    private static let shallowMilliseconds = 60.0
    private static let deepMilliseconds = 400.0
    private static let longBackOff = 0.4
    private static let deepBackOff = 0.3
    private static let deepNanoseconds: Int64 = 200_000_000
    private static let deepInterval: Int64 = 8_000_000_000
    private static let fallenShare = 0.8
    private static let grownShare = 1.2
    /// So many decreases without a smaller delay: about half the rate.
    private static let futileCount = 5
    /// Relative growth per second at `growthRate`; it falls with the power of 3/4 of the rate. One would be a fixed step, which makes two
    /// flows meet soonest and large ones crawl.
    private static let growth = 0.12
    private static let growthRate = 2e6
    private static let growths = 0.05...0.5
    private static let firstDeviation = 0.1
    private static let deviationGain = 0.25
    private static let capacityGain = 0.5
    private static let steadyDeviation = 0.1
    private static let wildDeviation = 0.3
    private static let steadySeconds = 3.0
    /// What a decrease took has to come back before patience ends.
    private static let steadyGain = 0.2
    /// How far above what the path carried last time a steady path is asked again: enough for a queue to show.
    private static let overCapacity = 0.1
    private static let topNanoseconds: Int64 = 300_000_000
    private static let overs = 0.04...0.15
    private static let wildSeconds = 0.2
    private static let steadyDoubling = 1.0
    private static let wildDoubling = 0.15
    /// A path that stood still carried nothing for that time, which is not its capacity.
    private static let leastCarried = 0.5
    private static let startGrowth = 1.0
    /// So much may be added before the effect is seen.
    private static let growthPerResponse = 0.2
    /// The same near what the path carried last time.
    private static let knownGrowthPerResponse = 0.13
}
