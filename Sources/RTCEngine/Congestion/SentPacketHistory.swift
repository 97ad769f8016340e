// What left and is not forgotten yet, by transport-wide number. In: packets at their egress, and the numbers feedback
// names. Out: what a number meant, once. Bounded by count and age; a number that feedback calls lost may still come
// (CC-05). Numbers of the peer that were never sent find nothing.

package import RTCBase

/// The newest 4096 packets sent, at most ten seconds back.
package struct SentPacketHistory: Sendable {
    package enum State: Sendable {
        /// No feedback spoke of it yet.
        case outstanding
        /// Too old to be waited for; feedback may still come.
        case expired
        /// The feedback about it was lost, as the next one shows.
        case untold
        case lost
        case acknowledged
    }

    package struct Entry: Sendable {
        package var packet: SentPacket
        package var state: State
    }

    /// Empty until something is sent: a connection that only receives does without.
    private var slots: [Entry?] = []
    /// The newest number sent; nil before the first.
    package private(set) var newest: Int64?
    /// The oldest number that may be outstanding.
    private var oldestOutstanding: Int64 = 0
    /// Bytes of all packets in state `outstanding`.
    package private(set) var outstandingBytes: Int64 = 0

    package init() {}

    /// False, and nothing is kept, for a number that does not follow the ones before.
    package mutating func append(_ packet: SentPacket) -> Bool {
        guard packet.number >= 0, packet.number > newest ?? -1, packet.byteCount >= 0, packet.byteCount <= Self.maxByteCount else {
            return false
        }
        if newest == nil || outstandingBytes == 0 { oldestOutstanding = packet.number }
        newest = packet.number
        if slots.isEmpty { slots = Array(repeating: nil, count: Self.capacity) }
        let place = index(packet.number)
        if let old = slots[place], old.state == .outstanding { outstandingBytes -= Int64(old.packet.byteCount) }
        slots[place] = Entry(packet: packet, state: .outstanding)
        outstandingBytes += Int64(packet.byteCount)
        return true
    }

    /// The number that the low 16 bits of a peer mean: the one nearest to the newest sent.
    package func unwrap(_ value: UInt16) -> Int64? {
        guard let newest else { return nil }
        return newest &+ Int64(Int16(bitPattern: value &- UInt16(truncatingIfNeeded: newest)))
    }

    package subscript(number: Int64) -> Entry? {
        guard number >= 0, !slots.isEmpty, let entry = slots[index(number)], entry.packet.number == number else { return nil }
        return entry
    }

    /// The entry as it was before, if the number is known and young enough.
    package mutating func mark(_ number: Int64, _ state: State, now: MonotonicTime) -> Entry? {
        guard let entry = self[number], now.nanoseconds(since: entry.packet.time) <= Self.maxAgeNanoseconds else { return nil }
        if entry.state == .outstanding { outstandingBytes -= Int64(entry.packet.byteCount) }
        if entry.state != .acknowledged { slots[index(number)]?.state = state }
        return entry
    }

    /// Gives up waiting for packets sent before `time`.
    package mutating func expire(sentBefore time: MonotonicTime) {
        while let first = firstOutstanding(), first.time < time { drop(first) }
    }

    /// The oldest packet that is waited for.
    package mutating func firstOutstanding() -> SentPacket? {
        guard let newest, outstandingBytes > 0 else { return nil }
        oldestOutstanding = max(oldestOutstanding, newest - Int64(Self.capacity) + 1)
        while oldestOutstanding <= newest {
            if let entry = self[oldestOutstanding], entry.state == .outstanding { return entry.packet }
            oldestOutstanding += 1
        }
        return nil
    }

    private mutating func drop(_ packet: SentPacket) {
        slots[index(packet.number)]?.state = .expired
        outstandingBytes -= Int64(packet.byteCount)
    }

    private func index(_ number: Int64) -> Int { Int(number) & (Self.capacity - 1) }

    /// About 4 s of 20 Mbit/s is 8,000 packets, so this is 2 s there and 10 s up to 4 Mbit/s (Proposals/0005).
    package static let capacity = 4096
    private static let maxAgeNanoseconds: Int64 = 10_000_000_000
    private static let maxByteCount = 65_535
}
