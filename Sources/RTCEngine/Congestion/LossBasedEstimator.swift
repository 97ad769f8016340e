// What loss says about the path. In: which packets came and which did not. Out: an upper bound, or none. Loss alone is no
// congestion: a radio loses a tenth of the packets at any rate. So more loss than usual is answered once, by sending what
// got through; if the loss stays it was the path's own and is usual from then on, and if it goes the bound stays and
// rises slowly.

package import RTCBase

package struct LossBasedEstimator: Sendable {
    private struct Trial: Sendable {
        /// Packets sent from here on show the lower rate.
        var from: MonotonicTime
        var fraction: Double
    }

    /// Bits per second; nil while loss says nothing.
    package private(set) var bound: Double?
    /// The share that is lost at any rate.
    package private(set) var usualFraction = 0.0
    /// The share lost in the last window.
    package private(set) var lastFraction = 0.0
    private var trial: Trial?
    /// Windows in a row with more loss than usual.
    private var suspicions = 0
    private var received = 0
    private var lost = 0
    private var windowStart: MonotonicTime?

    package init() {}

    package mutating func add(isLost: Bool, sent: MonotonicTime) {
        // Packets from before the trial say nothing about it.
        if let trial, sent < trial.from { return }
        if isLost { lost += 1 } else { received += 1 }
    }

    /// A packet reported lost came after all.
    package mutating func repair() {
        if lost > 0 { lost -= 1 }
        received += 1
    }

    /// `carried`: bits per second that arrive, of the `estimate`. `isQueueing`: the delay side is answering already.
    package mutating func update(carried: Double?, estimate: Double, isQueueing: Bool, responseNanoseconds: Int64, now: MonotonicTime) {
        let start = windowStart ?? now
        windowStart = start
        let count = received + lost
        let age = now.nanoseconds(since: start)
        guard (count >= Self.enough && age >= Self.shortWindow) || (count >= Self.few && age >= Self.longWindow) else { return }
        let fraction = Double(lost) / Double(count)
        lastFraction = fraction
        (received, lost, windowStart) = (0, 0, now)
        // An outage is no share of anything.
        guard fraction < Self.outageFraction else { return }
        let noise = Self.sigmas * (max(fraction, 0.01) / Double(count)).squareRoot()
        if let trial {
            self.trial = nil
            if fraction + noise / 2 >= trial.fraction * Self.stayedShare {
                usualFraction = max(usualFraction, min(fraction, trial.fraction))
                bound = nil
            }
        } else if fraction > usualFraction + Self.tolerance + noise, !isQueueing, let carried {
            // One window may be a burst, two in a row are a state.
            suspicions += 1
            guard suspicions >= Self.suspicionsOfTrial else { return }
            bound = min(bound ?? .infinity, max(carried * Self.trialShare, estimate * Self.leastShare))
            suspicions = 0
            trial = Trial(from: now.adding(nanoseconds: responseNanoseconds / 2), fraction: fraction)
        } else {
            suspicions = 0
            if let bound { self.bound = bound * (1 + Self.recovery * Double(age) / 1e9) }
            if !isQueueing { usualFraction += (fraction - usualFraction) * Self.learning }
        }
    }

    /// The bound is out of the way of `estimate`.
    package mutating func release(above estimate: Double) {
        if let bound, trial == nil, bound > estimate * 1.5 { self.bound = nil }
    }

    private static let learning = 0.2
    private static let enough = 60
    private static let few = 20
    private static let shortWindow: Int64 = 500_000_000
    private static let longWindow: Int64 = 3_000_000_000
    private static let sigmas = 2.0
    private static let tolerance = 0.03
    private static let trialShare = 0.95
    private static let leastShare = 0.5
    private static let outageFraction = 0.6
    private static let stayedShare = 0.6
    private static let suspicionsOfTrial = 2
    /// Per second.
    private static let recovery = 0.1
}
