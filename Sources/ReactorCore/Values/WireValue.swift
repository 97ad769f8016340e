/// One JSON value: `google.protobuf.Value` on the wire, JSON text in HTTP bodies.
///
/// All numbers are doubles, as on the wire. A number that is not finite can be held and compared, but every writer
/// refuses it (PB-01).
package indirect enum WireValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case list([WireValue])
    case object([String: WireValue])
}

extension WireValue {
    /// The member of an object; `nil` for a missing member and for other kinds of value.
    package subscript(_ key: String) -> WireValue? {
        if case .object(let members) = self { return members[key] }
        return nil
    }

    package var stringValue: String? {
        if case .string(let value) = self { return value }
        return nil
    }

    package var boolValue: Bool? {
        if case .bool(let value) = self { return value }
        return nil
    }

    package var numberValue: Double? {
        if case .number(let value) = self { return value }
        return nil
    }

    /// The number, when `Int` holds it exactly.
    package var intValue: Int? {
        guard case .number(let value) = self else { return nil }
        return Int(exactly: value)
    }

    package var listValue: [WireValue]? {
        if case .list(let values) = self { return values }
        return nil
    }

    package var objectValue: [String: WireValue]? {
        if case .object(let members) = self { return members }
        return nil
    }

    package var isNull: Bool { self == .null }
}

extension WireValue {
    /// Throws unless every number is finite, and nesting and count are within `FormatLimits`. Called before sending, so
    /// that a bad argument fails at the call that made it.
    package func validateForSending() throws(WireFormatError) {
        var remaining = FormatLimits.maxValues
        try validate(depth: 0, remaining: &remaining)
    }

    private func validate(depth: Int, remaining: inout Int) throws(WireFormatError) {
        guard depth <= FormatLimits.maxDepth else { throw .tooDeep }
        guard remaining > 0 else { throw .tooManyValues }
        remaining -= 1
        switch self {
        case .null, .bool, .string: break
        case .number(let value): guard value.isFinite else { throw .notFinite }
        case .list(let values):
            for value in values { try value.validate(depth: depth + 1, remaining: &remaining) }
        case .object(let members):
            for value in members.values { try value.validate(depth: depth + 1, remaining: &remaining) }
        }
    }
}
