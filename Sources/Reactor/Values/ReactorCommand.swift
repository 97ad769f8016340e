/// A command of a model as a Swift type: its stored properties are the command's arguments.
///
/// ```swift
/// struct SetPrompt: ReactorCommand {
///     static let commandName = "set_prompt"
///     let prompt: String
/// }
/// try await reactor.send(SetPrompt(prompt: "a red fox"))
/// ```
public protocol ReactorCommand: Encodable, Sendable {
    /// What the model's reply holds; any JSON unless named.
    associatedtype Reply: Decodable & Sendable = JSONValue
    /// The name the model knows the command by.
    static var commandName: String { get }
    /// Files to pass as named parameters next to the arguments; none unless implemented. A stored property of this name should be
    /// left out of the coding keys.
    var uploads: [String: FileRef] { get }
}

extension ReactorCommand {
    /// No files.
    public var uploads: [String: FileRef] { [:] }
}

/// A message of a model as a Swift type, read from the message's `data`.
///
/// ```swift
/// struct ChunkDone: ReactorMessage {
///     static let messageType = "chunk_done"
///     let index: Int
/// }
/// for await result in reactor.messages(of: ChunkDone.self) { print(try result.get().index) }
/// ```
public protocol ReactorMessage: Decodable, Sendable {
    /// The message's `type`.
    static var messageType: String { get }
}
