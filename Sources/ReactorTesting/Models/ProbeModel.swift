#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
public import Reactor

/// A model with which a client can check everything: numbered pictures and marked sound out, reports about what came in, and
/// commands that reply, fail, wait and send much.
///
/// Out: `main_video`, a scrolling picture with counter blocks and user data `{"n", "t_ns", "burst"}`; `main_audio`, 440 Hz, with
/// 100 ms of 1760 Hz on each picture whose number divides by the rate. In: `webcam` and `mic`, reported once a second as
/// `input_report`. Commands: `echo`, `set_prompt`, `fail`, `slow`, `set_image`, `emit`, `set_video`.
public struct ProbeModel: LocalModel {
    public let name = "probe"
    public let tracks: [LocalTrack]
    private let defaults: Video
    private let states = Mutexed<SessionStates<State>>(SessionStates())

    /// - Parameters:
    ///   - width: in pixels, brought to 64...3840.
    ///   - height: in pixels, brought to 48...2160.
    ///   - framesPerSecond: brought to 1...120.
    public init(width: Int = 640, height: Int = 360, framesPerSecond: Double = 30) {
        let rate = framesPerSecond.isNaN ? 30 : max(1, min(120, framesPerSecond))
        defaults = Video(width: max(64, min(3840, width)), height: max(48, min(2160, height)), framesPerSecond: rate, source: .pattern)
        tracks = [
            LocalTrack("main_video", kind: .video, direction: .recvonly, rate: rate),
            LocalTrack("main_audio", kind: .audio, direction: .recvonly),
            LocalTrack("webcam", kind: .video, direction: .sendonly),
            LocalTrack("mic", kind: .audio, direction: .sendonly),
        ]
    }

    fileprivate struct Video: Hashable, Sendable {
        enum Source: String, CaseIterable, Sendable { case pattern, webcam, stop }
        var width: Int
        var height: Int
        var framesPerSecond: Double
        var source: Source
    }

    private struct State: Sendable {
        var video: Video
        var prompts = 0
        var inputs = ProbeInputs()
        var webcam: VideoFrame?
    }

    public var commands: [LocalCommand]? {
        [
            LocalCommand(
                "echo", "Replies with the payload", parameters: [LocalParameter("payload", .string(maxLength: nil, oneOf: []), default: "")]
            ),
            LocalCommand("set_prompt", "Text prompt", parameters: [LocalParameter("prompt", .string(maxLength: 2000, oneOf: []))]),
            LocalCommand(
                "fail", "Fails; code 'crash' is not a model's own error",
                parameters: [
                    LocalParameter("code", .string(maxLength: nil, oneOf: []), default: "planned"),
                    LocalParameter("message", .string(maxLength: nil, oneOf: []), default: "asked to fail"),
                ]),
            LocalCommand("slow", "Replies after some seconds", parameters: [LocalParameter("seconds", .number(0...600), default: 1)]),
            LocalCommand("set_image", "Measures an uploaded file", parameters: [LocalParameter("image", .upload, "any file")]),
            LocalCommand(
                "emit", "Broadcasts count messages of size bytes",
                parameters: [
                    LocalParameter("count", .integer(1...100_000), default: 1),
                    LocalParameter("size", .integer(0...4_000_000), default: 16),
                ]),
            LocalCommand(
                "set_video", "Resolution, rate and source of main_video",
                parameters: [
                    LocalParameter("width", .integer(64...3840), default: 640), LocalParameter("height", .integer(48...2160), default: 360),
                    LocalParameter("fps", .number(1...120), default: 30),
                    LocalParameter("source", .string(maxLength: nil, oneOf: Video.Source.allCases.map(\.rawValue)), default: "pattern"),
                ]),
        ]
    }

