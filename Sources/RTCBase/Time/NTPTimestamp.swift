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

    /// The timestamp this much later; earlier for negative values. Wraps with the era (2036).
    package func adding(nanoseconds: Int64) -> NTPTimestamp {
        var (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        if rest < 0 {
            seconds -= 1
            rest += 1_000_000_000
        }
        let fraction = (UInt64(rest) << 32) / 1_000_000_000
        return NTPTimestamp(rawValue: rawValue &+ UInt64(bitPattern: seconds) << 32 &+ fraction)
    }

    /// Nanoseconds from `earlier` to this one, negative when it is later; right for up to 68 years across the end of an era.
    package func nanoseconds(since earlier: NTPTimestamp) -> Int64 {
        let difference = Int64(bitPattern: rawValue &- earlier.rawValue)
        return (difference >> 32) &* 1_000_000_000 &+ ((difference & 0xFFFF_FFFF) &* 1_000_000_000) >> 32
    }

    package var nanosecondsSince1900: UInt64 {
        (rawValue >> 32) &* 1_000_000_000 &+ ((rawValue & 0xFFFF_FFFF) &* 1_000_000_000) >> 32
    }
}
