import Reactor
import ReactorTesting
import Synchronization

/// A model with tracks of every kind that keeps what happens to it.
final class TestModel: LocalModel {
    let tracks: [LocalTrack]
    let commands: [LocalCommand]?
    private let running: @Sendable (LocalSession) async throws -> Void
    private let connected: @Sendable (LocalSession) async throws -> Void
    let log = Mutex<[String]>([])

    static let allTracks = [
        LocalTrack("webcam", kind: .video, direction: .sendonly), LocalTrack("mic", kind: .audio, direction: .sendonly),
        LocalTrack("main_video", kind: .video, direction: .recvonly), LocalTrack("main_audio", kind: .audio, direction: .recvonly),
    ]

    init(
        tracks: [LocalTrack] = TestModel.allTracks, commands: [LocalCommand]? = nil,
        run: @escaping @Sendable (LocalSession) async throws -> Void = { _ in },
        connected: @escaping @Sendable (LocalSession) async throws -> Void = { _ in }
    ) {
        self.connected = connected
        self.tracks = tracks
        self.commands = commands
        running = run
    }

    let name = "test"

    func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
        log.withLock { $0.append(command) }
        switch command {
        case "echo": return CommandReply(type: "echoed", data: arguments)
        case "ack": return nil
        case "refuse": throw LocalCommandError(code: "not_today", message: "come back later")
        case "fail": throw CancellationError()
        case "slow":
            try await Task.sleep(for: .milliseconds(50))
            log.withLock { $0.append("slow done") }
            return nil
        case "shout":
            try await session.send(["type": "shout", "data": arguments])
            return nil
        case "huge": return CommandReply(type: "huge", data: ["text": .string(String(repeating: "x", count: 300_000))])
        case "list": return CommandReply(type: "list", data: [1, 2])
        case "end":
            await session.end(reason: "that was all")
            return nil
        default: return CommandReply(type: "unknown", data: nil)
        }
    }

    func clientConnected(in session: LocalSession) async throws {
        try await connected(session)
    }

    func run(in session: LocalSession) async throws {
        log.withLock { $0.append("run") }
        defer { log.withLock { $0.append("run ended") } }
        try await running(session)
    }

    var entries: [String] { log.withLock { $0 } }
}

/// Waits until it is cancelled.
func untilCancelled() async throws {
    while true { try await Task.sleep(for: .seconds(3600)) }
}
