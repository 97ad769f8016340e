/// The bytes an app attached to a frame.
///
/// For a received frame they lie in the compressed frame's own memory, behind its bitstream: handing them on copies and
/// allocates nothing, and keeps that memory from reuse as long as anybody holds them.
package struct FrameUserData: Sendable {
    private let memory: MediaBytes
    private let offset: Int
    package let count: Int

    package init(_ bytes: [UInt8]) { self.init(memory: MediaBytes(copying: bytes.span.bytes), range: 0..<bytes.count) }

    /// A part of `memory`, which nobody writes to any more. The range may lie behind its `count`, never behind its capacity.
    package init(memory: MediaBytes, range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= memory.capacity)
        self.memory = memory
        offset = range.lowerBound
        count = range.count
    }

    package func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(start: memory.base + offset, count: count))
    }
}

extension FrameUserData: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }
    package subscript(position: Int) -> UInt8 {
        precondition(position >= 0 && position < count)
        return (memory.base + offset).load(fromByteOffset: position, as: UInt8.self)
    }
}

extension FrameUserData: Hashable {
    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.elementsEqual(rhs) }
    package func hash(into hasher: inout Hasher) { withUnsafeBytes { hasher.combine(bytes: $0) } }
}

extension FrameUserData: ExpressibleByArrayLiteral {
    package init(arrayLiteral elements: UInt8...) { self.init(elements) }
}
