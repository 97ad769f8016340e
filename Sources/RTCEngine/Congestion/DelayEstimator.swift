// The delay side as one: groups, trend, queue, detector, what arrives, and the rate they lead to. In: packets that
// arrived. Out: the delay-based estimate.

package import RTCBase

package struct DelayEstimator: Sendable {
    package var rate: RateControl
    package private(set) var acked = AckedBitrate()
    package private(set) var queue = QueueingDelay()
    private var groups = ArrivalGroups()
    private var trend = TrendlineEstimator()
    private var detector = OveruseDetector()
    /// The reference time unwrapped, in 64 ms.
    private var reference: Int64?
    /// Delay of the newest arrival, to see the receiver's clock being set.
    private var lastDelay: Int64?
    private var lastGroupDelay: Int64?
    /// Milliseconds that the delay differs from group to group, on average: much on a jittery path, little in a queue.
    private var roughness = 0.0

    package init(estimate: Double, limits: ClosedRange<Double>) { rate = RateControl(estimate: estimate, limits: limits) }

    /// How long arrivals are held back before they are handed over at once, averaged over all groups.
    package private(set) var heapSeconds = 0.0

    /// No queue stands as far as can be seen.
    package var isQuiet: Bool { !rate.isDraining && queue.floorMilliseconds < toleranceMilliseconds / 2 }

    /// Time of the receiver's clock for the 24-bit reference of a report.
    package mutating func referenceNanoseconds(_ value: Int32) -> Int64 {
        let unwrapped: Int64
        if let reference {
            // 24 bits on a circle: the difference with sign.
            let step = ((Int64(value) &- reference) << 40) >> 40
            unwrapped = reference &+ step
        } else {
            unwrapped = Int64(value)
        }
        reference = max(reference ?? unwrapped, unwrapped)
        return unwrapped &* 64_000_000
    }

    /// `isCounted`: its bytes were added when the report about it seemed lost.
    package mutating func onArrival(_ packet: SentPacket, arrival: Int64, isCounted: Bool) {
        let send = packet.time.nanoseconds
        let delay = arrival &- send
        let step = delay &- (lastDelay ?? delay)
        if step > Self.clockStep || step < -Self.clockStep { restart() }
        lastDelay = delay
        if !isCounted { acked.add(arrival: arrival, byteCount: packet.byteCount) }
        guard let group = groups.add(send: send, arrival: arrival, byteCount: packet.byteCount) else { return }
        let span = group.isHeap ? Double(group.lastSend &- group.firstSend) / 1e9 : 0
        heapSeconds += (min(span, 1) - heapSeconds) / 8
        queue.add(group)
        trend.add(group)
        if let last = lastGroupDelay {
            let step = min(Double((group.delay &- last).magnitude) / 1e6, Self.longestStep)
            roughness += (step - roughness) / Self.roughnessGroups
        }
        lastGroupDelay = group.delay
        detector.update(
            trend: trend.modifiedTrend, floorMilliseconds: queue.floorMilliseconds,
            quickFloorMilliseconds: queue.quickFloorMilliseconds, toleranceMilliseconds: toleranceMilliseconds,
            arrival: group.lastArrival)
    }

    package mutating func addUntold(byteCount: Int, arrival: Int64) { acked.add(arrival: arrival, byteCount: byteCount) }

    /// True when the estimate was lowered.
    /// `usualLoss`: the share lost at any rate; what arrives is that much less than what the path took.
    package mutating func update(
        isAppLimited: Bool, usualLoss: Double, responseNanoseconds: Int64, now: MonotonicTime
    ) -> Bool {
        let before = rate.estimate
        let taken = 1 / (1 - min(usualLoss, Self.mostLoss))
        let input = RateControl.Input(
            usage: detector.usage, floorMilliseconds: queue.floorMilliseconds, quickFloorMilliseconds: queue.quickFloorMilliseconds,
            toleranceMilliseconds: toleranceMilliseconds, emptyMilliseconds: Self.empty,
            acknowledged: acked.bitsPerSecond(milliseconds: 500).map { $0 * taken },
            recentlyAcknowledged: acked.bitsPerSecond(milliseconds: 200).map { $0 * taken }, isAppLimited: isAppLimited,
            responseNanoseconds: responseNanoseconds)
        if rate.update(input, now: now) { queue.rebase() }
        return rate.estimate < before
    }

    /// A standing queue below this is tolerated. The larger of two flows tolerates less, by the same step for each doubling,
    /// so that it gives way first and they meet; and the time one full packet takes at a narrow bottleneck is no queue. Jitter
    /// now and then raises all packets of a moment, so a jittery path has to stand higher before it counts.
    private var toleranceMilliseconds: Double {
        let rate = max(acked.bitsPerSecond(milliseconds: 500) ?? self.rate.estimate, Self.lowestSharedRate)
        let ratio = rate / Self.lowestSharedRate
        // The logarithm to base 2, straight between powers.
        let doublings = Double(ratio.exponent) + ratio.significand - 1
        let tolerance = max(Self.mostTolerance - Self.toleranceStep * doublings, Self.leastTolerance)
        // Packets of our own that follow each other through the bottleneck are no jitter.
        let jitter = max(0, roughness - Self.ownBits * 1e3 / rate)
        return tolerance + min(Self.jitterTolerance * jitter, Self.mostJitterTolerance)
    }

    private mutating func restart() {
        acked = AckedBitrate()
        lastGroupDelay = nil
        queue = QueueingDelay()
        groups = ArrivalGroups()
        trend = TrendlineEstimator()
        detector = OveruseDetector()
    }

    private static let mostTolerance = 58.0
    private static let leastTolerance = 20.0
    private static let toleranceStep = 8.0
    private static let lowestSharedRate = 300_000.0
    private static let roughnessGroups = 32.0
    private static let longestStep = 50.0
    private static let ownBits = 2.0 * 1_200 * 8
    private static let jitterTolerance = 2.0
    private static let mostJitterTolerance = 20.0
    private static let mostLoss = 0.3
    private static let empty = 4.0
    /// No queue is so long.
    private static let clockStep: Int64 = 20_000_000_000
}
