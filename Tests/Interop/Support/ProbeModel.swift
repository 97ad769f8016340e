import Foundation
import Glibc
import Reactor
import ReactorTesting
import Synchronization

/// The `probe` of `Peers/models`, served by our own runtime: the same tracks, commands and messages, so that a client cannot
/// tell the two by its report.
final class ProbeModel: LocalModel {
    let name = "probe"
    let tracks = [
        LocalTrack("main_video", kind: .video, direction: .recvonly), LocalTrack("main_audio", kind: .audio, direction: .recvonly),
        LocalTrack("webcam", kind: .video, direction: .sendonly), LocalTrack("mic", kind: .audio, direction: .sendonly),
    ]
    let commands: [LocalCommand]? = [
        LocalCommand("echo", "Replies with the payload", parameters: [LocalParameter("payload", .text, default: "")]),
        LocalCommand("set_prompt", "Text prompt", parameters: [LocalParameter("prompt", .string(maxLength: 2000, oneOf: []))]),
        LocalCommand(
            "fail", "Raises; code 'planned' is a LocalCommandError",
            parameters: [
                LocalParameter("code", .text, default: "planned"), LocalParameter("message", .text, default: "asked to fail"),
            ]),
        LocalCommand("slow", "Replies after some seconds", parameters: [LocalParameter("seconds", .number(0...600), default: 1)]),
        LocalCommand("set_image", "Measures an uploaded file", parameters: [LocalParameter("image", .upload, "any file")]),
        LocalCommand(
            "emit", "Broadcasts count messages of size bytes",
            parameters: [
                LocalParameter("count", .integer(1...100_000), default: 1), LocalParameter("size", .integer(0...4_000_000), default: 16),
            ]),
        LocalCommand(
            "set_video", "Resolution, rate and source of main_video",
            parameters: [
                LocalParameter("width", .integer(64...3840), default: 640), LocalParameter("height", .integer(48...2160), default: 360),
                LocalParameter("fps", .number(1...120), default: 30),
                LocalParameter("source", .string(maxLength: nil, oneOf: ["pattern", "webcam", "stop"]), default: "pattern"),
            ]),
    ]

    private struct State {
        var width = 640
        var height = 360
        var rate = 30.0
        var source = "pattern"
        var prompts = 0
        var webcam: VideoFrame?
        var report = ProbeReport()
    }

    private struct Crash: Error {}

    private let state = Mutex(State())

    func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
        func text(_ key: String) -> String { arguments[key]?.stringValue ?? "" }
        func integer(_ key: String) -> Int { arguments[key]?.intValue ?? 0 }
        func number(_ key: String) -> Double { arguments[key]?.doubleValue ?? 0 }
        switch command {
        case "echo":
            let payload = text("payload")
            return CommandReply(
                type: "echo_reply",
                data: ["payload": .string(payload), "size": JSONValue(payload.count), "monotonic_ns": JSONValue(monotonicNanoseconds())])
        case "set_prompt":
            let count = state.withLock { state in
                state.prompts += 1
                return state.prompts
            }
            return CommandReply(type: "prompt_set", data: ["prompt": .string(text("prompt")), "count": JSONValue(count)])
        case "fail":
            if text("code") == "crash" { throw Crash() }
            throw LocalCommandError(code: text("code"), message: text("message"))
        case "slow":
            try await Task.sleep(for: .seconds(number("seconds")))
            return CommandReply(type: "slow_done", data: ["seconds": .number(number("seconds"))])
        case "set_image":
            let file = try await session.upload(arguments["image"])
            return CommandReply(
                type: "image_info",
                data: [
                    "file": .string(file.name), "mime_type": .string(file.mimeType), "size": JSONValue(file.data.count),
                    "sha256": .string(SHA256.hex(file.data)),
                ])
        case "emit":
            for index in 0..<integer("count") {
                let payload = String(repeating: "x", count: integer("size"))
                try await session.send(["type": "filler", "data": ["index": JSONValue(index), "payload": .string(payload)]])
            }
            return nil
        case "set_video":
            state.withLock { state in
                state.width = integer("width")
                state.height = integer("height")
                state.rate = number("fps")
                state.source = text("source")
            }
            return CommandReply(
                type: "video_set",
                data: [
                    "width": JSONValue(integer("width")), "height": JSONValue(integer("height")), "fps": .number(number("fps")),
                    "source": .string(text("source")),
                ])
        default: return nil
        }
    }

    func run(in session: LocalSession) async throws {
        let (width, height, rate) = state.withLock { ($0.width, $0.height, $0.rate) }
        try await session.send([
            "type": "hello",
            "data": [
                "width": JSONValue(width), "height": JSONValue(height), "fps": .number(rate),
                "monotonic_ms": JSONValue(CounterBlocks.clockMilliseconds),
            ],
        ])
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.produce(in: session) }
            group.addTask {
                for await frame in try session.videoFrames(from: "webcam") {
                    self.state.withLock { state in
                        state.webcam = frame
                        state.report.add(frame)
                    }
                }
            }
            group.addTask {
                for await block in try session.audioFrames(from: "mic") { self.state.withLock { $0.report.add(block) } }
            }
            group.addTask {
                while true {
                    try await Task.sleep(for: .seconds(1))
                    let report = self.state.withLock { state in
                        defer { state.report = ProbeReport() }
                        return state.report
                    }
                    if let message = report.message { try await session.send(message) }
                }
            }
            try await group.waitForAll()
        }
    }

    private func produce(in session: LocalSession) async throws {
        var pattern = CounterPattern(width: 640, height: 360)
        var tone = ProbeTone()
        var due = ContinuousClock.now
        for count in 0... {
            let (width, height, rate, source, webcam) = state.withLock { ($0.width, $0.height, $0.rate, $0.source, $0.webcam) }
            if (pattern.width, pattern.height) != (width, height) { pattern = CounterPattern(width: width, height: height) }
            let isBurst = count % max(1, Int(rate.rounded())) == 0
            let samples = tone.chunk(Int((48_000 / rate).rounded()), burst: isBurst)
            if source != "stop" {
                let tag = "{\"n\": \(count), \"t_ns\": \(monotonicNanoseconds()), \"burst\": \(isBurst)}"
                var frame = OutgoingVideoFrame(
                    pixels: Data(), width: UInt32(width), height: UInt32(height), userData: Data(tag.utf8))
                if source == "webcam", let webcam {
                    (frame.pixels, frame.width, frame.height) = (webcam.pixels, webcam.width, webcam.height)
                } else {
                    frame.pixels = pattern.withPicture(count) { Data($0) }
                }
                try await session.pushVideo(frame, to: "main_video")
                try await session.pushAudio(samples, to: "main_audio")
            }
            due = max(due + .seconds(1 / rate), ContinuousClock.now - .milliseconds(100))
            try await Task.sleep(until: due, clock: .continuous)
        }
    }
}

