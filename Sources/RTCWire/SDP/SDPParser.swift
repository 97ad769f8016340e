/// Text to `SessionDescription` (RFC 8866 §5, §9).
///
/// Lines end with LF or CRLF, also mixed; blanks at the end of a line are ignored (trap SDP-08). Attribute names are
/// compared whole. An attribute that we understand must be well formed, because skipping it would only move the failure
/// to a place where nobody can explain it; what we do not understand is kept or passed over.
struct SDPParser {
    static let maxBytes = 256 * 1024
    static let maxLines = 4096
    static let maxSections = 128

    private var session: SessionDescription?
    private var shared = SharedAttributes()
    private var section: SectionBuilder?
    private var line = 0
    private var hasVersion = false

    static func parse(_ text: String) throws(SDPError) -> SessionDescription {
        var text = text
        text.makeContiguousUTF8()
        guard text.utf8.count <= maxBytes else { throw SDPError(line: 0, problem: .textTooLong) }
        var parser = SDPParser()
        var rest = text.utf8[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            try parser.take(Substring(rest[rest.startIndex..<end]))
            rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...]
        }
        return try parser.finish()
    }

    private mutating func take(_ raw: Substring) throws(SDPError) {
        line += 1
        guard line <= Self.maxLines else { throw fail(.tooManyLines) }
        guard let last = raw.utf8.lastIndex(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { return }
        let text = raw.utf8[...last]
        let first = text.first ?? 0
        guard text.count >= 2, (0x61...0x7A).contains(first), text[text.index(after: text.startIndex)] == UInt8(ascii: "=") else {
            throw fail(.badLine)
        }
        // RFC 8866 §9, byte-string: a line holds neither. Kept in a value, they would end a line or a C string elsewhere.
        guard !text.contains(where: { $0 == 0x0D || $0 == 0 }) else { throw fail(.badLine) }
        let value = Substring(text.dropFirst(2))
        guard hasVersion || first == UInt8(ascii: "v") else { throw fail(.badVersion) }
        switch first {
        case UInt8(ascii: "v"):
            guard !hasVersion, value == "0" else { throw fail(.badVersion) }
            hasVersion = true
        case UInt8(ascii: "o"): try takeOrigin(value)
        case UInt8(ascii: "m"): try takeMedia(value)
        case UInt8(ascii: "a"): try takeAttribute(value)
        default: break
        }
    }

    private mutating func finish() throws(SDPError) -> SessionDescription {
        closeSection()
        guard let session else { throw SDPError(line: 0, problem: .badOrigin) }
        return session
    }

    private func fail(_ problem: SDPError.Problem) -> SDPError { SDPError(line: line, problem: problem) }

    private mutating func takeOrigin(_ value: Substring) throws(SDPError) {
        let parts = value.split(separator: " ")
        guard session == nil, parts.count >= 3, let version = UInt64(parts[2]) else { throw fail(.badOrigin) }
        session = SessionDescription(sessionID: String(parts[1]), sessionVersion: version)
    }

    private mutating func takeMedia(_ value: Substring) throws(SDPError) {
        closeSection()
        guard let session else { throw fail(.badOrigin) }
        guard session.sections.count < Self.maxSections else { throw fail(.tooManySections) }
        let parts = value.split(separator: " ")
        // "9/2" counts ports; the first one is enough.
        guard parts.count >= 3, let port = parts[1].split(separator: "/").first.flatMap({ UInt16($0) }) else { throw fail(.badMediaLine) }
        let media = MediaSection(
            kind: MediaSection.Kind(String(parts[0])), port: Int(port), protocolName: String(parts[2]),
            formats: parts.dropFirst(3).map(String.init))
        section = SectionBuilder(media)
    }

    private mutating func closeSection() {
        guard let builder = section else { return }
        session?.sections.append(builder.finish(shared))
        section = nil
    }

    private mutating func takeAttribute(_ text: Substring) throws(SDPError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        guard !name.isEmpty else { throw fail(.badLine) }
        guard session != nil else { throw fail(.badOrigin) }
        let value = parts.count > 1 ? parts[1].trimmingSpaces : nil
        let attribute = SDPAttribute(name: name, value: value.map(String.init))
        do throws(SDPValueError) {
            if section != nil {
                try section?.take(attribute)
            } else if name == "group", let words = value?.split(separator: " "), words.first == "BUNDLE" {
                session?.bundleGroups.append(words.dropFirst().map(String.init))
            } else if try !shared.take(attribute) {
                session?.attributes.append(attribute)
            }
        } catch {
            throw fail(.badAttribute(name: name))
        }
    }
}

/// A value that its attribute cannot have.
struct SDPValueError: Error {}
