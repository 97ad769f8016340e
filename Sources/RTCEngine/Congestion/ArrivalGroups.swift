// Packets that left together, and what became of their spacing (draft-ietf-rmcat-gcc-02 §5.2). In: send and arrival
// times of packets in the order feedback tells them. Out: one group at a time, when the next one begins. Packets of one
// egress burst are one group, and so is a heap of arrivals: a receiver or a radio that was held off hands over at once
// what it had gathered, and only the last of the heap says something about the queue.

/// Packets that are one measurement of delay. Times in nanoseconds; the two clocks have no common origin.
package struct ArrivalGroup: Hashable, Sendable {
    package var firstSend: Int64
    package var lastSend: Int64
    package var firstArrival: Int64
    package var lastArrival: Int64
    /// The least arrival minus send within the group.
    package var delay: Int64
    package var byteCount: Int

    /// Sent over a while and handed over at once: somebody was held off, and `delay` is more than the queue's.
    package var isHeap: Bool {
        lastSend &- firstSend >= Self.heapSendNanoseconds && lastArrival &- firstArrival <= Self.heapArrivalNanoseconds
    }

    private static let heapSendNanoseconds: Int64 = 10_000_000
    private static let heapArrivalNanoseconds: Int64 = 2_000_000
}

package struct ArrivalGroups: Sendable {
    /// The group that is still open.
    package private(set) var current: ArrivalGroup?

    package init() {}

    /// The group that this packet ends, if it does.
    package mutating func add(send: Int64, arrival: Int64, byteCount: Int) -> ArrivalGroup? {
        let delay = arrival &- send
        guard var group = current else {
            current = ArrivalGroup(
                firstSend: send, lastSend: send, firstArrival: arrival, lastArrival: arrival, delay: delay, byteCount: byteCount)
            return nil
        }
        // Out of order: what it waited for says nothing about the queue.
        guard send >= group.firstSend else { return nil }
        let gap = arrival &- group.lastArrival
        let isBurst = send &- group.firstSend <= Self.burstNanoseconds
        let isHeap =
            gap <= Self.heapGapNanoseconds && gap < send &- group.lastSend
            && arrival &- group.firstArrival <= Self.heapSpanNanoseconds
        if isBurst || isHeap {
            group.lastSend = max(group.lastSend, send)
            group.lastArrival = max(group.lastArrival, arrival)
            group.delay = min(group.delay, delay)
            group.byteCount &+= byteCount
            current = group
            return nil
        }
        current = ArrivalGroup(
            firstSend: send, lastSend: send, firstArrival: arrival, lastArrival: arrival, delay: delay, byteCount: byteCount)
        return group
    }

    /// draft-ietf-rmcat-gcc-02 §5.2: packets sent within 5 ms are a burst.
    private static let burstNanoseconds: Int64 = 5_000_000
    private static let heapGapNanoseconds: Int64 = 5_000_000
    /// A queue that really drains goes on for longer, and is to be seen in several groups.
    private static let heapSpanNanoseconds: Int64 = 10_000_000
}
