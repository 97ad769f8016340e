import Reactor
import ReactorTesting

/// What a view looks at. Its state belongs to the main actor, and so does the loop.
@MainActor final class ViewModel {
    private(set) var latest: VideoFrame?
    private(set) var shown = 0

    /// Runs until the client is closed or the task cancelled.
    func show(_ track: Track) async throws {
        for await frame in try track.videoFrames {
            latest = frame
            shown += 1
        }
    }
}

/// A frame loop on the main actor.
enum FrameLoopOnMainActor: Example {
    static let name = "main-actor"
    static let summary = "a view model whose frame loop runs on the main actor"
    static var model: any LocalModel { DemoModel() }

    @MainActor static func run(_ configuration: ReactorConfiguration) async throws {
        let reactor = try Reactor(model: "demo", configuration: configuration)
        // Before the connection is there: the loop waits.
        let (view, track) = (ViewModel(), try reactor.track("main_video"))
        let loop = Task { try await view.show(track) }
        try await reactor.connect()
        try await Task.sleep(for: .seconds(1))
        loop.cancel()
        try await loop.value
        print("\(view.shown) pictures shown, the last \(view.latest?.width ?? 0) pixels wide; replaced unseen: \(track.counters.dropped)")
        try await reactor.disconnect()
        guard view.shown > 10 else { throw NotSeen("hardly any pictures") }
    }
}
