package import RTCBase

// The stall watchdog of an association (part of `SCTPAssociation`): notices that data is outstanding and the peer acknowledges
// nothing new. In: received packets, whether anything is outstanding, time. Out: one verdict. RFC 9260 §3.3.4 (SACK).
//
// The library gives up after its own count of retransmissions, but every heartbeat answer clears that count, and implementations
// have been seen with chunks outstanding and no timer armed; the association then stays up and silent. So the cumulative
// acknowledgement is read from the packets themselves, independent of the library's state.

/// Follows the peer's cumulative acknowledgements.
package struct SCTPProgress {
    /// The newest cumulative TSN acknowledged.
    private var acknowledged: UInt32?
    private var hasProgressed = false
    /// Chunks that the peer only sends when it got something from us: SACK and HEARTBEAT ACK.
    package private(set) var answers: UInt64 = 0
    /// A packet carried an ABORT. Whether it counts, the library decides; this only explains an end that follows.
    package private(set) var sawAbort = false
    /// Since when data has been outstanding without progress.
    private var stalledSince: MonotonicTime?

    package init() {}

    /// Reads the acknowledgement out of a packet from the peer; anything malformed is left to the library.
    package mutating func noteReceived(_ packet: UnsafeRawBufferPointer) {
        var offset = 12  // common header
        while offset + 4 <= packet.count {
            let type = packet[offset]
            let length = Int(packet[offset + 2]) << 8 | Int(packet[offset + 3])
            guard length >= 4 else { return }
            if type == 3, length >= 16, offset + 8 <= packet.count {
                noteAcknowledged(UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)))
            }
            if type == 3 || type == 5 { answers &+= 1 }
            if type == 6 { sawAbort = true }
            offset += (length + 3) & ~3
        }
    }

    private mutating func noteAcknowledged(_ tsn: UInt32) {
        if let acknowledged, Int32(bitPattern: tsn &- acknowledged) <= 0 { return }
        acknowledged = tsn
        hasProgressed = true
    }

    /// True when nothing has been acknowledged for `limitNanoseconds` although data is outstanding.
    package mutating func isStalled(isOutstanding: Bool, now: MonotonicTime, limitNanoseconds: Int64) -> Bool {
        defer { hasProgressed = false }
        guard isOutstanding, !hasProgressed, let since = stalledSince else {
            stalledSince = isOutstanding ? now : nil
            return false
        }
        return now.nanoseconds(since: since) >= limitNanoseconds
    }
}
