import Reactor
import ReactorTesting

/// A model that hangs up when it is told to, so that there is something to repair.
struct HangsUp: LocalModel {
    let tracks = [
        LocalTrack("main_video", kind: .video, direction: .recvonly), LocalTrack("webcam", kind: .video, direction: .sendonly),
    ]

    func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
        if command == "hang_up" { await session.dropConnection() }
        return nil
    }
}

/// Notices a loss and repairs it, telling errors apart.
enum ReconnectByHand: Example {
    static let name = "reconnect"
    static let summary = "notice a lost connection, and reconnect to the same session"
    static var model: any LocalModel { HangsUp() }

    static func run(_ configuration: ReactorConfiguration) async throws {
        let reactor = try Reactor(model: "hangs-up", configuration: configuration)
        var errors = reactor.errors.makeAsyncIterator()
        try await reactor.connect()
        let session = reactor.sessionID

        // The command may fail with the connection under it; the event tells of the loss in any case.
        _ = try? await reactor.sendCommand("hang_up")
        let loss = await errors.next()
        print("lost: \(loss.map(String.init(describing:)) ?? "nothing")")
        guard loss?.recoverable == true else { throw NotSeen("no loss that can be repaired") }

        do {
            try await reactor.reconnect()
        } catch ReactorError.notFound, ReactorError.sessionTerminal {
            // The session is over there: a new one, then.
            try await reactor.connect()
        }
        print("back in session \(reactor.sessionID ?? "none"), status \(reactor.status)")
        guard reactor.sessionID == session, reactor.status == .ready else { throw NotSeen("another session") }
        try await reactor.disconnect()
    }
}

/// Leaves the repair to the client, and asks what is missing.
enum ReconnectByPolicy: Example {
    static let name = "reconnect-policy"
    static let summary = "a client that reconnects and publishes again by itself; what is missing when nothing arrives"
    static var model: any LocalModel { HangsUp() }

    static func run(_ configuration: ReactorConfiguration) async throws {
        var configuration = configuration
        configuration.reconnectPolicy = ReconnectPolicy(maxAttempts: 5, republishesTracks: true)
        let reactor = try Reactor(model: "hangs-up", configuration: configuration)
        try await reactor.connect()
        let webcam = try reactor.track("webcam")
        try await webcam.publish()
        var published = webcam.publishedUpdates.makeAsyncIterator()
        var statuses = reactor.statusUpdates.makeAsyncIterator()

        _ = try? await reactor.sendCommand("hang_up")
        while let status = await statuses.next() {
            print("status: \(status)")
            if status == .ready { break }
        }
        while let isPublished = await published.next(), !isPublished {}
        print("published again: \(webcam.published)")

        // The model shows nothing, and this says so.
        let diagnosis = await reactor.diagnose(track: "main_video")
        print(diagnosis)
        try await reactor.disconnect()
        guard diagnosis.firstMissing == .received else { throw NotSeen("another step than the first packet is missing") }
    }
}
