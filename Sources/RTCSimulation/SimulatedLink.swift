// One direction of a network path in virtual time. Datagrams go in with the time of sending and come out when they
// arrive, if they do. Loss and bursts, delay and jitter, reordering and duplicates, a rate with a queue that
// overflows, and outages; all chance comes from one seed. No threads, no clock.

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
    /// Nil is unlimited.
    package var rateBitsPerSecond: Double?
    /// What may wait for the rate; more is lost at the tail.
    package var queueBytes = 64_000
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

package struct SimulatedLink: Sendable {
    /// May be changed while running.
    package var conditions: LinkConditions
    /// Decides whether a datagram is lost in place of chance, for tests that need one exact loss.
    package var mustLose: (@Sendable (_ index: Int, _ datagram: [UInt8]) -> Bool)?

    package private(set) var sentCount = 0
    package private(set) var lostCount = 0
    package private(set) var deliveredCount = 0
    package private(set) var overflowCount = 0

    private var generator: SplitMix64
    private var isInBurst = false
    /// When the last bit accepted so far has left a rate-limited link.
    private var freeAt: MonotonicTime?
    /// The latest arrival given so far to a datagram that keeps its place.
    private var lastArrival: MonotonicTime?
    /// In flight; the next to arrive is last.
    private var flying: [Flight] = []

    package init(_ conditions: LinkConditions, seed: UInt64) {
        self.conditions = conditions
        generator = SplitMix64(seed: seed)
    }

    package mutating func send(_ datagram: [UInt8], now: MonotonicTime) {
        let index = sentCount
        sentCount += 1
        guard !isLost(datagram, index: index, now: now), let departure = departure(of: datagram, now: now) else {
            lostCount += 1
            return
        }
        let delay = Int64(conditions.delayMilliseconds * 1e6)
        let jitter = generator.nextNanoseconds(upTo: Int64(conditions.jitterMilliseconds * 1e6))
        var arrival = departure.adding(nanoseconds: delay + jitter)
        if generator.chance(conditions.reordering) {
            arrival = arrival.adding(nanoseconds: Int64(conditions.reorderingDelayMilliseconds * 1e6))
        } else {
            arrival = max(arrival, lastArrival ?? arrival)
            lastArrival = arrival
        }
        fly(Flight(arrival: arrival, order: 2 * index, datagram: datagram))
        if generator.chance(conditions.duplication) {
            let again = arrival.adding(nanoseconds: generator.nextNanoseconds(upTo: 20_000_000))
            fly(Flight(arrival: again, order: 2 * index + 1, datagram: datagram))
        }
    }

    package func nextDeadline() -> MonotonicTime? { flying.last?.arrival }

    /// The next datagram that has arrived by `now`.
    package mutating func receive(now: MonotonicTime) -> [UInt8]? {
        guard let next = flying.last, next.arrival <= now else { return nil }
        flying.removeLast()
        deliveredCount += 1
        return next.datagram
    }

    private mutating func isLost(_ datagram: [UInt8], index: Int, now: MonotonicTime) -> Bool {
        if conditions.outages.contains(where: { $0.contains(now) }) { return true }
        if let mustLose { return mustLose(index, datagram) }
        if let burst = conditions.burstLoss {
            isInBurst = isInBurst ? !generator.chance(burst.leave) : generator.chance(burst.enter)
            if isInBurst, generator.chance(burst.lossInside) { return true }
        }
        return generator.chance(conditions.loss)
    }

    /// When the last bit leaves; nil when the queue is full.
    private mutating func departure(of datagram: [UInt8], now: MonotonicTime) -> MonotonicTime? {
        guard let rate = conditions.rateBitsPerSecond, rate > 0 else { return now }
        let start = max(freeAt ?? now, now)
        let waitingBytes = Double(start.nanoseconds(since: now)) / 1e9 * rate / 8
        guard waitingBytes + Double(datagram.count) <= Double(conditions.queueBytes) else {
            overflowCount += 1
            return nil
        }
        let end = start.adding(nanoseconds: Int64(Double(datagram.count) * 8e9 / rate))
        freeAt = end
        return end
    }

    private mutating func fly(_ flight: Flight) {
        // Later ones first; most new ones arrive last of all, so the search from the front is short.
        let place = flying.firstIndex { ($0.arrival, $0.order) < (flight.arrival, flight.order) } ?? flying.count
        flying.insert(flight, at: place)
    }
}

private struct Flight: Sendable {
    let arrival: MonotonicTime
    /// Keeps datagrams of one arrival time in the order of sending.
    let order: Int
    let datagram: [UInt8]
}
