/// A URL, or a reference to be resolved against one (RFC 3986), without its fragment. Text in, text out: nothing here looks
/// names up or knows schemes beyond http and https.
package struct URLReference: Hashable, Sendable {
    package private(set) var scheme: String?
    package private(set) var authority: String?
    package private(set) var path: String
    package private(set) var query: String?

    /// Nil for text with spaces or control characters. Bytes beyond ASCII are percent-encoded.
    package init?(_ text: String) {
        var rest = Self.encoded(text)[...]
        guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), rest.utf8.count <= Self.maxBytes else { return nil }
        if let hash = rest.firstIndex(of: "#") { rest = rest[..<hash] }
        if let mark = rest.firstIndex(of: "?") {
            query = String(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        if let colon = rest.firstIndex(of: ":"), Self.isScheme(rest[..<colon]) {
            scheme = rest[..<colon].lowercased()
            rest = rest[rest.index(after: colon)...]
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            authority = String(rest[..<end])
            rest = rest[end...]
        }
        path = String(rest)
    }

    /// Absolute http or https with a host and without a user.
    package var isFetchable: Bool { origin != nil }

    /// Scheme, host and port: what a credential belongs to. Nil unless this is an absolute http or https URL with a host and
    /// without a user.
    package var origin: Origin? {
        guard let scheme, scheme == "http" || scheme == "https", let authority, !authority.contains("@") else { return nil }
        var host = authority[...]
        var port = scheme == "https" ? 443 : 80
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
            let digits = authority[authority.index(after: colon)...]
            host = authority[..<colon]
            if !digits.isEmpty {
                guard let number = Int(digits), (1...65_535).contains(number) else { return nil }
                port = number
            }
        }
        guard !host.isEmpty else { return nil }
        return Origin(scheme: scheme, host: host.lowercased(), port: port)
    }

    package struct Origin: Hashable, Sendable {
        package var scheme: String
        package var host: String
        package var port: Int
    }

    /// What `reference` means in a document at this URL (RFC 3986 §5.2.2).
    package func resolving(_ reference: URLReference) -> URLReference {
        var target = reference
        guard reference.scheme == nil else {
            target.path = Self.withoutDots(reference.path)
            return target
        }
        target.scheme = scheme
        guard reference.authority == nil else {
            target.path = Self.withoutDots(reference.path)
            return target
        }
        target.authority = authority
        if reference.path.isEmpty {
            target.path = path
            target.query = reference.query ?? query
        } else if reference.path.hasPrefix("/") {
            target.path = Self.withoutDots(reference.path)
        } else if authority != nil, path.isEmpty {
            target.path = Self.withoutDots("/" + reference.path)
        } else {
            let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
            target.path = Self.withoutDots(folder + reference.path)
        }
        return target
    }

    package var text: String {
        (scheme.map { $0 + ":" } ?? "") + (authority.map { "//" + $0 } ?? "") + path + (query.map { "?" + $0 } ?? "")
    }

    /// The same place without what a signature or a version adds to it.
    package var withoutQuery: URLReference {
        var copy = self
        copy.query = nil
        return copy
    }

    // MARK: - Parts

    /// RFC 3986 §5.2.4.
    private static func withoutDots(_ path: String) -> String {
        guard path.contains(".") else { return path }
        let isAbsolute = path.hasPrefix("/")
        var kept: [Substring] = []
        let parts = path.dropFirst(isAbsolute ? 1 : 0).split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            switch part {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(part)
            }
        }
        return (isAbsolute ? "/" : "") + kept.joined(separator: "/")
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.first, first.isASCII, first.isLetter else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    }

    private static func encoded(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
        let digits = Array("0123456789ABCDEF")
        var out = ""
        for byte in text.utf8 {
            if byte < 0x80 {
                out.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                out.append("%")
                out.append(digits[Int(byte >> 4)])
                out.append(digits[Int(byte & 15)])
            }
        }
        return out
    }

    private static let maxBytes = 16_384
}
