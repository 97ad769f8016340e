// google.protobuf.Struct, Value and ListValue (wire-protocol 5.4, 5.6).
//
// Struct{1: map<string, Value>}; Value oneof {1 null enum, 2 number double, 3 string, 4 bool, 5 struct, 6 list};
// ListValue{1: repeated Value}; a map entry is {1 key, 2 value}.

extension WireValue {
    /// Reads a Struct: always an object. Of two entries with one key the last wins.
    package static func readStruct(_ reader: inout ProtobufReader) throws(WireFormatError) -> WireValue {
        .object(try readMembers(&reader, depth: 0))
    }

    /// Writes the members of an object as a Struct's content. Call `validateForSending()` first: it bounds the recursion here.
    package static func writeStruct(_ members: [String: WireValue], to writer: inout ProtobufWriter) throws(WireFormatError) {
        // Sorted, so that the same data makes the same bytes.
        for key in members.keys.sorted() {
            try writer.writeMessage(field: 1) { entry throws(WireFormatError) in
                entry.writeAlways(key, field: 1)
                try entry.writeMessage(field: 2) { value throws(WireFormatError) in
                    try (members[key] ?? .null).writeValue(to: &value)
                }
            }
        }
    }

    private static func readMembers(_ reader: inout ProtobufReader, depth: Int) throws(WireFormatError) -> [String: WireValue] {
        var members: [String: WireValue] = [:]
        while let field = try reader.nextField() {
            guard field.number == 1, field.wireType == .lengthDelimited else {
                try reader.skip(field)
                continue
            }
            let (key, value) = try reader.readMessage { entry throws(WireFormatError) in
                var key = ""
                var value = WireValue.null
                while let part = try entry.nextField() {
                    switch (part.number, part.wireType) {
                    case (1, .lengthDelimited): key = try entry.readString()
                    case (2, .lengthDelimited):
                        value = try entry.readMessage { inner throws(WireFormatError) in try readValue(&inner, depth: depth + 1) }
                    default: try entry.skip(part)
                    }
                }
                return (key, value)
            }
            members[key] = value
        }
        return members
    }

    /// A Value without a kind reads as null (PB-03), and so does a number that JSON cannot say.
    private static func readValue(_ reader: inout ProtobufReader, depth: Int) throws(WireFormatError) -> WireValue {
        guard depth <= FormatLimits.maxDepth else { throw .tooDeep }
        try reader.countValue()
        var result = WireValue.null
        while let field = try reader.nextField() {
            switch (field.number, field.wireType) {
            case (1, .varint):
                _ = try reader.readVarint()
                result = .null
            case (2, .fixed64):
                let number = try reader.readDouble()
                result = number.isFinite ? .number(number) : .null
            case (3, .lengthDelimited): result = .string(try reader.readString())
            case (4, .varint): result = .bool(try reader.readVarint() != 0)
            case (5, .lengthDelimited):
                result = .object(try reader.readMessage { inner throws(WireFormatError) in try readMembers(&inner, depth: depth) })
            case (6, .lengthDelimited):
                result = .list(try reader.readMessage { inner throws(WireFormatError) in try readElements(&inner, depth: depth) })
            default: try reader.skip(field)
            }
        }
        return result
    }

    private static func readElements(_ reader: inout ProtobufReader, depth: Int) throws(WireFormatError) -> [WireValue] {
        var elements: [WireValue] = []
        while let field = try reader.nextField() {
            guard field.number == 1, field.wireType == .lengthDelimited else {
                try reader.skip(field)
                continue
            }
            elements.append(try reader.readMessage { inner throws(WireFormatError) in try readValue(&inner, depth: depth + 1) })
        }
        return elements
    }

    private func writeValue(to writer: inout ProtobufWriter) throws(WireFormatError) {
        switch self {
        case .null: writer.writeAlways(UInt64(0), field: 1)
        case .number(let number):
            guard number.isFinite else { throw .notFinite }
            writer.writeAlways(number, field: 2)
        case .string(let text): writer.writeAlways(text, field: 3)
        case .bool(let flag): writer.writeAlways(UInt64(flag ? 1 : 0), field: 4)
        case .object(let members):
            try writer.writeMessage(field: 5) { inner throws(WireFormatError) in try Self.writeStruct(members, to: &inner) }
        case .list(let elements):
            try writer.writeMessage(field: 6) { inner throws(WireFormatError) in
                for element in elements {
                    try inner.writeMessage(field: 1) { value throws(WireFormatError) in try element.writeValue(to: &value) }
                }
            }
        }
    }
}
