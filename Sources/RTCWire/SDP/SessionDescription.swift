/// A session description as values (RFC 8866, with the attributes WebRTC uses: RFC 9429 §5). No negotiation here.
///
/// What we act on has a field; other attributes are kept as they are, other lines are passed over.
package struct SessionDescription: Sendable, Equatable {
    package var sessionID: String
    package var sessionVersion: UInt64
    /// The mids of each `a=group:BUNDLE`.
    package var bundleGroups: [[String]]
    /// Session-level attributes without a field, in order. Transport attributes, direction, header extensions and
    /// end-of-candidates at session level are moved into the sections by the parser.
    package var attributes: [SDPAttribute]
    package var sections: [MediaSection]

    package init(
        sessionID: String, sessionVersion: UInt64 = 1, bundleGroups: [[String]] = [], attributes: [SDPAttribute] = [],
        sections: [MediaSection] = []
    ) {
        self.sessionID = sessionID
        self.sessionVersion = sessionVersion
        self.bundleGroups = bundleGroups
        self.attributes = attributes
        self.sections = sections
    }

    package init(parsing text: String) throws(SDPError) {
        self = try SDPParser.parse(text)
    }

    /// The text, lines ended by CRLF.
    package func write() -> String { SDPWriter.write(self) }

    /// The first session-level attribute of that name; names are compared whole and case-sensitively.
    package func attribute(_ name: String) -> SDPAttribute? { attributes.first { $0.name == name } }
}

/// One `a=` line: `name` or `name:value`.
package struct SDPAttribute: Sendable, Hashable {
    package var name: String
    package var value: String?

    package init(name: String, value: String? = nil) {
        self.name = name
        self.value = value
    }
}
