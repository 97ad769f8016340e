/// A growing big-endian writer over an array. Reused with `removeAll(keepingCapacity:)` on hot paths.
package struct ByteWriter: Sendable {
    package private(set) var bytes: [UInt8]

    package init(reservingCapacity capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    package var count: Int { bytes.count }

    package mutating func write(_ value: UInt8) { bytes.append(value) }
    package mutating func write(_ value: UInt16) {
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
        bytes.append(UInt8(truncatingIfNeeded: value))
    }
    package mutating func writeUInt24(_ value: UInt32) {
        bytes.append(UInt8(truncatingIfNeeded: value >> 16))
        write(UInt16(truncatingIfNeeded: value))
    }
    package mutating func write(_ value: UInt32) {
        write(UInt16(truncatingIfNeeded: value >> 16))
        write(UInt16(truncatingIfNeeded: value))
    }
    package mutating func write(_ value: UInt64) {
        write(UInt32(truncatingIfNeeded: value >> 32))
        write(UInt32(truncatingIfNeeded: value))
    }
    package mutating func write(_ values: some Sequence<UInt8>) { bytes.append(contentsOf: values) }
    package mutating func write(_ span: RawSpan) {
        span.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    /// Overwrites two bytes written earlier (a length field). Out of range is a caller's error and does nothing.
    package mutating func overwrite(_ value: UInt16, at offset: Int) {
        guard offset >= 0, offset + 2 <= bytes.count else { return }
        bytes[offset] = UInt8(truncatingIfNeeded: value >> 8)
        bytes[offset + 1] = UInt8(truncatingIfNeeded: value)
    }

    package mutating func removeAll(keepingCapacity: Bool = true) { bytes.removeAll(keepingCapacity: keepingCapacity) }
}
