// How much delay the jitter buffer keeps. Sound leaves in blocks of 10 ms, and a packet is needed when the block falls due
// that its first sample is in. So what counts is the slack: the time from the arrival of the fastest packets to the
// moment they are needed. It is to be at least the target that the arrivals ask for, and less than a block more. What is
// beyond goes by time compression, what is short comes by stretching, both in whole blocks of slack; where the content
// of blocks and packets is out of step, the part of a block that this wastes goes as well. The fraction of a block that
// remains is the playing thread's to remove, by moving its deadlines (`phaseError`).

package import RTCBase

extension AudioJitterBuffer {
    /// The slack aimed at, in nanoseconds.
    package var targetNanoseconds: Int64 { estimator.enoughNanoseconds }

    /// What to do about the delay before the block due at `now` leaves. Call it with a whole block pending, do it when
    /// possible, and report what came of it to `didAdjust`.
    package mutating func adjustment(now: MonotonicTime, pendingSamples: Int) -> AudioAdjustment {
        guard let slack = slackNanoseconds(now: now, pendingSamples: pendingSamples) else { return .none }
        let target = targetNanoseconds
        let waste = pendingSamples % Self.blockSamples
        statistics.targetDelayNanoseconds = target
        statistics.currentDelayNanoseconds = slack &+ ArrivalDelayEstimator.nanoseconds(samples: Int64(waste))
        let sinceLast = lastAdjustment.map { now.nanoseconds(since: $0) } ?? .max
        if slack < target - Self.shortNanoseconds {
            guard sinceLast >= Self.insertIntervalNanoseconds else { return .none }
            let blocks = Int((target - slack + Self.blockNanoseconds - 1) / Self.blockNanoseconds)
            return .insert(about: min(blocks, Self.maxBlocks) * Self.blockSamples - waste)
        }
        let blocks = excessBlocks(slack: slack, target: target)
        let removable = min(blocks, Self.maxBlocks) * Self.blockSamples + waste
        if blocks >= Self.urgentBlocks {
            return sinceLast >= Self.urgentIntervalNanoseconds ? .remove(atMost: removable, care: .urgent) : .none
        }
        // A single block more than needed, right after the sound ran out, is more likely the new need.
        let sinceUnderrun = lastUnderrun.map { now.nanoseconds(since: $0) } ?? .max
        if blocks >= 2 || (blocks == 1 && sinceUnderrun >= Self.patienceNanoseconds) {
            return sinceLast >= Self.gentleIntervalNanoseconds ? .remove(atMost: removable, care: .gentle) : .none
        }
        if waste >= TimeStretcher.minLagFrames, sinceUnderrun >= Self.patienceNanoseconds, sinceLast >= Self.wasteIntervalNanoseconds {
            return .remove(atMost: waste, care: .gentle)
        }
        return .none
    }

    /// So many samples were taken out (negative) or put in; 0 when there was no place for it.
    package mutating func didAdjust(by samples: Int, now: MonotonicTime) {
        lastAdjustment = now
        if samples < 0 { statistics.acceleratedSamples &+= UInt64(-samples) }
        if samples > 0 { statistics.expandedSamples &+= UInt64(samples) }
    }

    /// How much later than needed the deadlines of the playing side lie, in nanoseconds; nil when stretching has to act
    /// first, or nothing plays.
    package func phaseError(now: MonotonicTime, pendingSamples: Int) -> Int64? {
        guard let slack = slackNanoseconds(now: now, pendingSamples: pendingSamples) else { return nil }
        let error = slack &- targetNanoseconds
        return error >= -Self.shortNanoseconds && error <= Self.blockNanoseconds + Self.hysteresisNanoseconds ? error : nil
    }

    /// Samples that can go without a need for them, by the rules of `adjustment`.
    func excessSamples(now: MonotonicTime, pendingSamples: Int) -> Int {
        guard let slack = slack(now: now, pendingSamples: pendingSamples) else { return 0 }
        let blocks = excessBlocks(slack: slack, target: targetNanoseconds)
        return blocks < 1 ? 0 : min(blocks, Self.maxBlocks) * Self.blockSamples + pendingSamples % Self.blockSamples
    }

    /// How long ago the next packet would have arrived if it had been as fast as any.
    func delayNanoseconds(ofNextAt now: MonotonicTime) -> Int64 {
        guard let slot = oldestSlot(), let base = estimator.baseNanoseconds else { return 0 }
        return ArrivalDelayEstimator.transit(at: now, timestamp: slot.timestamp) &- base
    }

    /// The slack while sound plays that was received; nil else.
    private func slackNanoseconds(now: MonotonicTime, pendingSamples: Int) -> Int64? {
        stalledSamples == 0 ? slack(now: now, pendingSamples: pendingSamples) : nil
    }

    private func slack(now: MonotonicTime, pendingSamples: Int) -> Int64? {
        guard phase == .playing, let base = estimator.baseNanoseconds else { return nil }
        // The first sample pending plays now. Behind the last whole block pending the next packet is needed.
        let whole = Int64(pendingSamples - pendingSamples % Self.blockSamples)
        let needed = now.adding(nanoseconds: ArrivalDelayEstimator.nanoseconds(samples: whole))
        let slack = ArrivalDelayEstimator.transit(at: needed, timestamp: nextTimestamp &+ Int64(stalledSamples)) &- base
        // Beyond any delay: what plays and what arrives belong to different time lines.
        return slack.magnitude < Self.implausibleNanoseconds ? slack : nil
    }

    private func excessBlocks(slack: Int64, target: Int64) -> Int {
        let excess = slack &- target &- Self.hysteresisNanoseconds
        return excess < 0 ? 0 : Int(clamping: excess / Self.blockNanoseconds)
    }

    private static let blockNanoseconds: Int64 = 10_000_000
    private static let hysteresisNanoseconds: Int64 = 1_000_000
    private static let shortNanoseconds: Int64 = 1_500_000
    /// From 40 ms too much the delay itself is what disturbs.
    private static let urgentBlocks = 4
    /// One joint in 20 ms: half as fast again as usual.
    private static let urgentIntervalNanoseconds: Int64 = 20_000_000
    private static let gentleIntervalNanoseconds: Int64 = 100_000_000
    private static let wasteIntervalNanoseconds: Int64 = 500_000_000
    private static let insertIntervalNanoseconds: Int64 = 40_000_000
    private static let patienceNanoseconds: Int64 = 2_000_000_000
    private static let implausibleNanoseconds: UInt64 = 3_000_000_000
    /// Keeps counts small whatever the times are.
    private static let maxBlocks = 100
}
