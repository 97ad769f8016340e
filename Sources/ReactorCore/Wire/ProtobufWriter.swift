/// Writes protobuf messages, proto3 rules: a plain field with its default value is left out.
package struct ProtobufWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func write(_ value: String, field: Int) {
        if !value.isEmpty { writeAlways(value, field: field) }
    }

    package mutating func write(_ value: [UInt8], field: Int) {
        if !value.isEmpty { writeDelimited(value, field: field) }
    }

    package mutating func write(_ value: Double, field: Int) {
        if value.bitPattern != 0 { writeAlways(value, field: field) }
    }

    /// Also for int64 (bit pattern) and enums.
    package mutating func write(_ value: UInt64, field: Int) {
        if value != 0 { writeAlways(value, field: field) }
    }

    package mutating func write(_ value: Int64, field: Int) { write(UInt64(bitPattern: value), field: field) }

    /// An embedded message; written also when empty, because its presence says something.
    package mutating func writeMessage(field: Int, _ body: (inout ProtobufWriter) throws(WireFormatError) -> Void) throws(WireFormatError) {
        var inner = ProtobufWriter()
        try body(&inner)
        writeDelimited(inner.bytes, field: field)
    }

    // Members of a oneof and elements of a repeated field are present even with their default value.

    package mutating func writeAlways(_ value: String, field: Int) { writeDelimited(value.utf8, field: field) }

    package mutating func writeAlways(_ value: Double, field: Int) {
        writeTag(field, .fixed64)
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value.bitPattern >> UInt64(shift))) }
    }

    package mutating func writeAlways(_ value: UInt64, field: Int) {
        writeTag(field, .varint)
        writeVarint(value)
    }

    private mutating func writeDelimited(_ value: some Collection<UInt8>, field: Int) {
        writeTag(field, .lengthDelimited)
        writeVarint(UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    private mutating func writeTag(_ field: Int, _ type: ProtobufReader.WireType) {
        writeVarint(UInt64(field) << 3 | UInt64(type.rawValue))
    }

    private mutating func writeVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}
