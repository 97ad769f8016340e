/// Why bytes of a message, or a value about to be sent, do not fit the wire format.
///
/// Names what is wrong, never the bytes themselves: they may hold user data or tokens.
package enum WireFormatError: Error, Hashable, Sendable {
    /// The bytes end inside a value.
    case truncated
    /// A varint longer than ten bytes, or one that does not fit 64 bits.
    case badVarint
    /// Field number 0, a reserved wire type, or a group end without its start.
    case badTag
    /// Text that is not UTF-8.
    case badUTF8
    /// Nested deeper than `FormatLimits.maxDepth`.
    case tooDeep
    /// More bytes than `FormatLimits.maxBytes`.
    case tooLarge
    /// More values than `FormatLimits.maxValues`.
    case tooManyValues
    /// Text that is not JSON, with the byte offset.
    case badJSON(offset: Int)
    /// NaN or an infinity where JSON is needed (PB-01).
    case notFinite
    /// A required member is absent.
    case missing(String)
    /// A member has another type than the protocol says.
    case wrongType(String)
}

extension WireFormatError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .truncated: "the bytes end inside a value"
        case .badVarint: "a variable-length integer is too long"
        case .badTag: "a field tag is not valid"
        case .badUTF8: "text is not UTF-8"
        case .tooDeep: "nested deeper than \(FormatLimits.maxDepth) levels"
        case .tooLarge: "more bytes than the limit"
        case .tooManyValues: "more than \(FormatLimits.maxValues) values"
        case .badJSON(let offset): "not JSON at byte \(offset)"
        case .notFinite: "NaN and infinities cannot be sent as JSON"
        case .missing(let name): "'\(name)' is missing"
        case .wrongType(let name): "'\(name)' has the wrong type"
        }
    }
}

/// Bounds on what one message may cost, whoever sent it.
package enum FormatLimits {
    /// Levels of nesting. Protobuf implementations stop at 100, and nobody writes command data like that by hand.
    package static let maxDepth = 64
    /// Values in one message. Two bytes can name a value of 24 bytes in memory, so bytes alone are no bound.
    package static let maxValues = 1_000_000
    /// Bytes of one message: our declared reassembly limit (wire-protocol 5.8).
    package static let maxMessageBytes = 67_108_864
    /// Bytes of one HTTP answer with JSON in it. Real ones are below 20 KiB.
    package static let maxBodyBytes = 8_388_608
}
