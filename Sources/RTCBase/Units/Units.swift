/// Bits per second.
package struct Bitrate: Hashable, Comparable, Sendable {
    package var bitsPerSecond: Int64
    package init(bitsPerSecond: Int64) { self.bitsPerSecond = bitsPerSecond }
    package static func < (lhs: Bitrate, rhs: Bitrate) -> Bool { lhs.bitsPerSecond < rhs.bitsPerSecond }

    /// The rate of `size` over `nanoseconds`; nil for a span that is not positive.
    package init?(_ size: DataSize, overNanoseconds nanoseconds: Int64) {
        guard nanoseconds > 0 else { return nil }
        bitsPerSecond = Int64(Double(size.bytes) * 8e9 / Double(nanoseconds))
    }
}

/// A number of bytes.
package struct DataSize: Hashable, Comparable, Sendable {
    package var bytes: Int64
    package init(bytes: Int64) { self.bytes = bytes }
    package static func < (lhs: DataSize, rhs: DataSize) -> Bool { lhs.bytes < rhs.bytes }
    package static func += (lhs: inout DataSize, rhs: DataSize) { lhs.bytes &+= rhs.bytes }
}
