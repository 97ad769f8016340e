import Foundation
import PeerTestSupport
import Reactor
import ReactorTesting
import Testing

/// Rules of the client, against the embedded runtime.
@Suite struct LoopbackRuleTests {
    /// A model that has one command and one message of its own names.
    private struct Named: LocalModel {
        let name: String
        let tracks = [LocalTrack("main_video", kind: .video, direction: .recvonly)]

        func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
            guard command == "do_\(name)" else { throw LocalCommandError(code: "unknown", message: "no such command") }
            try await session.send(["type": .string("did_\(name)"), "data": arguments])
            return CommandReply(type: "done_\(name)", data: arguments)
        }
        func run(in session: LocalSession) async throws {}
    }

    @Test("R-1 one client serves any model: commands by name with JSON, events as JSON", arguments: ["painter", "singer"])
    func anyModel(_ name: String) async throws {
        let runtime = try await LocalRuntime(model: Named(name: name))
        let client = try Reactor(model: name, runtime: runtime)
        try await client.connect()
        var messages = client.messages.makeAsyncIterator()
        let arguments: JSONValue = ["words": ["a", "b"], "deep": ["n": 1.5, "none": nil]]
        let reply = try await client.sendCommand("do_\(name)", arguments)
        #expect(reply?.type == "done_\(name)" && reply?.data == arguments)
        let message = await messages.next()
        #expect(message == ["type": .string("did_\(name)"), "data": arguments])
        await #expect(throws: ReactorError.self) { try await client.sendCommand("do_other") }
        try await client.disconnect()
        await runtime.stop()
    }
}
