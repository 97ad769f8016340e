import Foundation
import Reactor
import ReactorTesting

/// The model and the client code of a unit test: the test itself is in `Tests/ExampleTests`.
enum UnitTest: Example {
    static let name = "unit-test"
    static let summary = "a model in ten lines, and the code that a test has against it"
    static var model: any LocalModel { Lamp() }

    /// A model that lights up when it is told to.
    struct Lamp: LocalModel {
        let tracks = [LocalTrack("main_video", kind: .video, direction: .recvonly)]

        func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
            guard command == "light", let level = arguments["level"]?.intValue, (0...255).contains(level) else {
                throw LocalCommandError(code: "bad_light", message: "light takes a level from 0 to 255")
            }
            let pixels = Data(repeating: UInt8(level), count: 64 * 64 * 4)
            try await session.pushVideo(OutgoingVideoFrame(pixels: pixels, width: 64, height: 64), to: "main_video")
            return CommandReply(type: "lit", data: ["level": .number(Double(level))])
        }
    }

    /// What the app does, and what is to be tested: lights the lamp and says how bright it is seen.
    static func brightness(of level: Int, _ reactor: Reactor) async throws -> Int {
        async let frame = try reactor.track("main_video").videoFrames.first { _ in true }
        try await reactor.sendCommand("light", ["level": .number(Double(level))])
        return Int(try await frame?.pixels.first ?? 0)
    }

    static func run(_ configuration: ReactorConfiguration) async throws {
        let reactor = try Reactor(model: "lamp", configuration: configuration)
        try await reactor.connect()
        let seen = try await brightness(of: 200, reactor)
        print("lit with 200, seen with \(seen)")
        try await reactor.disconnect()
        guard abs(seen - 200) < 4 else { throw NotSeen("the lamp looks otherwise") }
    }
}
