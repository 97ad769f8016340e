/// Reads protobuf messages from bytes a peer sent: fields in, values out, nothing kept.
///
/// Bounded everywhere: total size, nesting, the number of values, ten bytes per varint. Unknown fields are skipped, groups
/// included, and so is a known field with another wire type, as the official parsers do. Of a repeated singular field the last
/// wins, messages included (the official parsers merge those; no writer relies on it).
/// Left out: packed fields and extensions, which nothing we read uses.
package struct ProtobufReader {
    private let bytes: [UInt8]
    private var position = 0
    /// End of the message being read.
    private var end: Int
    private var depth = 0
    /// Values that may still be made, over all nested messages.
    private var remainingValues = FormatLimits.maxValues

    package enum WireType: UInt8, Sendable {
        case varint = 0
        case fixed64 = 1
        case lengthDelimited = 2
        case groupStart = 3
        case groupEnd = 4
        case fixed32 = 5
    }

    package struct Field: Hashable, Sendable {
        package var number: Int
        package var wireType: WireType
    }

    package init(_ bytes: [UInt8], maxBytes: Int = FormatLimits.maxMessageBytes) throws(WireFormatError) {
        guard bytes.count <= maxBytes else { throw .tooLarge }
        self.bytes = bytes
        self.end = bytes.count
    }

    /// The next field of the message being read, or `nil` at its end. The caller then reads or skips the field's value.
    package mutating func nextField() throws(WireFormatError) -> Field? {
        guard position < end else { return nil }
        let tag = try readVarint()
        guard tag <= UInt64(UInt32.max), let wireType = WireType(rawValue: UInt8(tag & 7)) else { throw .badTag }
        let number = Int(tag >> 3)
        guard number > 0 else { throw .badTag }
        return Field(number: number, wireType: wireType)
    }

    /// Reads the next length-delimited field as a message: `read` takes fields until there are none.
    package mutating func readMessage<Value>(
        _ read: (inout ProtobufReader) throws(WireFormatError) -> Value
    ) throws(WireFormatError) -> Value {
        let length = try readLength()
        guard depth < Self.maxDepth else { throw .tooDeep }
        let outerEnd = end
        end = position + length
        depth += 1
        let value = try read(&self)
        position = end
        end = outerEnd
        depth -= 1
        return value
    }

    /// Takes one from the budget of values; called for each element of a repeated field.
    package mutating func countValue() throws(WireFormatError) {
        guard remainingValues > 0 else { throw .tooManyValues }
        remainingValues -= 1
    }

    package mutating func readString() throws(WireFormatError) -> String {
        let length = try readLength()
        guard let text = String(validating: bytes[position..<position + length], as: UTF8.self) else { throw .badUTF8 }
        position += length
        return text
    }

    package mutating func readBytes() throws(WireFormatError) -> [UInt8] {
        let length = try readLength()
        defer { position += length }
        return Array(bytes[position..<position + length])
    }

    package mutating func readDouble() throws(WireFormatError) -> Double { Double(bitPattern: try readFixed(count: 8)) }

    /// At most ten bytes, of which the last holds one bit.
    package mutating func readVarint() throws(WireFormatError) -> UInt64 {
        var value: UInt64 = 0
        for index in 0..<10 {
            guard position < end else { throw .truncated }
            let byte = bytes[position]
            position += 1
            guard index < 9 || byte <= 1 else { throw .badVarint }
            value |= UInt64(byte & 0x7F) << UInt64(7 * index)
            if byte < 0x80 { return value }
        }
        throw .badVarint
    }

    package mutating func skip(_ field: Field) throws(WireFormatError) {
        switch field.wireType {
        case .varint: _ = try readVarint()
        case .fixed64: _ = try readFixed(count: 8)
        case .fixed32: _ = try readFixed(count: 4)
        case .lengthDelimited: position += try readLength()
        case .groupEnd: throw .badTag
        case .groupStart: try skipGroup(field.number)
        }
    }

    /// Skips to the matching end of a group (deprecated in protobuf, still legal in unknown fields).
    private mutating func skipGroup(_ number: Int) throws(WireFormatError) {
        var open = [number]
        while let innermost = open.last {
            guard let field = try nextField() else { throw .truncated }
            switch field.wireType {
            case .groupStart:
                guard depth + open.count < Self.maxDepth else { throw .tooDeep }
                open.append(field.number)
            case .groupEnd:
                guard field.number == innermost else { throw .badTag }
                open.removeLast()
            default: try skip(field)
            }
        }
    }

    private mutating func readLength() throws(WireFormatError) -> Int {
        let length = try readVarint()
        guard length <= UInt64(end - position) else { throw .truncated }
        return Int(length)
    }

    private mutating func readFixed(count: Int) throws(WireFormatError) -> UInt64 {
        guard count <= end - position else { throw .truncated }
        var value: UInt64 = 0
        for index in 0..<count { value |= UInt64(bytes[position + index]) << UInt64(8 * index) }
        position += count
        return value
    }

    /// Nested messages. One level of JSON takes three (Value, Struct, map entry), and an envelope takes a few more.
    private static let maxDepth = FormatLimits.maxDepth * 3 + 8
}
