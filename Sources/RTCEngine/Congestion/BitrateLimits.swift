package import RTCBase

/// Bounds of what a connection sends in all.
package struct BitrateLimits: Hashable, Sendable {
    package var min: Bitrate
    /// Assumed until the path is known.
    package var start: Bitrate
    package var max: Bitrate

    package init(
        min: Bitrate = Bitrate(bitsPerSecond: 50_000), start: Bitrate = Bitrate(bitsPerSecond: 1_000_000),
        max: Bitrate = Bitrate(bitsPerSecond: 20_000_000)
    ) {
        self.min = min
        self.start = start
        self.max = max
    }
}
