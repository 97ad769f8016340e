package import RTCBase

/// What the estimate of a connection starts from and stays within.
package struct BitrateLimits: Hashable, Sendable {
    package var min: Bitrate
    package var start: Bitrate
    package var max: Bitrate

    /// The defaults suit one video track of any size: probes at three and six times the start find the rest.
    package init(
        min: Bitrate = Bitrate(bitsPerSecond: 60_000), start: Bitrate = Bitrate(bitsPerSecond: 500_000),
        max: Bitrate = Bitrate(bitsPerSecond: 20_000_000)
    ) {
        self.min = min
        self.start = start
        self.max = max
    }

    /// The same in order and within what arithmetic can bear: 10 kbit/s ≤ min ≤ start ≤ max ≤ 1 Gbit/s.
    package var ordered: BitrateLimits {
        let low = Swift.min(Swift.max(min.bitsPerSecond, Self.lowest), Self.highest)
        let high = Swift.min(Swift.max(max.bitsPerSecond, low), Self.highest)
        let first = Swift.min(Swift.max(start.bitsPerSecond, low), high)
        return BitrateLimits(
            min: Bitrate(bitsPerSecond: low), start: Bitrate(bitsPerSecond: first), max: Bitrate(bitsPerSecond: high))
    }

    private static let lowest: Int64 = 10_000
    private static let highest: Int64 = 1_000_000_000
}
