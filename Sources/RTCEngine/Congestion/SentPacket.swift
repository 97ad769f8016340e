package import RTCBase

/// One packet as it left: what the congestion controller remembers until feedback about it comes.
package struct SentPacket: Hashable, Sendable {
    /// The transport-wide number, unwrapped by the sender; the wire carries its low 16 bits.
    package var number: Int64
    /// Bytes of the datagram, RTP header and authentication tag included.
    package var byteCount: Int
    /// The time of the actual egress, not the time it was due.
    package var time: MonotonicTime
    /// The cluster of the probe it belongs to.
    package var probe: Int?

    package init(number: Int64, byteCount: Int, time: MonotonicTime, probe: Int? = nil) {
        self.number = number
        self.byteCount = byteCount
        self.time = time
        self.probe = probe
    }
}
