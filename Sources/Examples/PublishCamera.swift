import Foundation
import Reactor
import ReactorTesting

/// Sends pictures into a model that sends them back.
enum PublishCamera: Example {
    static let name = "publish-camera"
    static let summary = "publish a track, push pictures, see them come back"
    static var model: any LocalModel { EchoModel() }

    static func run(_ configuration: ReactorConfiguration) async throws {
        let reactor = try Reactor(model: "echo", configuration: configuration)
        try await reactor.connect()
        let webcam = try reactor.track("webcam")

        // Published for as long as the body runs, whichever way it ends.
        let returned = try await webcam.withPublished { webcam in
            try await withThrowingTaskGroup(of: VideoFrame?.self) { group in
                group.addTask {
                    var level: UInt8 = 0
                    while true {
                        // A push returns at once: encoding and sending happen elsewhere.
                        let pixels = Data(repeating: 100 + level, count: 320 * 180 * 4)
                        try webcam.pushFrame(pixels, width: 320, height: 180)
                        level = (level + 1) % 100
                        try await Task.sleep(for: .milliseconds(33))
                    }
                }
                group.addTask {
                    // The test card of a model without input is of another size.
                    try await reactor.track("main_video").videoFrames.first { $0.width == 320 && $0.height == 180 }
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        }
        print("a picture came back: \(returned.map { "\($0.width) x \($0.height)" } ?? "none"); sent: \(webcam.counters.encoded)")
        try await reactor.disconnect()
        guard returned != nil else { throw NotSeen("no picture came back") }
    }
}
