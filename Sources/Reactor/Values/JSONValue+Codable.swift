#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JSONValue: Codable {
    /// Reads any JSON value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Writes the value; whole numbers are written as integers.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value):
            if let whole = Int64(exactly: value) { try container.encode(whole) } else { try container.encode(value) }
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    /// Makes a JSON value of anything `Encodable`, with the default strategies of `JSONEncoder`.
    ///
    /// - Throws: ``ReactorError`` with code `BAD_REQUEST` when the value cannot be JSON, such as one holding NaN.
    public init(encoding value: some Encodable) throws {
        if let value = value as? JSONValue {
            self = value
            return
        }
        let data: Data
        do {
            data = try JSONEncoder().encode(value)
        } catch {
            throw ReactorError(.badRequest, "the value cannot be written as JSON: \(Self.explain(error))", operation: "encode_json")
        }
        self = try Self(jsonBytes: Array(data))
    }

    /// Reads this value as a type, with the default strategies of `JSONDecoder`.
    ///
    /// - Throws: ``ReactorError`` with code `DECODE_FAILED` when it does not fit; the message names the key.
    public func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if T.self == JSONValue.self, let same = self as? T { return same }
        do {
            return try JSONDecoder().decode(type, from: Data(jsonBytes))
        } catch {
            throw ReactorError(.decodeFailed, "the JSON value does not fit \(type): \(Self.explain(error))", operation: "decode_json")
        }
    }

    /// What went wrong and at which key, without the values.
    private static func explain(_ error: any Error) -> String {
        func path(_ context: [any CodingKey]) -> String {
            let keys = context.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
            return keys.isEmpty ? "at the top" : "at \(keys.joined(separator: "."))"
        }
        return switch error {
        case DecodingError.keyNotFound(let key, let context): "no key \(key.stringValue) \(path(context.codingPath))"
        case DecodingError.typeMismatch(let type, let context): "expected \(type) \(path(context.codingPath))"
        case DecodingError.valueNotFound(let type, let context): "expected \(type), found null \(path(context.codingPath))"
        case DecodingError.dataCorrupted(let context): "\(context.debugDescription) \(path(context.codingPath))"
        case EncodingError.invalidValue(_, let context): "\(context.debugDescription) \(path(context.codingPath))"
        default: String(describing: error)
        }
    }
}
