import PeerTestSupport
import RTCBase
import RTCPeer
import Reactor
import ReactorCore
import Testing

@testable import ReactorTesting

/// The runtime below HTTP, with a client of its own kind.
@Suite("RuntimeCore")
struct RuntimeCoreTests {
    private func makeCore(
        _ model: TestModel = TestModel(), _ configure: (inout RuntimeSettings) -> Void = { _ in }
    ) async throws -> RuntimeCore {
        var settings = RuntimeSettings()
        configure(&settings)
        let core = RuntimeCore(model: model, settings: settings)
        _ = try await core.startSession(sessionID: nil)
        return core
    }

    @Test("A client connects, a command is answered under its id, and stop closes the connection")
    func connectAndCommand() async throws {
        let model = TestModel()
        let core = try await makeCore(model)
        let client = try await RawClient(core)
        #expect(await client.waitUntilOpen())
        try await client.command("echo", .object(["x": .number(1)]))
        #expect(await client.reply("data_1") == .model(ModelMessage(type: "echoed", data: .object(["x": .number(1)]))))
        #expect(await core.descriptor()["state"] == "streaming")
        #expect(model.entries.first == "run")
        try await core.stopSession(moderates: false, reason: "")
        #expect(await core.descriptor()["state"] == "ready")
        #expect(await eventually { client.isLost })
        #expect(!client.messages.contains { if case .sessionEnded = $0.content { true } else { false } }, "a plain stop says nothing")
        await client.peer.close()
    }
}
