/// A 64-bit NTP timestamp: seconds since 1900 in the upper half, the fraction in the lower (RFC 3550 §4).
package struct NTPTimestamp: Hashable, Sendable {
    package var rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// From nanoseconds since the Unix epoch.
    package init(unixNanoseconds: Int64) {
        let seconds = UInt64(bitPattern: unixNanoseconds / 1_000_000_000 &+ 2_208_988_800)
        let fraction = (UInt64(unixNanoseconds % 1_000_000_000) << 32) / 1_000_000_000
        rawValue = seconds << 32 | fraction
    }

    /// The middle 32 bits, as carried in LSR (RFC 3550 §6.4.1): units of 1/65536 s.
    package var middle32: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 16) }

    package var nanosecondsSince1900: UInt64 {
        (rawValue >> 32) &* 1_000_000_000 &+ ((rawValue & 0xFFFF_FFFF) &* 1_000_000_000) >> 32
    }
}
