/// The 48-bit index of an RTP packet: rollover counter and sequence number (RFC 3711 §3.3.1).
package enum SRTPIndex {
    /// The index that a packet with this number most likely has, when `highest` is the highest so far; -1 is none, and the
    /// counter then begins at 0.
    package static func estimate(_ number: UInt16, highest: Int64) -> Int64 {
        guard highest >= 0 else { return Int64(number) }
        var rollover = highest >> 16
        let last = Int(highest & 0xffff)
        if last < 0x8000 {
            // Before the first packet of all there is nothing, so a number that seems to lie there is a long gap.
            if Int(number) - last > 0x8000, rollover > 0 { rollover -= 1 }
        } else if last - 0x8000 > Int(number) {
            rollover += 1
        }
        return rollover << 16 | Int64(number)
    }

    /// The most packets one key may protect is 2^48.
    package static let end: Int64 = 1 << 48
    /// The same for RTCP (RFC 3711 §9.2).
    package static let rtcpEnd: Int64 = 1 << 31
}
