import Reactor
import ReactorTesting

/// One session around a task group. However it is left, the session is ended.
enum SessionInScope: Example {
    static let name = "scope"
    static let summary = "withReactor around a task group: pictures, statistics and events at the same time"
    static var model: any LocalModel { DemoModel() }

    static func run(_ configuration: ReactorConfiguration) async throws {
        let pictures = try await withReactor(model: "demo", configuration: configuration) { reactor in
            try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask {
                    for await event in reactor.events {
                        if case .message(let message) = event { print("message: \(message.jsonText)") }
                    }
                    return 0
                }
                group.addTask {
                    for await stats in reactor.statsUpdates(every: .milliseconds(500)) {
                        print("\(Int((stats.incomingBitrateBPS ?? 0) / 1000)) kbit/s, \(stats.framesPerSecond ?? 0) frames/s")
                    }
                    return 0
                }
                group.addTask {
                    try await reactor.sendCommand("set_prompt", ["prompt": "a city in the snow"])
                    var count = 0
                    for await _ in try reactor.track("main_video").videoFrames {
                        count += 1
                        if count == 45 { break }
                    }
                    return count
                }
                // The loops over events and statistics go on until they are cancelled.
                defer { group.cancelAll() }
                return try await group.next() ?? 0
            }
        }
        print("\(pictures) pictures, and the session is ended")
        guard pictures == 45 else { throw NotSeen("the pictures ended after \(pictures)") }
    }
}
