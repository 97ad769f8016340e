/// Writes boxes of an MP4 file, big-endian, one into another (ISO/IEC 14496-12 §4.2).
struct MP4BoxWriter: Sendable {
    private(set) var bytes: [UInt8] = []

    var count: Int { bytes.count }

    /// A box of a four-character type; `body` writes what is in it.
    mutating func box(_ type: StaticString, _ body: (inout MP4BoxWriter) -> Void) {
        let start = bytes.count
        write(UInt32(0))
        writeType(type)
        body(&self)
        overwrite(UInt32(truncatingIfNeeded: bytes.count - start), at: start)
    }

    /// A box that begins with a version and flags.
    mutating func fullBox(_ type: StaticString, version: UInt8 = 0, flags: UInt32 = 0, _ body: (inout MP4BoxWriter) -> Void) {
        box(type) { writer in
            writer.write(UInt32(version) << 24 | flags & 0xff_ffff)
            body(&writer)
        }
    }

    mutating func write<Value: FixedWidthInteger>(_ value: Value) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(_ values: [UInt8]) { bytes.append(contentsOf: values) }

    mutating func writeType(_ type: StaticString) {
        type.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    mutating func writeZeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }

    /// Replaces four bytes written before.
    mutating func overwrite(_ value: UInt32, at offset: Int) {
        withUnsafeBytes(of: value.bigEndian) { bytes.replaceSubrange(offset..<(offset + 4), with: $0) }
    }
}
