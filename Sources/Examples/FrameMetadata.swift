import Foundation
import Reactor
import ReactorTesting

/// Bytes and times that travel with a picture.
enum FrameMetadata: Example {
    static let name = "metadata"
    static let summary = "user data and capture times that travel with each picture, there and back"
    static var model: any LocalModel { EchoModel() }

    static func run(_ configuration: ReactorConfiguration) async throws {
        let reactor = try Reactor(model: "echo", configuration: configuration)
        try await reactor.connect()
        let webcam = try reactor.track("webcam")
        try await webcam.publish()
        let filming = Task {
            var number = 0
            while !Task.isCancelled {
                number += 1
                try webcam.pushFrame(
                    Data(repeating: 128, count: 64 * 48 * 4), width: 64, height: 48, userData: Data("picture \(number)".utf8),
                    captureTimeUs: Reactor.timeMicros())
                try await Task.sleep(for: .milliseconds(33))
            }
        }
        defer { filming.cancel() }
        let returned = try await reactor.track("main_video").videoFrames.first { $0.userData != nil && $0.width == 64 }
        guard let returned, let userData = returned.userData else { throw NotSeen("no picture with data came back") }
        // Both ends are on this clock here.
        let age = Reactor.timeMicros() - Int64(returned.captureTimeUs)
        print("\(String(decoding: userData, as: UTF8.self)), there and back in \(age / 1000) ms; frame \(returned.frameID)")
        try await reactor.disconnect()
        guard userData.starts(with: Data("picture ".utf8)), age > 0, age < 5_000_000 else { throw NotSeen("other data") }
    }
}
