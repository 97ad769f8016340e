// How long an Opus packet plays, read from its first two bytes (RFC 6716 §3.1, §3.2.5). The jitter buffer works on
// real durations, never on an assumed packet time (AUD-05). Left out: everything behind the table of contents.

/// What the table-of-contents byte of an Opus packet says.
package enum OpusPacket {
    /// The RTP clock of Opus, whatever rate is coded inside (RFC 7587 §4.1).
    package static let clockRate = 48_000
    /// RFC 6716 §3.4 [R5]: 120 ms.
    package static let maxDurationSamples = 5_760

    /// Samples per channel at 48 kHz; nil when the packet is empty, has no frame count or is longer than 120 ms.
    package static func durationSamples(_ payload: RawSpan) -> Int? {
        guard payload.byteCount > 0 else { return nil }
        let toc = payload.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
        let frames: Int
        switch toc & 0x03 {
        case 0: frames = 1
        case 1, 2: frames = 2
        default:
            guard payload.byteCount > 1 else { return nil }
            frames = Int(payload.unsafeLoad(fromByteOffset: 1, as: UInt8.self) & 0x3F)
        }
        let samples = frames * frameSamples(configuration: toc >> 3)
        return samples > 0 && samples <= maxDurationSamples ? samples : nil
    }

    /// RFC 6716 table 2.
    private static func frameSamples(configuration: UInt8) -> Int {
        switch configuration {
        case 0..<12: configuration & 0x03 == 3 ? 2_880 : 480 << Int(configuration & 0x03)
        case 12..<16: configuration & 0x01 == 0 ? 480 : 960
        default: 120 << Int(configuration & 0x03)
        }
    }
}
