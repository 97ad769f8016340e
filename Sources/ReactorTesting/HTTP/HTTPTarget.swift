// The request target (RFC 9112 §3.2) taken apart: path segments and query, percent-decoded after splitting, so that an
// encoded slash stays inside its segment. Fragments do not exist here.

struct HTTPTarget: Hashable, Sendable {
    /// Without the leading slash: `/a/b` is `["a", "b"]`, `/` is `[""]`.
    var path: [String]
    /// In order, repeated names included.
    var query: [Item]

    struct Item: Hashable, Sendable {
        var name: String
        var value: String
    }

    /// Nil for what is not a target: no slash in front, broken percent-encoding, text that is not UTF-8, or too many parts.
    init?(parsing text: String) {
        var rest = text[...]
        if let scheme = ["http://", "https://"].first(where: { rest.lowercased().hasPrefix($0) }) {
            // Absolute form: what follows the authority counts.
            rest = rest.dropFirst(scheme.count)
            rest = rest[(rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex)...]
            if !rest.hasPrefix("/") { rest = "/" + rest }
        }
        if rest == "*" { rest = "/*" }
        guard rest.utf8.first == UInt8(ascii: "/") else { return nil }
        let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?"))
        let pathText = rest[..<(mark ?? rest.endIndex)].dropFirst()
        let parts = pathText.utf8.split(separator: UInt8(ascii: "/"), maxSplits: Self.maxParts, omittingEmptySubsequences: false)
        guard parts.count <= Self.maxParts else { return nil }
        path = []
        for part in parts {
            guard let decoded = Self.decoded(part, plusIsSpace: false) else { return nil }
            path.append(decoded)
        }
        query = []
        guard let mark else { return }
        guard let items = Self.query(rest.utf8[rest.utf8.index(after: mark)...]) else { return nil }
        query = items
    }

    /// The first value under a name.
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// `a=1&b=2`; nil for broken encoding or too many items.
    static func query<Bytes: Collection>(_ bytes: Bytes) -> [Item]? where Bytes.Element == UInt8 {
        let parts = bytes.split(separator: UInt8(ascii: "&"), maxSplits: maxParts, omittingEmptySubsequences: true)
        guard parts.count <= maxParts else { return nil }
        var items: [Item] = []
        for part in parts {
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let value = equals == part.endIndex ? part[equals...] : part[part.index(after: equals)...]
            guard let name = decoded(part[..<equals], plusIsSpace: true), let text = decoded(value, plusIsSpace: true) else { return nil }
            items.append(Item(name: name, value: text))
        }
        return items
    }

    /// Percent-decoding (RFC 3986 §2.1); nil for a broken escape, a zero byte, or text that is not UTF-8.
    static func decoded<Bytes: Collection>(_ bytes: Bytes, plusIsSpace: Bool) -> String? where Bytes.Element == UInt8 {
        var result: [UInt8] = []
        var index = bytes.startIndex
        while index != bytes.endIndex {
            var byte = bytes[index]
            bytes.formIndex(after: &index)
            if byte == UInt8(ascii: "+"), plusIsSpace { byte = 0x20 }
            if byte == UInt8(ascii: "%") {
                guard let high = hexDigit(bytes, &index), let low = hexDigit(bytes, &index) else { return nil }
                byte = high << 4 | low
            }
            guard byte != 0 else { return nil }
            result.append(byte)
        }
        return String(validating: result, as: UTF8.self)
    }

    private static func hexDigit<Bytes: Collection>(_ bytes: Bytes, _ index: inout Bytes.Index) -> UInt8? where Bytes.Element == UInt8 {
        guard index != bytes.endIndex else { return nil }
        defer { bytes.formIndex(after: &index) }
        switch bytes[index] {
        case let byte where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte): return byte - UInt8(ascii: "0")
        case let byte where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte): return byte - UInt8(ascii: "a") + 10
        case let byte where (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte): return byte - UInt8(ascii: "A") + 10
        default: return nil
        }
    }

    /// Our longest path has seven segments.
    private static let maxParts = 64
}
