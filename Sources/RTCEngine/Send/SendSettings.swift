// What the send side is told from outside: limits, chance, and the wall clock. All of it is plain data with defaults.

package import RTCBase

/// Send settings of one connection, given once.
package struct SendSettings: Hashable, Sendable {
    package var limits: BitrateLimits
    /// First sequence numbers, timestamp offsets and SSRCs that nobody announced come from this seed.
    package var seed: UInt64
    /// The wall clock at `MonotonicTime` zero, for sender reports (RFC 3550 §6.4.1).
    package var ntpOffset: NTPTimestamp

    package init(
        limits: BitrateLimits = BitrateLimits(), seed: UInt64 = 0, ntpOffset: NTPTimestamp = NTPTimestamp(unixNanoseconds: 0)
    ) {
        self.limits = limits
        self.seed = seed
        self.ntpOffset = ntpOffset
    }
}
