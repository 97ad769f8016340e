import Foundation
import Reactor
import ReactorTesting

/// Keeps the last seconds as MP4.
enum ClipToFile: Example {
    static let name = "clip"
    static let summary = "ask for the last seconds of the session, and download them with progress"
    static var model: any LocalModel { DemoModel(width: 320, height: 180) }

    static func run(_ configuration: ReactorConfiguration) async throws {
        let reactor = try Reactor(model: "demo", configuration: configuration)
        try await reactor.connect()
        var pictures = 0
        for await _ in try reactor.track("main_video").videoFrames {
            pictures += 1
            if pictures == 45 { break }
        }

        // A clip is a promise: the download waits until it is kept.
        let clip = try await reactor.requestClip(.seconds(1))
        let file = FileManager.default.temporaryDirectory.appending(path: "reactor-example.mp4")
        defer { try? FileManager.default.removeItem(at: file) }
        let download = reactor.startDownload(clip, to: file, readyTimeout: .seconds(30))
        for try await event in download {
            switch event {
            case .waiting(let attempt): print("not ready yet (\(attempt))")
            case .progress(let progress): print("part \(progress.done) of \(progress.total)")
            case .finished(let result): print("\(result.bytes) bytes")
            }
        }
        let result = try await download.result
        try await reactor.disconnect()
        guard result.bytes > 1000, result.segments > 0 else { throw NotSeen("the clip is empty") }
    }
}
