/// JSON text to and from `WireValue` (RFC 8259), for HTTP bodies and legacy frames.
///
/// Own code instead of a library, because the bytes come from the network: depth, size and count are bounded, text has to be
/// UTF-8, and nothing else is tolerated. Of two members with one name the last wins, as in protobuf. Objects are written with
/// sorted keys, so captures compare.
package enum JSONText {
    package static func parse(_ bytes: [UInt8], maxBytes: Int = FormatLimits.maxBodyBytes) throws(WireFormatError) -> WireValue {
        guard bytes.count <= maxBytes else { throw .tooLarge }
        var parser = Parser(bytes: bytes)
        // A byte order mark is not JSON, but some servers write one.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { parser.position = 3 }
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.position == bytes.count else { throw .badJSON(offset: parser.position) }
        return value
    }

    package static func write(_ value: WireValue) throws(WireFormatError) -> [UInt8] {
        try value.validateForSending()
        var bytes: [UInt8] = []
        append(value, to: &bytes)
        return bytes
    }

    package static func string(_ value: WireValue) throws(WireFormatError) -> String {
        String(decoding: try write(value), as: UTF8.self)
    }
}

// MARK: - Writing

extension JSONText {
    private static func append(_ value: WireValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let flag): bytes.append(contentsOf: (flag ? "true" : "false").utf8)
        case .number(let number): bytes.append(contentsOf: text(number).utf8)
        case .string(let string): append(string, to: &bytes)
        case .list(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(element, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, key) in members.keys.sorted().enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                append(members[key] ?? .null, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Integers without a fraction; everything else in the shortest form that reads back the same.
    private static func text(_ number: Double) -> String {
        if let integer = Int64(exactly: number), integer.magnitude <= 1 << 53 { return String(integer) }
        return number.description
    }

    private static func append(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
            case 0x0A: bytes.append(contentsOf: "\\n".utf8)
            case 0x0D: bytes.append(contentsOf: "\\r".utf8)
            case 0x09: bytes.append(contentsOf: "\\t".utf8)
            case 0..<0x20:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(hexDigit(byte >> 4))
                bytes.append(hexDigit(byte & 15))
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

// MARK: - Parsing

extension JSONText {
    private struct Parser {
        let bytes: [UInt8]
        var position = 0
        var remainingValues = FormatLimits.maxValues

        init(bytes: [UInt8]) { self.bytes = bytes }

        var current: UInt8? { position < bytes.count ? bytes[position] : nil }
        var failure: WireFormatError { position < bytes.count ? .badJSON(offset: position) : .truncated }

        mutating func skipSpace() {
            while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
        }

        mutating func expect(_ byte: UInt8) throws(WireFormatError) {
            guard current == byte else { throw failure }
            position += 1
        }

        mutating func value(depth: Int) throws(WireFormatError) -> WireValue {
            guard depth <= FormatLimits.maxDepth else { throw .tooDeep }
            guard remainingValues > 0 else { throw .tooManyValues }
            remainingValues -= 1
            skipSpace()
            switch current {
            case UInt8(ascii: "{"): return .object(try object(depth: depth))
            case UInt8(ascii: "["): return .list(try list(depth: depth))
            case UInt8(ascii: "\""): return .string(try string())
            case UInt8(ascii: "t"):
                try word("true")
                return .bool(true)
            case UInt8(ascii: "f"):
                try word("false")
                return .bool(false)
            case UInt8(ascii: "n"):
                try word("null")
                return .null
            default: return .number(try number())
            }
        }

        mutating func word(_ text: StaticString) throws(WireFormatError) {
            for index in 0..<text.utf8CodeUnitCount {
                try expect(text.withUTF8Buffer { $0[index] })
            }
        }

        mutating func object(depth: Int) throws(WireFormatError) -> [String: WireValue] {
            position += 1
            var members: [String: WireValue] = [:]
            skipSpace()
            if current == UInt8(ascii: "}") {
                position += 1
                return members
            }
            while true {
                skipSpace()
                let key = try string()
                skipSpace()
                try expect(UInt8(ascii: ":"))
                members[key] = try value(depth: depth + 1)
                skipSpace()
                if current == UInt8(ascii: ",") {
                    position += 1
                    continue
                }
                try expect(UInt8(ascii: "}"))
                return members
            }
        }

        mutating func list(depth: Int) throws(WireFormatError) -> [WireValue] {
            position += 1
            var values: [WireValue] = []
            skipSpace()
            if current == UInt8(ascii: "]") {
                position += 1
                return values
            }
            while true {
                values.append(try value(depth: depth + 1))
                skipSpace()
                if current == UInt8(ascii: ",") {
                    position += 1
                    continue
                }
                try expect(UInt8(ascii: "]"))
                return values
            }
        }

        mutating func number() throws(WireFormatError) -> Double {
            let start = position
            if current == UInt8(ascii: "-") { position += 1 }
            if current == UInt8(ascii: "0") { position += 1 } else { try digits() }
            if current == UInt8(ascii: ".") {
                position += 1
                try digits()
            }
            if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
                position += 1
                if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
                try digits()
            }
            let text = String(decoding: bytes[start..<position], as: UTF8.self)
            // A number too large for a double is not a value we can carry; treating it as infinity would surprise later.
            guard let number = Double(text), number.isFinite else { throw .badJSON(offset: start) }
            return number
        }

        mutating func digits() throws(WireFormatError) {
            let start = position
            while let byte = current, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
            guard position > start else { throw failure }
        }

        mutating func string() throws(WireFormatError) -> String {
            try expect(UInt8(ascii: "\""))
            let start = position
            while let byte = current, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
            guard current == UInt8(ascii: "\"") else { return try escapedString(from: start) }
            let text = String(validating: bytes[start..<position], as: UTF8.self)
            position += 1
            guard let text else { throw .badUTF8 }
            return text
        }

        /// The slow path, from the first escape on.
        mutating func escapedString(from start: Int) throws(WireFormatError) -> String {
            var unescaped = Array(bytes[start..<position])
            while let byte = current {
                position += 1
                switch byte {
                case UInt8(ascii: "\""):
                    guard let text = String(validating: unescaped, as: UTF8.self) else { throw .badUTF8 }
                    return text
                case UInt8(ascii: "\\"): try escape(into: &unescaped)
                case 0..<0x20: throw .badJSON(offset: position - 1)
                default: unescaped.append(byte)
                }
            }
            throw .truncated
        }

        mutating func escape(into text: inout [UInt8]) throws(WireFormatError) {
            guard let byte = current else { throw .truncated }
            position += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"): text.append(contentsOf: Character(try unicodeEscape()).utf8)
            default: throw .badJSON(offset: position - 1)
            }
        }

        /// `\uXXXX`, or a surrogate pair of two. A lone surrogate has no UTF-8 form and reads as the replacement character.
        mutating func unicodeEscape() throws(WireFormatError) -> Unicode.Scalar {
            let replacement: Unicode.Scalar = "\u{FFFD}"
            let first = try hexQuad()
            guard (0xD800..<0xDC00).contains(first) else { return Unicode.Scalar(first) ?? replacement }
            guard position + 6 <= bytes.count, bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u") else {
                return replacement
            }
            let beforeSecond = position
            position += 2
            let second = try hexQuad()
            guard (0xDC00..<0xE000).contains(second) else {
                position = beforeSecond
                return replacement
            }
            return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)) ?? replacement
        }

        mutating func hexQuad() throws(WireFormatError) -> UInt32 {
            var value: UInt32 = 0
            for _ in 0..<4 {
                guard let byte = current else { throw .truncated }
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(byte - UInt8(ascii: "0"))
                case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(byte - UInt8(ascii: "a") + 10)
                case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
                default: throw .badJSON(offset: position)
                }
                position += 1
            }
            return value
        }
    }
}
