// What was sent lately on one SSRC, to be sent again on request (RFC 4588, RFC 4585 §6.2.1). In: packets as they leave, by
// their unwrapped numbers, which go up; requests by the number on the wire. Out: the place of the payload, or nothing when
// it is too old. Bounded by count and age; the owner of the payload memory is told which slots are free again.

package import RTCBase

/// The newest packets of a stream, at most 1024 and a second old.
package struct RetransmissionCache: Sendable {
    package struct Entry: Sendable {
        /// Nil for a packet of padding alone.
        package var slot: PacketStore.Slot?
        package var payloadCount: Int
        package var paddingCount: UInt8
        package var timestamp: UInt32
        package var marker: Bool
        package var payloadType: UInt8
        package var sentAt: MonotonicTime
        /// As written in the packet, for a repeat with the very same bytes when there is no RTX.
        package var transportNumber: UInt16
        package var hadMID: Bool
        /// The latest repeat.
        package var repeatedAt: MonotonicTime?
        /// It waits to be sent again.
        package var isQueued = false

        package init(
            slot: PacketStore.Slot?, payloadCount: Int, paddingCount: UInt8 = 0, timestamp: UInt32, marker: Bool, payloadType: UInt8,
            sentAt: MonotonicTime, transportNumber: UInt16, hadMID: Bool
        ) {
            self.slot = slot
            self.payloadCount = payloadCount
            self.paddingCount = paddingCount
            self.timestamp = timestamp
            self.marker = marker
            self.payloadType = payloadType
            self.sentAt = sentAt
            self.transportNumber = transportNumber
            self.hadMID = hadMID
        }
    }

    /// Empty until something is sent.
    private var entries: [Entry?] = []
    /// Numbers `first..<end` may be here; not all of them are.
    private var first: Int64 = 0
    private var end: Int64 = 0

    package init() {}

    package var isEmpty: Bool { first == end }
    package var count: Int { Int(end - first) }

    /// Stores what just left; `number` is above all earlier ones.
    package mutating func insert(_ entry: Entry, number: Int64, store: inout PacketStore) {
        if entries.isEmpty { entries = Array(repeating: nil, count: Self.capacityPackets) }
        if isEmpty { first = number }
        assert(number >= end || first == number)
        end = number + 1
        let oldestTime = entry.sentAt.adding(nanoseconds: -Self.maxAgeNanoseconds)
        while first < number {
            let isOld = self[first].map { $0.sentAt < oldestTime } ?? true
            guard isOld || end - first > Int64(Self.capacityPackets) else { break }
            remove(first, store: &store)
            first += 1
        }
        entries[index(number)] = entry
    }

    /// The packet with this number; nil when it left more than a second ago or was not one of ours.
    package func find(_ number: Int64, now: MonotonicTime) -> Entry? {
        guard number >= first, number < end, let entry = self[number],
            now.nanoseconds(since: entry.sentAt) <= Self.maxAgeNanoseconds
        else { return nil }
        return entry
    }

    /// The unwrapped number that `sequence` most likely means: the newest such number that was sent.
    package func unwrap(_ sequence: UInt16) -> Int64 { end - 1 - Int64(UInt16(truncatingIfNeeded: end - 1) &- sequence) }

    package mutating func update(_ number: Int64, _ body: (inout Entry) -> Void) {
        guard number >= first, number < end, entries[index(number)] != nil else { return }
        if var entry = entries[index(number)] {
            body(&entry)
            entries[index(number)] = entry
        }
    }

    /// The number of the largest payload among the newest packets, to fill a probe with.
    package func largestRecent(now: MonotonicTime) -> Int64? {
        var best: (number: Int64, count: Int)?
        for number in max(first, end - Self.recentPackets)..<max(first, end) {
            guard let entry = find(number, now: now), entry.payloadCount > best?.count ?? 0 else { continue }
            best = (number, entry.payloadCount)
        }
        return best?.number
    }

    package mutating func removeAll(store: inout PacketStore) {
        while first < end {
            remove(first, store: &store)
            first += 1
        }
    }

    private mutating func remove(_ number: Int64, store: inout PacketStore) {
        if let slot = entries[index(number)]?.slot { store.release(slot) }
        entries[index(number)] = nil
    }

    private subscript(number: Int64) -> Entry? { entries[index(number)] }

    /// Numbers of a stream are never negative.
    private func index(_ number: Int64) -> Int { Int(number & Int64(Self.capacityPackets - 1)) }

    /// A power of two. As many as SRTP lets us repeat (RTP, SRTP-04), and a second of 10 Mbit/s.
    package static let capacityPackets = 1024
    package static let maxAgeNanoseconds: Int64 = 1_000_000_000
    private static let recentPackets: Int64 = 16
}