extension LocalParameter.Kind {
    fileprivate static var text: Self { .string(maxLength: nil, oneOf: []) }
}

extension JSONValue {
    fileprivate init(_ integer: Int) { self = .number(Double(integer)) }
}

/// 440 Hz, and 1760 Hz on top for 100 ms when told.
private struct ProbeTone {
    private var position = 0
    private var left = 0

    mutating func chunk(_ count: Int, burst: Bool) -> [Int16] {
        if burst { left = 4800 }
        defer { position += count }
        return (0..<count).map { index in
            let time = Double(position + index) / 48_000
            var value = 6000 * sin(2 * .pi * 440 * time)
            if left > 0 {
                value += 12_000 * sin(2 * .pi * 1760 * time)
                left -= 1
            }
            return Int16(value)
        }
    }
}

/// What the model saw of its inputs within a second.
private struct ProbeReport {
    private var frames = 0
    private var unreadable = 0
    private var tagged = 0
    private var counters: [Int] = []
    private var ages: [Double] = []
    private var last: VideoFrame?
    private var samples: [Int16] = []

    mutating func add(_ frame: VideoFrame) {
        frames += 1
        if frame.userData != nil { tagged += 1 }
        last = frame
        guard let blocks = CounterBlocks(frame) else { return unreadable += 1 }
        counters.append(blocks.counter)
        ages.append(Double(blocks.ageMilliseconds))
    }

    mutating func add(_ block: AudioFrame) {
        for index in stride(from: 0, to: block.samples.count, by: Int(max(1, block.channels))) { samples.append(block.samples[index]) }
    }

    /// Nil when there was nothing.
    var message: JSONValue? {
        guard frames > 0 || !samples.isEmpty else { return nil }
        let missing = counters.isEmpty ? 0 : (counters.last ?? 0) - (counters.first ?? 0) + 1 - Set(counters).count
        return [
            "type": "input_report",
            "data": [
                "frames": JSONValue(frames), "undecoded": JSONValue(unreadable), "first_counter": JSONValue(counters.first ?? -1),
                "last_counter": JSONValue(counters.last ?? -1), "missing": JSONValue(missing), "width": JSONValue(Int(last?.width ?? 0)),
                "height": JSONValue(Int(last?.height ?? 0)), "mean_rgb": .array(meanRGB.map { .number($0) }),
                "latency_ms": .number(ages.isEmpty ? -1 : Interop.percentile(ages, 0.5)), "tagged": JSONValue(tagged),
                "mic_hz": .number(hertz), "mic_samples": JSONValue(samples.count),
            ],
        ]
    }

    private var meanRGB: [Double] {
        guard let last else { return [0, 0, 0] }
        let (width, height) = (Int(last.width), Int(last.height))
        var sums = [0.0, 0.0, 0.0]
        var count = 0.0
        last.pixels.withUnsafeBytes { (pixels: UnsafeRawBufferPointer) in
            for y in stride(from: height / 4, to: height, by: 8) {
                for x in stride(from: 0, to: width, by: 8) {
                    for channel in 0..<3 { sums[channel] += Double(pixels[(y * width + x) * 4 + 2 - channel]) }
                    count += 1
                }
            }
        }
        return sums.map { count > 0 ? $0 / count : 0 }
    }

    /// The loudest of the frequencies that divide by 10, in the last tenth of a second.
    private var hertz: Double {
        let heard = Array(samples.suffix(4800))
        guard heard.count == 4800 else { return 0 }
        let frequencies = stride(from: 100.0, through: 2000, by: 10)
        return frequencies.max { Self.power($0, heard) < Self.power($1, heard) } ?? 0
    }

    /// Goertzel's algorithm.
    private static func power(_ frequency: Double, _ samples: [Int16]) -> Double {
        let factor = 2 * cos(2 * .pi * frequency / 48_000)
        var (last, before) = (0.0, 0.0)
        for sample in samples { (last, before) = (Double(sample) + factor * last - before, last) }
        return last * last + before * before - factor * last * before
    }
}

private func monotonicNanoseconds() -> Int {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1_000_000_000 + now.tv_nsec
}