    public func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
        let state = state(in: session)
        func number(_ name: String) -> Double { arguments[name]?.doubleValue ?? 0 }
        switch command {
        case "echo":
            let payload = arguments["payload"]?.stringValue ?? ""
            return CommandReply(
                type: "echo_reply",
                data: [
                    "payload": .string(payload), "size": .number(Double(payload.unicodeScalars.count)),
                    "monotonic_ns": .number(Double(Reactor.timeMicros()) * 1000),
                ])
        case "set_prompt":
            let count = state.withLock { state in
                state.prompts += 1
                return state.prompts
            }
            return CommandReply(type: "prompt_set", data: ["prompt": arguments["prompt"] ?? "", "count": .number(Double(count))])
        case "fail":
            let (code, message) = (arguments["code"]?.stringValue ?? "", arguments["message"]?.stringValue ?? "")
            if code == "crash" { throw ProbeCrash(description: message) }
            throw LocalCommandError(code: code, message: message)
        case "slow":
            try await Task.sleep(for: .seconds(number("seconds")))
            return CommandReply(type: "slow_done", data: ["seconds": .number(number("seconds"))])
        case "set_image":
            let file = try await session.upload(arguments["image"])
            return CommandReply(
                type: "image_info",
                data: [
                    "file": .string(file.name), "mime_type": .string(file.mimeType), "size": .number(Double(file.data.count)),
                    "sha256": .string(await Self.digest(file.data)),
                ])
        case "emit":
            let payload = JSONValue.string(String(repeating: "x", count: Int(number("size"))))
            for index in 0..<Int(number("count")) {
                try Task.checkCancellation()
                try await session.send(["type": "filler", "data": ["index": .number(Double(index)), "payload": payload]])
            }
            return nil
        case "set_video":
            let source = Video.Source(rawValue: arguments["source"]?.stringValue ?? "") ?? .pattern
            let video = Video(
                width: Int(number("width")), height: Int(number("height")), framesPerSecond: number("fps"), source: source)
            state.withLock { $0.video = video }
            return CommandReply(type: "video_set", data: video.message)
        default:
            throw LocalCommandError(code: "invalid_command", message: "unknown command")
        }
    }

    public func clientConnected(in session: LocalSession) async throws {
        let state = state(in: session)
        var hello = state.withLock { $0.video.message.objectValue ?? [:] }
        hello["monotonic_ms"] = .number(Double(Reactor.timeMicros() / 1000 & 0xFF_FFFF))
        hello["source"] = nil
        try await session.send(["type": "hello", "data": .object(hello)])
    }

    public func run(in session: LocalSession) async throws {
        let state = state(in: session)
        let (video, audio) = (try session.videoFrames(from: "webcam"), try session.audioFrames(from: "mic"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await frame in video {
                    state.withLock { state in
                        state.inputs.add(frame, nowMilliseconds: Int(Reactor.timeMicros() / 1000))
                        state.webcam = frame
                    }
                }
            }
            group.addTask {
                for await block in audio { state.withLock { $0.inputs.add(block.mono) } }
            }
            group.addTask {
                var pacer = FramePacer(perSecond: 1)
                while true {
                    try await pacer.next()
                    guard let report = state.withLock({ $0.inputs.takeReport() }) else { continue }
                    try await session.send(["type": "input_report", "data": report])
                }
            }
            group.addTask { try await send(state, in: session) }
            try await group.waitForAll()
        }
    }

    private func send(_ state: Mutexed<State>, in session: LocalSession) async throws {
        var video = defaults
        var pacer = FramePacer(perSecond: video.framesPerSecond)
        var pattern = ScrollingPattern(width: video.width, height: video.height)
        var frame = video.blankFrame
        var tone = BurstTone()
        for number in 0... {
            let (wanted, webcam) = state.withLock { ($0.video, $0.webcam) }
            if wanted != video {
                video = wanted
                pacer = FramePacer(perSecond: video.framesPerSecond)
                pattern = ScrollingPattern(width: video.width, height: video.height)
                frame = video.blankFrame
            }
            let isBurst = number % max(1, Int(video.framesPerSecond.rounded())) == 0
            let now = Reactor.timeMicros()
            let tag = Data(#"{"n":\#(number),"t_ns":\#(now * 1000),"burst":\#(isBurst)}"#.utf8)
            if video.source == .webcam, let webcam {
                let returned = OutgoingVideoFrame(pixels: webcam.pixels, width: webcam.width, height: webcam.height, userData: tag)
                try await session.pushVideo(returned, to: "main_video")
            } else if video.source != .stop {
                frame.pixels.withUnsafeMutableBytes { bytes in
                    let canvas = Canvas(bytes, width: video.width, height: video.height)
                    pattern.paint(number, on: canvas)
                    CounterBlocks.paint(number: number, milliseconds: Int(now / 1000), on: canvas)
                }
                frame.userData = tag
                frame.captureTimeUs = now
                try await session.pushVideo(frame, to: "main_video")
            }
            let samples = tone.render(Int((48_000 / video.framesPerSecond).rounded()), begins: isBurst)
            if video.source != .stop { try await session.pushAudio(samples, to: "main_audio") }
            try await pacer.next()
        }
    }

    @concurrent
    private static func digest(_ data: Data) async -> String { SHA256.hexText(data) }

    private func state(in session: LocalSession) -> Mutexed<State> {
        states.withLock { $0.state(in: session) { State(video: defaults) } }
    }
}

extension ProbeModel.Video {
    fileprivate var message: JSONValue {
        [
            "width": .number(Double(width)), "height": .number(Double(height)), "fps": .number(framesPerSecond),
            "source": .string(source.rawValue),
        ]
    }

    fileprivate var blankFrame: OutgoingVideoFrame {
        OutgoingVideoFrame(pixels: Data(count: width * height * 4), width: UInt32(width), height: UInt32(height))
    }
}

/// An error that is not a command's own.
private struct ProbeCrash: Error, CustomStringConvertible {
    let description: String
}
