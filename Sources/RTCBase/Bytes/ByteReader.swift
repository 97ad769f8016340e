/// Why bytes from the network could not be read.
package enum WireError: Error, Hashable, Sendable {
    case truncated
    case badVersion
    case badLength
    case badValue
    case tooLarge
    case tooDeep
}

/// A bounds-checked big-endian cursor over borrowed bytes. Every read either succeeds or throws `.truncated`;
/// nothing here traps, whatever the bytes are.
package struct ByteReader: ~Escapable {
    package let bytes: RawSpan
    package private(set) var offset: Int

    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan) {
        self.bytes = bytes
        self.offset = 0
    }

    package var remaining: Int { bytes.byteCount - offset }
    package var isAtEnd: Bool { offset >= bytes.byteCount }

    @_lifetime(self: copy self)
    package mutating func skip(_ count: Int) throws(WireError) {
        guard count >= 0, count <= remaining else { throw .truncated }
        offset += count
    }

    @_lifetime(self: copy self)
    package mutating func seek(to position: Int) throws(WireError) {
        guard position >= 0, position <= bytes.byteCount else { throw .truncated }
        offset = position
    }

    @_lifetime(self: copy self)
    package mutating func readUInt8() throws(WireError) -> UInt8 {
        guard remaining >= 1 else { throw .truncated }
        defer { offset += 1 }
        return bytes.uint8(at: offset)
    }

    @_lifetime(self: copy self)
    package mutating func readUInt16() throws(WireError) -> UInt16 {
        guard remaining >= 2 else { throw .truncated }
        defer { offset += 2 }
        return bytes.uint16(at: offset)
    }

    @_lifetime(self: copy self)
    package mutating func readUInt24() throws(WireError) -> UInt32 {
        guard remaining >= 3 else { throw .truncated }
        defer { offset += 3 }
        return UInt32(bytes.uint8(at: offset)) << 16 | UInt32(bytes.uint16(at: offset + 1))
    }

    @_lifetime(self: copy self)
    package mutating func readUInt32() throws(WireError) -> UInt32 {
        guard remaining >= 4 else { throw .truncated }
        defer { offset += 4 }
        return bytes.uint32(at: offset)
    }

    @_lifetime(self: copy self)
    package mutating func readUInt64() throws(WireError) -> UInt64 {
        let high = try readUInt32()
        return UInt64(high) << 32 | UInt64(try readUInt32())
    }

    /// A view of the next `count` bytes; the cursor moves past them.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    package mutating func readSpan(_ count: Int) throws(WireError) -> RawSpan {
        guard count >= 0, count <= remaining else { throw .truncated }
        defer { offset += count }
        return bytes.extracting(offset..<(offset + count))
    }

    /// A copy of the next `count` bytes.
    @_lifetime(self: copy self)
    package mutating func readBytes(_ count: Int) throws(WireError) -> [UInt8] {
        guard count >= 0, count <= remaining else { throw .truncated }
        defer { offset += count }
        return bytes.copy(offset..<(offset + count))
    }
}

/// Big-endian loads at a position the caller has checked (a position out of range traps, like any subscript).
extension RawSpan {
    package func uint8(at offset: Int) -> UInt8 { unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self) }
    package func uint16(at offset: Int) -> UInt16 { UInt16(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)) }
    package func uint32(at offset: Int) -> UInt32 { UInt32(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)) }

    /// A copy of a range the caller has checked.
    package func copy(_ range: Range<Int>) -> [UInt8] {
        // The array of no elements is one for the whole process, and its count would be written to.
        guard !range.isEmpty else { return [] }
        let part = extracting(range)
        return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            part.withUnsafeBytes { source in
                UnsafeMutableRawBufferPointer(buffer).copyMemory(from: source)
            }
            count = range.count
        }
    }

    package func copy() -> [UInt8] { copy(0..<byteCount) }
}
