// One direction of one connection's path: `NetworkConditions` laid on the link model of the simulations, in whatever time the
// caller says. Conditions may change while datagrams are on their way. Bounded: what waits for the rate by the queue's bytes,
// what is on its way by count.

internal import RTCBase
internal import RTCSimulation

struct ShapedLink: Sendable {
    enum Fate: Hashable, Sendable {
        /// Goes on at once; nothing was kept of it.
        case passes
        /// Comes out of `receive` in its time.
        case waits
        case lost, overflowed, cutOff
    }

    private var conditions: NetworkConditions
    /// Sets this direction of this connection apart from others with the same seed.
    private let stream: UInt64
    /// Only there while the conditions or datagrams on their way need one.
    private var link: SimulatedLink?
    /// When the first datagram under these conditions came.
    private var start: MonotonicTime?

    init(_ conditions: NetworkConditions, stream: UInt64) {
        self.conditions = conditions
        self.stream = stream
    }

    /// What is on its way keeps its time, unless the rate, its queue or the seed changes: then it starts its way anew, spared by
    /// chance. Returns how many datagrams found no room doing so.
    @discardableResult
    mutating func set(_ new: NetworkConditions, now: MonotonicTime) -> Int {
        let old = conditions
        conditions = new
        start = nil
        guard var current = link else { return 0 }
        guard old.bitsPerSecond != new.bitsPerSecond || old.queueBytes != new.queueBytes || old.seed != new.seed else {
            link?.conditions = new.link
            return 0
        }
        var fresh = SimulatedLink(new.steadyLink, seed: linkSeed)
        var arrival = SimulatedLink.Arrival()
        while current.receive(now: MonotonicTime(nanoseconds: .max), into: &arrival) { fresh.send(arrival.bytes, now: now) }
        fresh.conditions = new.link
        link = fresh
        return fresh.overflowCount
    }

    mutating func send(_ datagram: RawSpan, now: MonotonicTime) -> Fate {
        guard let fate = fateBeforeLink(now: now) else { return sendThroughLink(datagram, now: now) }
        return fate
    }

    mutating func receive(now: MonotonicTime, into datagram: inout [UInt8]) -> Bool {
        guard link != nil else { return false }
        var arrival = SimulatedLink.Arrival()
        swap(&arrival.bytes, &datagram)
        let isThere = link?.receive(now: now, into: &arrival) ?? false
        swap(&arrival.bytes, &datagram)
        return isThere
    }

    func nextDeadline() -> MonotonicTime? { link?.nextDeadline() }

    private mutating func fateBeforeLink(now: MonotonicTime) -> Fate? {
        let begin = start ?? now
        start = begin
        if conditions.outages.contains(where: { $0.contains(now - begin) }) { return .cutOff }
        let inFlight = link?.inFlightCount ?? 0
        if inFlight == 0, conditions.passesEverything {
            link = nil
            return .passes
        }
        return inFlight < Self.capacityDatagrams ? nil : .overflowed
    }

    private mutating func sendThroughLink(_ datagram: RawSpan, now: MonotonicTime) -> Fate {
        var current = link.take() ?? SimulatedLink(conditions.link, seed: linkSeed)
        defer { link = current }
        let (overflowed, lost) = (current.overflowCount, current.lostCount)
        current.send(datagram, now: now)
        if current.overflowCount > overflowed { return .overflowed }
        return current.lostCount > lost ? .lost : .waits
    }

    private var linkSeed: UInt64 {
        var generator = SplitMix64(seed: conditions.seed &+ stream &* 0xD134_2543_DE82_EF95)
        return generator.next()
    }

    /// Half a minute of 3 Mbit/s.
    private static let capacityDatagrams = 8192
}
