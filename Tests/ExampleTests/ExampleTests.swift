import Reactor
import ReactorTesting
import Testing

@testable import Examples

@Suite("Examples", .serialized, .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("every example sees what it is to see", arguments: Examples.names)
    func runs(_ name: String) async throws {
        let example = try #require(Examples.all.first { $0.name == name })
        try await Examples.runEmbedded(example)
    }

    @Test("names are there once, and each has a line that says what it shows")
    func listed() {
        #expect(Set(Examples.names).count == Examples.all.count)
        #expect(Examples.all.allSatisfy { $0.summary.count > 20 })
    }
}

/// A test as an app writes it: a server of its own, a client, and the app's own code between them.
@Test func theLampIsSeen() async throws {
    let runtime = try await LocalRuntime(model: UnitTest.Lamp())
    let reactor = try Reactor(model: "lamp", runtime: runtime)
    try await reactor.connect()
    #expect(try await abs(UnitTest.brightness(of: 120, reactor) - 120) < 4)
    let error = await #expect(throws: ReactorError.self) { try await reactor.sendCommand("light", ["level": 300]) }
    #expect(error?.code.rawValue == "bad_light")
    try await reactor.disconnect()
    await runtime.stop()
}
