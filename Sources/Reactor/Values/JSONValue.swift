/// A JSON value: what commands take, and what events and replies carry.
///
/// Write one as a literal, read one through its accessors:
///
/// ```swift
/// try await reactor.sendCommand("set_prompt", ["prompt": "a red fox", "strength": 0.8])
/// if message["type"]?.stringValue == "progress" { print(message["data"]?["percent"]?.doubleValue ?? 0) }
/// ```
///
/// Numbers are doubles, so integers above 2^53 lose digits. NaN and infinities are not JSON: sending one fails with
/// `DECODE_FAILED`, and ``jsonText`` writes `null` for it.
@frozen public enum JSONValue: Sendable, Hashable {
    /// A text.
    case string(String)
    /// A number; whole numbers are exact up to 2^53.
    case number(Double)
    /// True or false.
    case bool(Bool)
    /// Members by name, in no order; they are written sorted by name.
    case object([String: JSONValue])
    /// Elements in order.
    case array([JSONValue])
    /// JSON `null`.
    case null
}

extension JSONValue {
    /// The text of a string, or nil for any other case.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The value of a number, or nil for any other case.
    public var doubleValue: Double? { if case .number(let value) = self { value } else { nil } }
    /// The value of a number that `Int` holds exactly, or nil for any other number or case.
    public var intValue: Int? { if case .number(let value) = self { Int(exactly: value) } else { nil } }
    /// The value of a boolean, or nil for any other case.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The members of an object, or nil for any other case.
    public var objectValue: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }
    /// The elements of an array, or nil for any other case.
    public var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    /// Whether this is JSON `null`.
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The member of that name, or nil when this is not an object or has none.
    public subscript(key: String) -> JSONValue? { objectValue?[key] }

    /// The element at that place, or nil when this is not an array or is shorter; negative places are nil.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A number.
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// JSON `null`.
    public init(nilLiteral: ()) { self = .null }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object. A key given twice keeps its first value.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { first, _ in first }))
    }
}
