// How late the packets of one audio stream are, against the fastest of them: the part of the jitter buffer that decides
// how much delay is enough. In: arrival times with media times. Out: the base (transit time of the fastest packet, on no
// clock in particular) and the delay behind it that is worth waiting for. Transit times are compared with each
// other only, so no clocks need agree; the base follows a slow drift and a new path. Left out: what to do about it.
//
// The method is the usual one of adaptive playout (Ramjee et al. 1994; the delay histogram with forgetting of libwebrtc's
// delay_manager.h), with two differences: a heap of packets that was held up somewhere counts as one event, not as
// many late packets, and a packet that only its successor's forward error correction can replace counts as arriving
// with that.

package import RTCBase

/// A histogram of delays in bins of one millisecond; nothing allocates after `init`.
package struct ArrivalDelayEstimator: Sendable {
    /// Weight of the observations by whole milliseconds behind the base.
    private var weights: [Float]
    private var totalWeight: Float = 0
    /// Weight of the next observation: it grows, instead of all the others shrinking.
    private var nextWeight: Float = 1
    private var observations = 0
    /// The smallest transit time of this and of the last window, in nanoseconds.
    private var currentMinimum: Int64?
    private var earlierMinimum: Int64?
    private var windowEnd = MonotonicTime(nanoseconds: 0)
    private var lastArrival: MonotonicTime?
    private var lastDelay: Int64 = 0

    package init() { weights = Array(repeating: 0, count: Self.binCount) }

    /// Transit time of the fastest packet lately, in nanoseconds from an arbitrary origin; nil before the first.
    package var baseNanoseconds: Int64? {
        guard let currentMinimum else { return nil }
        return min(currentMinimum, earlierMinimum ?? currentMinimum)
    }

    /// A packet came.
    ///
    /// - Parameters:
    ///   - timestamp: unwrapped, 48 kHz.
    ///   - repairedSamples: how long the lost packet before it is that it can repair; 0 when there is none.
    package mutating func add(arrival: MonotonicTime, timestamp: Int64, durationSamples: Int, repairedSamples: Int = 0) {
        let transit = Self.transit(at: arrival, timestamp: timestamp)
        if let base = baseNanoseconds, (transit &- base).magnitude > Self.implausibleNanoseconds { restart() }
        rotateWindow(at: arrival)
        currentMinimum = min(currentMinimum ?? transit, transit)
        let delay = transit &- (baseNanoseconds ?? transit)
        defer {
            lastArrival = arrival
            lastDelay = delay
        }
        if let lastArrival {
            // Let go together with the one before: it was held up by the same thing, and for less long.
            let gap = arrival.nanoseconds(since: lastArrival)
            if gap < Self.nanoseconds(samples: Int64(durationSamples)) / 4, delay <= lastDelay { return }
        }
        observe(delay)
        if repairedSamples > 0 { observe(delay &+ Self.nanoseconds(samples: Int64(repairedSamples))) }
    }

    /// The delay behind the base beyond which waiting longer costs more than what still comes too late, in nanoseconds.
    ///
    /// A percent of sound made up is held to be as bad as 20 ms of delay (libwebrtc's reorder_optimizer.h takes the same). Then
    /// long delays are waited for when one packet in a hundred has them, and short ones, for which a whole block would have
    /// to be made up, when fewer have.
    package var enoughNanoseconds: Int64 {
        var sum: Float = 0
        var enough: Int64 = 0
        for bin in stride(from: Self.binCount - 1, through: 0, by: -1) where weights[bin] > 0 {
            sum += weights[bin]
            let share = max(Self.leastShare, min(Self.mostShare, Float(bin) * Self.sharePerMillisecond))
            // One odd packet is no rule: it would cost everybody delay for seconds.
            if sum > max(totalWeight * share, nextWeight * 1.02) {
                enough = Int64(bin + 1) * 1_000_000
                break
            }
        }
        return observations < Self.learningCount ? max(enough, Self.initialNanoseconds) : max(enough, Self.leastNanoseconds)
    }

    /// Forgets the base and keeps the habits: the stream goes on with another time line.
    package mutating func restart() {
        currentMinimum = nil
        earlierMinimum = nil
        lastArrival = nil
    }

    /// When a sample was to play for its transit time to be zero. Wrong for absurd timestamps, but never a trap.
    package static func transit(at time: MonotonicTime, timestamp: Int64) -> Int64 {
        time.nanoseconds &- nanoseconds(samples: timestamp)
    }

    /// 48 kHz.
    package static func nanoseconds(samples: Int64) -> Int64 { samples &* 62_500 / 3 }

    private mutating func observe(_ delay: Int64) {
        let bin = Int(clamping: max(0, delay) / 1_000_000)
        weights[min(bin, Self.binCount - 1)] += nextWeight
        totalWeight += nextWeight
        nextWeight /= Self.forgetting
        observations += observations < Self.learningCount ? 1 : 0
        guard nextWeight > 1e6 else { return }
        let scale = 1 / nextWeight
        for bin in weights.indices { weights[bin] *= scale }
        totalWeight = weights.reduce(0, +)
        nextWeight = 1
    }

    private mutating func rotateWindow(at arrival: MonotonicTime) {
        if currentMinimum == nil {
            windowEnd = arrival.adding(nanoseconds: Self.windowNanoseconds)
        } else if arrival >= windowEnd {
            earlierMinimum = currentMinimum
            currentMinimum = nil
            windowEnd = arrival.adding(nanoseconds: Self.windowNanoseconds)
        }
    }

    private static let binCount = 512
    /// 250 packets: what happened 5 s ago counts a third.
    private static let forgetting: Float = 0.996
    private static let leastShare: Float = 0.002
    private static let mostShare: Float = 0.01
    private static let sharePerMillisecond: Float = 0.001
    private static let learningCount = 25
    private static let initialNanoseconds: Int64 = 10_000_000
    /// The grain of the histogram, and as much again for the scheduling of the playing side.
    private static let leastNanoseconds: Int64 = 2_000_000
    /// The base is the minimum of 4 to 8 s: a new path is the normal case after that, and 200 ppm make 1.6 ms.
    private static let windowNanoseconds: Int64 = 4_000_000_000
    /// Further than 2 s from the base is another time line, not delay.
    private static let implausibleNanoseconds: UInt64 = 2_000_000_000
}
