/// JSON text to ``JSONValue`` and back (RFC 8259), bounded in size and depth.
///
/// Written here instead of through `JSONDecoder` so that limits hold while parsing, `true` never becomes 1, and an error
/// names the byte where it is.
enum JSONText {
    /// Levels of arrays and objects; the platform's own messages stay below ten.
    static let maxDepth = 64
    /// The largest message a data channel can carry.
    static let maxBytes = 64 << 20

    /// - Throws: ``ReactorError`` with code `DECODE_FAILED`.
    static func parse(_ text: some Collection<UInt8>) throws(ReactorError) -> JSONValue {
        guard text.count <= maxBytes else { throw ReactorError(.decodeFailed, "JSON text of \(text.count) bytes is over the limit") }
        var parser = JSONParser(bytes: Array(text))
        return try parser.parseDocument()
    }

    static func bytes(of value: JSONValue) -> [UInt8] {
        var out: [UInt8] = []
        write(value, into: &out)
        return out
    }

    private static func write(_ value: JSONValue, into out: inout [UInt8]) {
        switch value {
        case .null: out += "null".utf8
        case .bool(let value): out += (value ? "true" : "false").utf8
        case .number(let value):
            if let whole = Int64(exactly: value) {
                out += String(whole).utf8
            } else {
                out += (value.isFinite ? value.description : "null").utf8
            }
        case .string(let value): write(value, into: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                write(element, into: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, (key, member)) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                write(key, into: &out)
                out.append(UInt8(ascii: ":"))
                write(member, into: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ string: String, into out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""): out += #"\""#.utf8
            case UInt8(ascii: "\\"): out += #"\\"#.utf8
            case 0x0A: out += #"\n"#.utf8
            case 0x0D: out += #"\r"#.utf8
            case 0x09: out += #"\t"#.utf8
            case 0..<0x20:
                out += #"\u00"#.utf8
                out.append(hexDigits[Int(byte >> 4)])
                out.append(hexDigits[Int(byte & 15)])
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)
}

/// A cursor over JSON bytes; every access is checked against the end.
private struct JSONParser {
    let bytes: [UInt8]
    var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func parseDocument() throws(ReactorError) -> JSONValue {
        let value = try parseValue(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw failure("text after the value") }
        return value
    }

    private mutating func parseValue(depth: Int) throws(ReactorError) -> JSONValue {
        guard depth <= JSONText.maxDepth else { throw failure("more than \(JSONText.maxDepth) levels") }
        skipSpace()
        switch peek() {
        case UInt8(ascii: "{"): return try parseObject(depth: depth)
        case UInt8(ascii: "["): return try parseArray(depth: depth)
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parseWord("true", .bool(true))
        case UInt8(ascii: "f"): return try parseWord("false", .bool(false))
        case UInt8(ascii: "n"): return try parseWord("null", .null)
        case nil: throw failure("the text ends too early")
        default: return .number(try parseNumber())
        }
    }

    private mutating func parseObject(depth: Int) throws(ReactorError) -> JSONValue {
        position += 1
        var members: [String: JSONValue] = [:]
        skipSpace()
        if take("}") { return .object(members) }
        while true {
            skipSpace()
            guard peek() == UInt8(ascii: "\"") else { throw failure("expected a key") }
            let key = try parseString()
            skipSpace()
            guard take(":") else { throw failure("expected a colon") }
            members[key] = try parseValue(depth: depth + 1)
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw failure("expected a comma or a closing brace") }
        }
    }

    private mutating func parseArray(depth: Int) throws(ReactorError) -> JSONValue {
        position += 1
        var elements: [JSONValue] = []
        skipSpace()
        if take("]") { return .array(elements) }
        while true {
            elements.append(try parseValue(depth: depth + 1))
            skipSpace()
            if take("]") { return .array(elements) }
            guard take(",") else { throw failure("expected a comma or a closing bracket") }
        }
    }

    private mutating func parseString() throws(ReactorError) -> String {
        position += 1
        var start = position
        var text: [UInt8] = []
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\""):
                text += bytes[start..<position]
                position += 1
                guard let string = String(validating: text, as: UTF8.self) else { throw failure("a string is not UTF-8") }
                return string
            case UInt8(ascii: "\\"):
                text += bytes[start..<position]
                position += 1
                try parseEscape(into: &text)
                start = position
            case 0..<0x20: throw failure("a control character in a string")
            default: position += 1
            }
        }
        throw failure("a string does not end")
    }

    private mutating func parseEscape(into text: inout [UInt8]) throws(ReactorError) {
        guard let byte = peek() else { throw failure("a string does not end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var scalar = try parseHex4()
            if (0xD800..<0xDC00).contains(scalar), peek() == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "u") {
                let afterHigh = position
                position += 2
                let low = try parseHex4()
                if (0xDC00..<0xE000).contains(low) {
                    scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
                } else {
                    position = afterHigh
                }
            }
            // Half of a surrogate pair alone is no character; it becomes U+FFFD instead of failing the whole message.
            text += String(Character(Unicode.Scalar(scalar) ?? "\u{FFFD}")).utf8
        default: throw failure("an unknown escape")
        }
    }

    private mutating func parseHex4() throws(ReactorError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                throw failure("expected four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    private mutating func parseNumber() throws(ReactorError) -> Double {
        let start = position
        _ = take("-")
        if !take("0") { guard takeDigits() else { throw failure("not a value") } }
        if take(".") { guard takeDigits() else { throw failure("a number ends too early") } }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            guard takeDigits() else { throw failure("a number ends too early") }
        }
        guard let value = Double(String(decoding: bytes[start..<position], as: UTF8.self)), value.isFinite else {
            throw failure("a number is out of range")
        }
        return value
    }

    private mutating func parseWord(_ word: StaticString, _ value: JSONValue) throws(ReactorError) -> JSONValue {
        for index in 0..<word.utf8CodeUnitCount {
            guard peek() == word.utf8Start[index] else { throw failure("not a value") }
            position += 1
        }
        return value
    }

    private mutating func takeDigits() -> Bool {
        let start = position
        while let byte = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        return position > start
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private func peek(_ ahead: Int = 0) -> UInt8? { position + ahead < bytes.count ? bytes[position + ahead] : nil }

    private func failure(_ what: String) -> ReactorError { ReactorError(.decodeFailed, "not JSON: \(what) at byte \(position)") }
}
