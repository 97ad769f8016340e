package import ReactorCore

extension JSONValue {
    /// Parses JSON text, at most 64 MiB of it, a million values and 64 levels deep. Of two members with one name the last wins.
    ///
    /// - Throws: ``ReactorError`` with code `DECODE_FAILED`; the message gives the byte offset, never the text.
    public init(jsonText: String) throws { self = try Self(jsonBytes: Array(jsonText.utf8)) }

    /// This value as compact JSON text: keys sorted, whole numbers without a fraction part, numbers that JSON cannot
    /// express as `null`.
    public var jsonText: String { String(decoding: jsonBytes, as: UTF8.self) }

    init(jsonBytes: [UInt8]) throws(ReactorError) {
        do throws(WireFormatError) {
            self.init(try JSONText.parse(jsonBytes, maxBytes: FormatLimits.maxMessageBytes))
        } catch {
            throw ReactorError(.decodeFailed, "unreadable JSON: \(error)", operation: "decode_json")
        }
    }

    var jsonBytes: [UInt8] {
        var bytes: [UInt8] = []
        write(into: &bytes)
        return bytes
    }

    private func write(into bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let value):
            if let whole = Int64(exactly: value) {
                bytes += String(whole).utf8
            } else {
                bytes += (value.isFinite ? value.description : "null").utf8
            }
        case .string(let value): Self.write(value, into: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, (key, member)) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.write(key, into: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ string: String, into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x0A: bytes += "\\n".utf8
            case 0x0D: bytes += "\\r".utf8
            case 0x09: bytes += "\\t".utf8
            case 0..<0x20: bytes += ((byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16)).utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

// MARK: - Wire values

extension JSONValue {
    /// What came over the wire, as the app sees it.
    package init(_ wire: WireValue) {
        self =
            switch wire {
            case .null: .null
            case .bool(let value): .bool(value)
            case .number(let value): .number(value)
            case .string(let value): .string(value)
            case .list(let values): .array(values.map(JSONValue.init))
            case .object(let members): .object(members.mapValues(JSONValue.init))
            }
    }

    /// What the app gave, as the wire carries it. NaN passes through here and is refused where it would be written.
    package var wireValue: WireValue {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let value): .number(value)
        case .string(let value): .string(value)
        case .array(let elements): .list(elements.map(\.wireValue))
        case .object(let members): .object(members.mapValues(\.wireValue))
        }
    }
}
