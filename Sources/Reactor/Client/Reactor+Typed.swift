// Commands and messages as types.
extension Reactor {
    /// Sends a command and reads the reply that belongs to it.
    ///
    /// - Returns: the reply's data, or `nil` when the model acknowledged without a message.
    /// - Throws: `.decodeFailed` when the reply does not fit `C.Reply`, although the command was executed; otherwise as
    ///   ``sendCommand(_:arguments:uploads:)``.
    @discardableResult
    public func send<C: ReactorCommand>(_ command: C) async throws -> C.Reply? {
        guard let reply = try await sendCommand(C.commandName, arguments: command, uploads: command.uploads) else { return nil }
        do {
            return try reply.decode(C.Reply.self)
        } catch let error as ReactorError {
            throw ReactorError(error.code, "the reply to '\(C.commandName)': \(error.message)", operation: "send_command")
        }
    }

    /// The model's messages of one type from now on, read.
    ///
    /// - Parameter type: names the `type` of the messages, and is read from their `data`.
    /// - Returns: a sequence for one reader, which keeps the newest 256 of the model's messages from this call on.
    public nonisolated func messages<M: ReactorMessage>(of type: M.Type) -> MessageSequence<M> {
        MessageSequence(messages) { message in
            guard message["type"]?.stringValue == M.messageType else { return nil }
            return MessageSequence.read(message["data"] ?? .null, named: M.messageType)
        }
    }

    /// All messages of the model from now on, read as one type.
    ///
    /// - Parameter type: read from the whole message, an object with `type` and `data`; what does not fit is a `.failure`.
    /// - Returns: a sequence for one reader, which keeps the newest 256 of the model's messages from this call on.
    public nonisolated func messages<M: Decodable & Sendable>(as type: M.Type) -> MessageSequence<M> {
        MessageSequence(messages) { message in
            MessageSequence.read(message, named: message["type"]?.stringValue ?? "")
        }
    }
}

/// Messages of a model, read as a type. A message that cannot be read is a `.failure`, and the sequence goes on.
///
/// It is a subscriber of its own from the moment it is made, and for one reader. It ends when the client is closed or released, and
/// when the task is cancelled. Numbers travel as doubles: whole numbers are exact up to 2^53.
public struct MessageSequence<Message: Decodable & Sendable>: AsyncSequence, Sendable {
    /// A message, or why it could not be read: an error with the code `.decodeFailed` that names the key.
    public typealias Element = Result<Message, ReactorError>
    public typealias Failure = Never

    let messages: AsyncStream<JSONValue>
    /// Nil for a message of another type.
    let transform: @Sendable (JSONValue) -> Element?

    init(_ messages: AsyncStream<JSONValue>, _ transform: @escaping @Sendable (JSONValue) -> Element?) {
        self.messages = messages
        self.transform = transform
    }

    static func read(_ value: JSONValue, named name: String) -> Element {
        do {
            return .success(try value.decode(Message.self))
        } catch {
            let text = (error as? ReactorError)?.message ?? "\(error)"
            return .failure(ReactorError(.decodeFailed, "the message '\(name)': \(text)", operation: "messages"))
        }
    }

    /// Takes message after message.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var base: AsyncStream<JSONValue>.Iterator
        private let transform: @Sendable (JSONValue) -> Element?

        init(_ base: AsyncStream<JSONValue>.Iterator, _ transform: @escaping @Sendable (JSONValue) -> Element?) {
            self.base = base
            self.transform = transform
        }

        /// The next message; `nil` when the client is gone or the task cancelled.
        public mutating func next() async -> Result<Message, ReactorError>? { await next(isolation: nil) }

        /// The next message; `nil` when the client is gone or the task cancelled. Resumes in the isolation of the caller.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(Never) -> Result<Message, ReactorError>? {
            while let message = await base.next(isolation: actor) {
                if let element = transform(message) { return element }
            }
            return nil
        }
    }

    /// Reads on where the reader before left off.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(messages.makeAsyncIterator(), transform) }
}
