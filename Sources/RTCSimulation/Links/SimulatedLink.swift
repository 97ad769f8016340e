// One direction of a network path in virtual time. Datagrams go in with the time of sending and come out when they
// arrive, if they do. What happens on the way is in `LinkConditions`; all chance comes from one seed. No threads, no
// clock. A datagram that chance loses still takes its share of the capacity: it is lost behind the queue, as on a radio
// hop. Memory of datagrams is reused, so that a long run allocates only until the link has been at its fullest.

package import RTCBase

package struct SimulatedLink: Sendable {
    /// One datagram that has arrived. Kept by the caller from call to call for its memory.
    package struct Arrival: Sendable {
        package var bytes: [UInt8] = []
        /// What the sender of the datagram gave along.
        package var tag = 0

        package init() {}
    }

    /// May be changed while running.
    package var conditions: LinkConditions
    /// Decides whether a datagram is lost in place of chance, for tests that need one exact loss.
    package var mustLose: (@Sendable (_ index: Int, _ datagram: [UInt8]) -> Bool)?

    package private(set) var sentCount = 0
    package private(set) var lostCount = 0
    package private(set) var deliveredCount = 0
    package private(set) var overflowCount = 0
    /// Of accepted datagrams, from coming to leaving the queue; empty without a capacity.
    package private(set) var queueingDelay = DelayHistogram()
    /// The most bytes that ever waited, and the longest wait accepted.
    package private(set) var maxWaitingBytes = 0
    package private(set) var maxWaitNanoseconds: Int64 = 0

    private var generator: SplitMix64
    private var isInBurst = false
    private var service = LinkService()
    /// What has not left the queue yet.
    private var waiting = GrowingRing<(departure: MonotonicTime, byteCount: Int)>()
    private var waitingBytes = 0
    /// The latest arrival given so far to a datagram that keeps its place.
    private var lastArrival: MonotonicTime?
    /// In flight, in order of arrival.
    private var flying = GrowingRing<Flight>()
    /// In flight and not in order with the others: overtaken ones and second copies. The next to arrive is last.
    private var strays: [Flight] = []
    /// Bytes in flight; a flight names its place here.
    private var memory: [[UInt8]] = []
    private var freePlaces: [Int] = []

    package init(_ conditions: LinkConditions, seed: UInt64) {
        self.conditions = conditions
        generator = SplitMix64(seed: seed)
    }

    /// Datagrams that have not arrived yet.
    package var inFlightCount: Int { flying.count + strays.count }

    package mutating func send(_ datagram: [UInt8], tag: Int = 0, now: MonotonicTime) {
        send(datagram.span.bytes, tag: tag, now: now)
    }

    package mutating func send(_ datagram: RawSpan, tag: Int = 0, now: MonotonicTime) {
        let index = sentCount
        sentCount += 1
        guard !conditions.outages.contains(where: { $0.contains(now) }), let departure = enqueue(datagram.byteCount, now: now),
            !isLost(datagram, index: index)
        else {
            lostCount += 1
            return
        }
        let delay = Int64(conditions.delayMilliseconds * 1e6)
        let jitter = generator.nextNanoseconds(upTo: Int64(conditions.jitterMilliseconds * 1e6))
        var arrival = departure.adding(nanoseconds: delay + jitter)
        if generator.chance(conditions.reordering) {
            arrival = arrival.adding(nanoseconds: Int64(conditions.reorderingDelayMilliseconds * 1e6))
            addStray(Flight(arrival: arrival, order: 2 * index, tag: tag, place: store(datagram)))
        } else {
            arrival = max(arrival, lastArrival ?? arrival)
            lastArrival = arrival
            flying.append(Flight(arrival: arrival, order: 2 * index, tag: tag, place: store(datagram)))
        }
        if generator.chance(conditions.duplication) {
            let again = arrival.adding(nanoseconds: generator.nextNanoseconds(upTo: 20_000_000))
            addStray(Flight(arrival: again, order: 2 * index + 1, tag: tag, place: store(datagram)))
        }
    }

    package func nextDeadline() -> MonotonicTime? {
        guard let stray = strays.last else { return flying.first?.arrival }
        guard let next = flying.first else { return stray.arrival }
        return min(next.arrival, stray.arrival)
    }

    /// Gives the next datagram that has arrived by `now`; false when there is none.
    package mutating func receive(now: MonotonicTime, into arrival: inout Arrival) -> Bool {
        let takesStray = strays.last.map { stray in flying.first.map { stray.comes(before: $0) } ?? true } ?? false
        guard let next = takesStray ? strays.last : flying.first, next.arrival <= now else { return false }
        if takesStray { strays.removeLast() } else { _ = flying.popFirst() }
        deliveredCount += 1
        // The caller's old block becomes the free one.
        swap(&memory[next.place], &arrival.bytes)
        arrival.tag = next.tag
        freePlaces.append(next.place)
        return true
    }

    /// The next datagram that has arrived by `now`.
    package mutating func receive(now: MonotonicTime) -> [UInt8]? {
        var arrival = Arrival()
        return receive(now: now, into: &arrival) ? arrival.bytes : nil
    }

    private mutating func isLost(_ datagram: RawSpan, index: Int) -> Bool {
        if let mustLose { return mustLose(index, datagram.copy()) }
        if let burst = conditions.burstLoss {
            isInBurst = isInBurst ? !generator.chance(burst.leave) : generator.chance(burst.enter)
            if isInBurst, generator.chance(burst.lossInside) { return true }
        }
        return generator.chance(conditions.loss)
    }

    /// When the last bit leaves; nil when the queue is full.
    private mutating func enqueue(_ byteCount: Int, now: MonotonicTime) -> MonotonicTime? {
        if case .unlimited = conditions.capacity { return now }
        while let first = waiting.first, first.departure <= now {
            waitingBytes -= first.byteCount
            _ = waiting.popFirst()
        }
        let size = byteCount + conditions.overheadBytes
        var next = service
        guard let departure = next.departure(byteCount: size, capacity: conditions.capacity, now: now),
            hasRoom(size, until: departure, now: now)
        else {
            overflowCount += 1
            return nil
        }
        service = next
        waiting.append((departure, size))
        waitingBytes += size
        let wait = departure.nanoseconds(since: now)
        maxWaitingBytes = max(maxWaitingBytes, waitingBytes)
        maxWaitNanoseconds = max(maxWaitNanoseconds, wait)
        queueingDelay.add(nanoseconds: wait)
        return departure
    }

    private func hasRoom(_ byteCount: Int, until departure: MonotonicTime, now: MonotonicTime) -> Bool {
        if let limit = conditions.queueMilliseconds { return departure.milliseconds(since: now) <= limit }
        return waitingBytes + byteCount <= conditions.queueBytes
    }

    private mutating func store(_ datagram: RawSpan) -> Int {
        let place: Int
        if let free = freePlaces.popLast() {
            place = free
        } else {
            place = memory.count
            memory.append([])
        }
        memory[place].removeAll(keepingCapacity: true)
        datagram.withUnsafeBytes { memory[place].append(contentsOf: $0) }
        return place
    }

    private mutating func addStray(_ flight: Flight) {
        let place = strays.firstIndex { $0.comes(before: flight) } ?? strays.count
        strays.insert(flight, at: place)
    }
}

private struct Flight: Sendable {
    let arrival: MonotonicTime
    /// Keeps datagrams of one arrival time in the order of sending.
    let order: Int
    let tag: Int
    let place: Int

    func comes(before other: Flight) -> Bool { (arrival, order) < (other.arrival, other.order) }
}
