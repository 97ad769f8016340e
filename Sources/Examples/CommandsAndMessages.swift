import Reactor
import ReactorTesting

/// Commands and messages, as JSON and as Swift types.
enum CommandsAndMessages: Example {
    static let name = "commands"
    static let summary = "commands with replies, messages of the model, both as JSON and as types"
    static var model: any LocalModel { DemoModel() }

    struct SetSpeed: ReactorCommand {
        struct Reply: Decodable, Sendable { let speed: Double }
        static let commandName = "set_speed"
        let speed: Double
    }

    struct SpeedChanged: ReactorMessage {
        static let messageType = "speed_changed"
        let speed: Double
    }

    static func run(_ configuration: ReactorConfiguration) async throws {
        let reactor = try Reactor(model: "demo", configuration: configuration)
        try await reactor.connect()

        // What the model takes, as an OpenAPI document.
        let paths = try await reactor.requestSchema()["paths"]?.objectValue ?? [:]
        print("commands: \(paths.keys.sorted().joined(separator: ", "))")

        // As JSON: any model, no types.
        let reply = try await reactor.sendCommand("set_prompt", ["prompt": "a forest in the rain"])
        print("set_prompt: \(reply?.data?.jsonText ?? "acknowledged")")

        // As types. The iterator is made first, so that it sees what the command brings about.
        var changes = reactor.messages(of: SpeedChanged.self).makeAsyncIterator()
        let speed = try await reactor.send(SetSpeed(speed: 2))?.speed
        let change = try await changes.next()?.get()
        print("set_speed: reply \(speed ?? 0), message \(change?.speed ?? 0)")

        // A refusal names the reason and says what to do.
        do {
            try await reactor.sendCommand("set_speed", ["speed": "fast"])
        } catch ReactorError.invalidCommand {
            print("refused, as it should be")
        }
        try await reactor.disconnect()
        guard speed == 2, change?.speed == 2 else { throw NotSeen("the speed did not change") }
    }
}
