// What one direction of a path does to datagrams, as plain values: loss, bursts, delay, jitter, reordering, duplicates,
// outages, and a capacity with a queue in front of it.

package import RTCBase

/// The weather of one direction.
package struct LinkConditions: Sendable {
    /// Probability that a datagram is lost on its own.
    package var loss: Double = 0
    /// Losses in a row (Gilbert-Elliott); nil for none.
    package var burstLoss: BurstLoss?
    package var delayMilliseconds: Double = 0
    /// Up to this much on top, evenly distributed. Datagrams do not overtake each other through it.
    package var jitterMilliseconds: Double = 0
    /// Probability that a datagram is held back and overtaken.
    package var reordering: Double = 0
    package var reorderingDelayMilliseconds: Double = 10
    package var duplication: Double = 0
    /// How fast datagrams leave the queue.
    package var capacity = LinkCapacity.unlimited
    /// What may wait for the capacity; more is lost at the tail.
    package var queueBytes = 64_000
    /// When set, the longest a datagram may wait, in place of `queueBytes`: one that would leave later is lost at the tail.
    package var queueMilliseconds: Double?
    /// Counted per datagram on top of its bytes against the capacity: what lies below the datagrams on a real path.
    package var overheadBytes = 0
    /// Nothing sent within these spans arrives.
    package var outages: [Range<MonotonicTime>] = []

    package init(
        loss: Double = 0, delayMilliseconds: Double = 0, jitterMilliseconds: Double = 0, reordering: Double = 0,
        duplication: Double = 0
    ) {
        self.loss = loss
        self.delayMilliseconds = delayMilliseconds
        self.jitterMilliseconds = jitterMilliseconds
        self.reordering = reordering
        self.duplication = duplication
    }

    /// One rate for all time; nil is unlimited.
    package var rateBitsPerSecond: Double? {
        get {
            guard case .constant(let rate) = capacity else { return nil }
            return rate
        }
        set { capacity = newValue.map { .constant(bitsPerSecond: $0) } ?? .unlimited }
    }
}

/// A two-state loss model: chances per datagram to enter and to leave the bad state, and to be lost within it.
package struct BurstLoss: Sendable {
    package var enter: Double
    package var leave: Double
    package var lossInside: Double

    package init(enter: Double, leave: Double, lossInside: Double = 1) {
        self.enter = enter
        self.leave = leave
        self.lossInside = lossInside
    }
}
