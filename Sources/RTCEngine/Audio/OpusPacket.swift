// What the jitter buffer reads of an Opus packet: how long it plays (RFC 6716 §3.1, §3.2.5), whether it can repair the
// packet before it (§4.2.4) and how many channels it has. The jitter buffer works on real durations, never on an assumed
// packet time (AUD-05). Left out: everything behind that.

/// What the first bytes of an Opus packet say.
package enum OpusPacket {
    /// The RTP clock of Opus, whatever rate is coded inside (RFC 7587 §4.1).
    package static let clockRate = 48_000
    /// RFC 6716 §3.4 [R5]: 120 ms.
    package static let maxDurationSamples = 5_760

    /// Samples per channel at 48 kHz; nil when the packet is empty, has no frame count or is longer than 120 ms.
    package static func durationSamples(_ payload: RawSpan) -> Int? {
        guard let toc = byte(payload, 0) else { return nil }
        let frames: Int
        switch toc & 0x03 {
        case 0: frames = 1
        case 1, 2: frames = 2
        default:
            guard let count = byte(payload, 1) else { return nil }
            frames = Int(count & 0x3F)
        }
        let samples = frames * frameSamples(configuration: toc >> 3)
        return samples > 0 && samples <= maxDurationSamples ? samples : nil
    }

    /// Two channels are coded (RFC 6716 §3.1).
    package static func isStereo(_ payload: RawSpan) -> Bool { (byte(payload, 0) ?? 0) & 0x04 != 0 }

    /// Its first frame carries a low-rate copy of what was before it (LBRR, RFC 6716 §4.2.3). Packets that are cut in
    /// unusual ways count as having none.
    package static func hasRepair(_ payload: RawSpan) -> Bool {
        guard let toc = byte(payload, 0), toc >> 3 < 16 else { return false }
        let start: Int
        switch toc & 0x03 {
        case 0, 1: start = 1
        case 2: start = (byte(payload, 1) ?? 0) < 252 ? 2 : 3
        default: return false
        }
        guard let first = byte(payload, start) else { return false }
        // One voice activity bit per 20 ms, then the flag; the side channel's follow.
        let frames = max(1, frameSamples(configuration: toc >> 3) / 960)
        if first >> UInt8(7 - frames) & 1 != 0 { return true }
        return toc & 0x04 != 0 && first >> UInt8(6 - 2 * frames) & 1 != 0
    }

    /// RFC 6716 table 2.
    private static func frameSamples(configuration: UInt8) -> Int {
        switch configuration {
        case 0..<12: configuration & 0x03 == 3 ? 2_880 : 480 << Int(configuration & 0x03)
        case 12..<16: configuration & 0x01 == 0 ? 480 : 960
        default: 120 << Int(configuration & 0x03)
        }
    }

    private static func byte(_ payload: RawSpan, _ offset: Int) -> UInt8? {
        offset < payload.byteCount ? payload.unsafeLoad(fromByteOffset: offset, as: UInt8.self) : nil
    }
}
