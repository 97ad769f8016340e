import Reactor
import ReactorTesting

/// Connects, says what is to be seen, and takes pictures as they come.
enum ReceiveVideo: Example {
    static let name = "receive-video"
    static let summary = "connect, send a prompt, take the newest picture again and again"
    static var model: any LocalModel { DemoModel() }

    static func run(_ configuration: ReactorConfiguration) async throws {
        let reactor = try Reactor(model: "demo", configuration: configuration)
        try await reactor.connect()
        try await reactor.sendCommand("set_prompt", ["prompt": "mountains at night"])

        var count = 0
        // BGRA, four bytes a pixel. A loop that is slow gets the newest picture, never a backlog.
        for await frame in try reactor.track("main_video").videoFrames {
            count += 1
            if count == 1 { print("first picture: \(frame.width) x \(frame.height), \(frame.pixels.count) bytes") }
            if count == 30 { break }
        }
        let timings = reactor.connectionTimings
        print("\(count) pictures; ready after \(timings.total ?? .zero), first picture after \(timings.firstVideoFrame ?? .zero)")
        try await reactor.disconnect()
        guard count == 30 else { throw NotSeen("the pictures ended after \(count)") }
    }
}
