/// What the model answered to one command.
public struct CommandReply: Sendable, Hashable {
    /// The message's type as the model names it, or nil when it has none.
    public let type: String?
    /// The message's content, or nil when it has none.
    public let data: JSONValue?

    /// Makes a reply from its parts.
    public init(type: String?, data: JSONValue?) {
        self.type = type
        self.data = data
    }

    /// Reads `data` as a value of the given type; a reply without data is read as JSON `null`.
    ///
    /// - Throws: ``ReactorError`` with code `DECODE_FAILED` when the data does not fit; the message names the key.
    public func decode<T: Decodable>(_ type: T.Type) throws -> T { try (data ?? .null).decode(type) }
}
