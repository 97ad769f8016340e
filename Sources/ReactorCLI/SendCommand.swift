internal import Foundation
internal import Reactor

/// `reactor send`: one command, one reply.
struct SendCommand {
    private let connection: Connection
    private let name: String
    private let arguments: JSONValue?

    init(_ words: inout Arguments) throws {
        connection = try Connection(&words)
        _ = words.takeFlag("--json")
        guard let name = words.nextPositional() else { throw UsageError("say which command: reactor send NAME [JSON]") }
        self.name = name
        var text = words.nextPositional()
        if text == "-" { text = String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self) }
        try words.requireEmpty()
        arguments = try text.map(Self.parseObject)
    }

    /// The arguments of a command.
    static func parseObject(_ text: String) throws -> JSONValue {
        let value: JSONValue
        do {
            value = try JSONValue(jsonText: text)
        } catch {
            throw UsageError("the arguments are not JSON: \(error)")
        }
        guard value.objectValue != nil else {
            throw UsageError("the arguments are a JSON object, such as '{\"prompt\": \"a forest\"}'")
        }
        return value
    }

    static func json(_ reply: CommandReply) -> JSONValue {
        .object(["type": reply.type.map(JSONValue.string) ?? .null, "data": reply.data ?? .null])
    }

    func run() async throws -> Int32 {
        let reply = try await Session.run(connection) { reactor in try await reactor.sendCommand(name, arguments) }
        guard let reply else {
            print("null")
            return 0
        }
        print(Self.json(reply).jsonText)
        return 0
    }
}

/// `reactor schema`.
struct SchemaCommand {
    private let connection: Connection

    init(_ words: inout Arguments) throws {
        connection = try Connection(&words)
        _ = words.takeFlag("--json")
        try words.requireEmpty()
    }

    func run() async throws -> Int32 {
        let schema = try await Session.run(connection) { reactor in try await reactor.requestSchema() }
        print(schema.jsonText)
        return 0
    }
}

/// Connects, runs one piece of work, and ends the session on every way out.
enum Session {
    static func run<R: Sendable>(_ connection: Connection, _ body: @escaping @Sendable (Reactor) async throws -> R) async throws -> R {
        let reactor = try await connection.makeClient()
        let work = Task {
            try await reactor.connect(sessionID: connection.sessionID)
            return try await body(reactor)
        }
        let signals = Terminal.onInterrupt { work.cancel() }
        defer { signals.forEach { $0.cancel() } }
        let result = await work.result
        let ending = await Task { try await reactor.disconnect() }.result
        reactor.close()
        // The work's own failure says more than that of the ending.
        let value = try result.get()
        try ending.get()
        return value
    }
}
