#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
public import Reactor
internal import Synchronization

/// A model that returns what it gets: `webcam` comes back as `main_video`, with each picture's user data and capture time, `mic` as
/// `main_audio`, and the command `echo` replies with its arguments. While nobody publishes video it shows a test card.
public struct EchoModel: LocalModel {
    public let name = "echo"
    public let tracks = [
        LocalTrack("main_video", kind: .video, direction: .recvonly),
        LocalTrack("main_audio", kind: .audio, direction: .recvonly),
        LocalTrack("webcam", kind: .video, direction: .sendonly),
        LocalTrack("mic", kind: .audio, direction: .sendonly),
    ]

    /// It has no settings.
    public init() {}

    /// All commands are let through; ``handle(_:_:in:)`` knows one.
    public var commands: [LocalCommand]? { nil }

    public func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
        guard command == "echo" else {
            throw LocalCommandError(code: "invalid_command", message: "'\(command.prefix(64))' is not a command of this model; 'echo' is")
        }
        return CommandReply(type: "echo", data: arguments)
    }

    public func run(in session: LocalSession) async throws {
        let last = LastPicture()
        let (video, audio) = (try session.videoFrames(from: "webcam"), try session.audioFrames(from: "mic"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await frame in video {
                    last.note()
                    try await session.pushVideo(OutgoingVideoFrame(returning: frame), to: "main_video")
                }
            }
            group.addTask {
                for await block in audio { try await session.pushAudio(block.mono, to: "main_audio") }
            }
            group.addTask {
                var pacer = FramePacer(perSecond: 5)
                let card = OutgoingVideoFrame.testCard("publish webcam")
                while true {
                    if last.isOlder(than: Self.silence) { try await session.pushVideo(card, to: "main_video") }
                    try await pacer.next()
                }
            }
            try await group.waitForAll()
        }
    }

    /// After this long without a picture the test card comes back.
    private static let silence = Duration.seconds(1)
}

/// When the last picture came.
private final class LastPicture: Sendable {
    private let time = Mutex<ContinuousClock.Instant?>(nil)

    func note() { time.withLock { $0 = .now } }

    func isOlder(than age: Duration) -> Bool { time.withLock { $0.map { .now - $0 >= age } ?? true } }
}

extension OutgoingVideoFrame {
    fileprivate init(returning frame: VideoFrame) {
        self.init(
            pixels: frame.pixels, width: frame.width, height: frame.height, userData: frame.userData,
            captureTimeUs: frame.captureTimeUs == 0 ? nil : Int64(clamping: frame.captureTimeUs))
    }

    static func testCard(_ text: String, width: Int = 640, height: Int = 360) -> OutgoingVideoFrame {
        var pixels = Data(count: width * height * 4)
        pixels.withUnsafeMutableBytes { TestCard.paint(text, on: Canvas($0, width: width, height: height)) }
        return OutgoingVideoFrame(pixels: pixels, width: UInt32(width), height: UInt32(height))
    }
}

extension AudioFrame {
    /// One channel, the mean of two.
    var mono: [Int16] {
        guard channels == 2 else { return samples }
        return stride(from: 0, to: samples.count - 1, by: 2).map { Int16((Int(samples[$0]) + Int(samples[$0 + 1])) / 2) }
    }
}
