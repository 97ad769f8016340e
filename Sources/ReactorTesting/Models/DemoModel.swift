#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
public import Reactor

/// A model that draws: a landscape that passes by, made from the words of a prompt, with a soft chord that follows.
///
/// Words such as *sunset*, *night*, *forest*, *mountains*, *desert*, *ocean*, *lake*, *city*, *rain*, *snow*, *cloudy* and names
/// of colours choose what is seen; a prompt without a word it knows gets a landscape and colours of its own.
///
/// It sends `main_video` and `main_audio` (48 kHz, one channel) and takes three commands: `set_prompt {prompt}`,
/// `set_speed {speed}` from 0 to 4, and `set_image {image}`, an uploaded PNG that becomes the sky. What changes is told in messages,
/// `scene_changed` and `speed_changed`. Each picture carries its number, as user data `{"n": number, "t_ns": monotonic
/// nanoseconds}` and as black and white blocks at the top that survive coding and scaling.
public struct DemoModel: LocalModel {
    public let name = "demo"
    public let tracks: [LocalTrack]
    private let prompt: String
    private let width: Int
    private let height: Int
    private let framesPerSecond: Double
    private let showsCounter: Bool
    private let shows = Mutexed<SessionStates<Show>>(SessionStates())

    /// - Parameters:
    ///   - prompt: the first scene.
    ///   - width: in pixels, brought to an even number from 64 to 3840.
    ///   - height: in pixels, brought to an even number from 48 to 2160.
    ///   - framesPerSecond: brought to 1...120.
    ///   - showsCounter: whether the blocks with the picture's number are drawn.
    public init(
        prompt: String = "a calm ocean at sunset", width: Int = 640, height: Int = 360, framesPerSecond: Double = 30,
        showsCounter: Bool = true
    ) {
        self.prompt = prompt
        self.width = max(64, min(3840, width)) & ~1
        self.height = max(48, min(2160, height)) & ~1
        self.framesPerSecond = framesPerSecond.isNaN ? 30 : max(1, min(120, framesPerSecond))
        self.showsCounter = showsCounter
        tracks = [
            LocalTrack("main_video", kind: .video, direction: .recvonly, rate: self.framesPerSecond),
            LocalTrack("main_audio", kind: .audio, direction: .recvonly),
        ]
    }

    public var commands: [LocalCommand]? {
        [
            LocalCommand(
                "set_prompt", "Shows another scene, after a fade.",
                parameters: [LocalParameter("prompt", .string(maxLength: 2000, oneOf: []), "What to see, in words.")]),
            LocalCommand(
                "set_speed", "Sets how fast the scene passes.",
                parameters: [LocalParameter("speed", .number(0...DemoStage.fastest), default: 1, "1 is usual, 0 stands still.")]),
            LocalCommand(
                "set_image", "Puts a picture into the sky.",
                parameters: [LocalParameter("image", .upload, "A PNG file of at most 16 million pixels.")]),
        ]
    }

    public func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
        let show = show(in: session)
        switch command {
        case "set_prompt":
            let prompt = arguments["prompt"]?.stringValue ?? ""
            let backdrop = show.withLock { $0.stage.backdrop }
            let art = SceneArt(plan: ScenePlan(prompt: prompt), width: width, height: height, backdrop: backdrop)
            show.withLock { $0.stage.show(art, prompt: prompt, backdrop: backdrop, at: $0.time) }
            try await session.send(sceneMessage(show))
            return CommandReply(type: "prompt_set", data: ["prompt": .string(prompt)])
        case "set_speed":
            let speed = arguments["speed"]?.doubleValue ?? 1
            show.withLock { $0.stage.setSpeed(speed, at: $0.time) }
            try await session.send(["type": "speed_changed", "data": ["speed": .number(speed)]])
            return CommandReply(type: "speed_set", data: ["speed": .number(speed)])
        case "set_image":
            let upload = try await session.upload(arguments["image"])
            let image = try await PNGImage.decode(upload.data)
            let prompt = show.withLock { $0.stage.prompt }
            let art = SceneArt(plan: ScenePlan(prompt: prompt), width: width, height: height, backdrop: image)
            show.withLock { $0.stage.show(art, prompt: prompt, backdrop: image, at: $0.time) }
            try await session.send(sceneMessage(show))
            return CommandReply(
                type: "image_set", data: ["width": .number(Double(image.width)), "height": .number(Double(image.height))])
        default:
            throw LocalCommandError(code: "invalid_command", message: "unknown command")
        }
    }

    public func run(in session: LocalSession) async throws {
        let show = show(in: session)
        let began = Reactor.timeMicros()
        try await session.send(sceneMessage(show))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await sendPictures(of: show, began: began, in: session) }
            group.addTask { try await sendSound(of: show, began: began, in: session) }
            try await group.next()
            group.cancelAll()
        }
    }

    private func sendPictures(of show: Mutexed<Show>, began: Int64, in session: LocalSession) async throws {
        var pacer = FramePacer(perSecond: framesPerSecond)
        var frame = OutgoingVideoFrame(pixels: Data(count: width * height * 4), width: UInt32(width), height: UInt32(height))
        for number in 0... {
            let now = Reactor.timeMicros()
            show.withLock { show in
                show.time = Double(now - began) / 1e6
                frame.pixels.withUnsafeMutableBytes { bytes in
                    let canvas = Canvas(bytes, width: width, height: height)
                    show.stage.paint(number: number, milliseconds: Int(now / 1000), at: show.time, on: canvas)
                }
            }
            frame.userData = FrameTag(number: number, nanoseconds: now * 1000).data
            frame.captureTimeUs = now
            try await session.pushVideo(frame, to: "main_video")
            try await pacer.next()
        }
    }

    private func sendSound(of show: Mutexed<Show>, began: Int64, in session: LocalSession) async throws {
        var pacer = FramePacer(perSecond: 50)
        var samples = SampleClock(rate: ChordTone.sampleRate)
        var tone = ChordTone()
        while true {
            tone.target = show.withLock { $0.stage.sound }
            let count = samples.due(at: Double(Reactor.timeMicros() - began) / 1e6)
            if count > 0 { try await session.pushAudio(tone.render(count), to: "main_audio") }
            try await pacer.next()
        }
    }

    private func show(in session: LocalSession) -> Mutexed<Show> {
        shows.withLock { shows in
            shows.state(in: session) {
                Show(stage: DemoStage(prompt: prompt, width: width, height: height, showsCounter: showsCounter))
            }
        }
    }

    /// What is on in one session: changed by its commands, drawn by its run loop.
    private struct Show: Sendable {
        var stage: DemoStage
        /// Of the picture drawn last, in seconds.
        var time = 0.0
    }

    private func sceneMessage(_ show: Mutexed<Show>) -> JSONValue {
        show.withLock { show in
            let plan = show.stage.plan
            return [
                "type": "scene_changed",
                "data": [
                    "prompt": .string(show.stage.prompt), "palette": .array(show.stage.palette.hexTexts.map(JSONValue.string)),
                    "daylight": .string(plan.daylight.rawValue), "land": .string(plan.land.rawValue), "water": .bool(plan.hasWater),
                    "weather": .string(plan.weather.rawValue), "words": .array(plan.words.map(JSONValue.string)),
                    "image": .bool(show.stage.backdrop != nil), "speed": .number(show.stage.speed),
                ],
            ]
        }
    }
}
