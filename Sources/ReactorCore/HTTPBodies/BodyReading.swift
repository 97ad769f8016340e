/// Reading members of an HTTP answer: a missing or mistyped member names itself in the error, `null` reads as absent.
extension WireValue {
    func requiredString(_ key: String) throws(WireFormatError) -> String {
        guard let value = try optionalString(key) else { throw .missing(key) }
        return value
    }

    func optionalString(_ key: String) throws(WireFormatError) -> String? {
        switch self[key] {
        case nil, .null: return nil
        case .string(let value): return value
        default: throw .wrongType(key)
        }
    }

    func optionalNumber(_ key: String) throws(WireFormatError) -> Double? {
        switch self[key] {
        case nil, .null: return nil
        case .number(let value): return value
        default: throw .wrongType(key)
        }
    }

    /// An unsigned 32-bit member such as a connection id.
    func optionalUInt32(_ key: String) throws(WireFormatError) -> UInt32? {
        guard let number = try optionalNumber(key) else { return nil }
        guard let value = UInt32(exactly: number) else { throw .wrongType(key) }
        return value
    }

    func optionalList(_ key: String) throws(WireFormatError) -> [WireValue]? {
        switch self[key] {
        case nil, .null: return nil
        case .list(let values): return values
        default: throw .wrongType(key)
        }
    }

    func optionalObject(_ key: String) throws(WireFormatError) -> WireValue? {
        switch self[key] {
        case nil, .null: return nil
        case .some(let value) where value.objectValue != nil: return value
        default: throw .wrongType(key)
        }
    }

    /// An answer body has to be an object.
    static func parseBody(_ bytes: [UInt8]) throws(WireFormatError) -> WireValue {
        let value = try JSONText.parse(bytes)
        guard value.objectValue != nil else { throw .wrongType("body") }
        return value
    }
}

/// The `detail` text of an error body of the local runtime (wire-protocol 3): `nil` when there is none.
package enum ErrorBody {
    package static func detail(_ bytes: [UInt8]) -> String? {
        guard let value = try? JSONText.parse(bytes) else { return nil }
        return value["detail"]?.stringValue
    }

    /// The local runtime is between two sessions: a start may be tried again shortly (wire-protocol 3.1).
    package static func saysClosing(_ bytes: [UInt8]) -> Bool {
        detail(bytes)?.contains("closing") ?? false
    }
}
