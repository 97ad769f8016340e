internal import Foundation
internal import Reactor

/// `reactor push`: sends pictures and sound into the model, made here or read from pipes.
struct PushCommand {
    struct Video {
        var track: String?
        var width = 640
        var height = 360
        var rate = 30.0
        var format = PixelFormat.bgra
        /// Nil draws the test pattern.
        var input: String?
    }

    struct Audio {
        var track: String?
        var rate = 48_000
        var channels = 1
        /// Nil plays the tone.
        var input: String?
    }

    private let connection: Connection
    private let video: Video
    private let audio: Audio
    private let seconds: Double
    private let isJSON: Bool

    init(_ words: inout Arguments) throws {
        connection = try Connection(&words)
        var video = Video()
        var audio = Audio()
        video.track = try words.takeOption("--track")
        if let text = try words.takeOption("--size") { (video.width, video.height) = try Self.size(text) }
        video.rate = try words.takeNumber("--fps", in: 1...120) ?? 30
        if let text = try words.takeOption("--format") {
            guard let format = PixelFormat(rawValue: text) else {
                throw UsageError("--format takes \(PixelFormat.allCases.map(\.rawValue).joined(separator: ", ")), not '\(text)'")
            }
            video.format = format
        }
        video.input = try words.takeOption("--input")
        audio.track = try words.takeOption("--audio-track")
        audio.input = try words.takeOption("--audio-input")
        audio.rate = try words.takeNumber("--audio-rate", in: 8000...48_000).map(Int.init) ?? 48_000
        guard [8000, 16_000, 24_000, 32_000, 44_100, 48_000].contains(audio.rate) else {
            throw UsageError("--audio-rate takes 8000, 16000, 24000, 32000, 44100 or 48000")
        }
        audio.channels = try words.takeNumber("--audio-channels", in: 1...2).map(Int.init) ?? 1
        seconds = try words.takeNumber("--seconds", in: 0...604_800) ?? 0
        isJSON = words.takeFlag("--json")
        try words.requireEmpty()
        if video.input == "-", audio.input == "-" { throw UsageError("only one of --input and --audio-input can be standard input") }
        if video.input == nil, video.format != .bgra { throw UsageError("--format belongs to an --input; the test pattern is bgra") }
        self.video = video
        self.audio = audio
    }

    func run() async throws -> Int32 {
        // Opened before anything is sent: a file that is not there is no reason to start a session.
        let videoInput = try video.input.map(RawInput.init).map(UncheckedInput.init)
        let audioInput = try audio.input.map(RawInput.init).map(UncheckedInput.init)
        let reactor = try await connection.makeClient()
        let report = PushReport()
        let line = ProgressLine(isQuiet: isJSON)
        let work = Task { try await push(reactor, videoInput, audioInput, report, line) }
        let signals = Terminal.onInterrupt { work.cancel() }
        defer { signals.forEach { $0.cancel() } }
        let failure = await work.failureUnlessInterrupted
        if let stats = try? await reactor.stats() { report.update(stats) }
        report.note(reactor)
        try? await reactor.disconnect()
        reactor.close()
        line.clear()
        if isJSON {
            Output.json(report.json.merging(failure.map(Output.failed) ?? ["status": "ok"]) { $1 })
        } else if report.hasPushed {
            print(report.summary)
        }
        if let failure { throw failure }
        return 0
    }

    private func push(
        _ reactor: Reactor, _ videoInput: UncheckedInput?, _ audioInput: UncheckedInput?, _ report: PushReport, _ line: ProgressLine
    ) async throws {
        report.start()
        try await reactor.connect(sessionID: connection.sessionID)
        let ours = reactor.tracks.withDirection(.sendonly)
        if video.track == nil, ours.withKind(.video).isEmpty {
            let names = reactor.tracks.map { "\($0.name) (\($0.direction?.rawValue ?? "?"))" }
            throw ReactorError(.notFound, "this model takes no video; its tracks: \(names.joined(separator: ", "))", operation: "push")
        }
        let camera = try video.track.map { try reactor.track($0) } ?? ours.withKind(.video).one()
        let microphone = try audio.track.map { try reactor.track($0) } ?? defaultMicrophone(ours)
        try await camera.publish()
        try await microphone?.publish()
        report.connected(reactor, video: camera, audio: microphone)

        var feeders = [
            VideoFeeder(track: camera, video: video, input: videoInput, report: report).start()
        ]
        if let microphone { feeders.append(AudioFeeder(track: microphone, audio: audio, input: audioInput, report: report).start()) }
        let running = feeders
        defer { running.forEach { $0.stop() } }
        let statuses = reactor.statusUpdates
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                // The pictures' end is the end; a tone that goes on for ever does not count.
                for feeder in audio.input == nil ? [running[0]] : running { try await feeder.finished() }
            }
            group.addTask {
                if reactor.status == .ready { for await status in statuses where status == .disconnected { break } }
                try Task.checkCancellation()
                throw ReactorError(.disconnected, "the connection ended")
            }
            group.addTask {
                while true {
                    try await Task.sleep(for: .milliseconds(250))
                    if let stats = try? await reactor.stats() { report.update(stats) }
                    report.note(reactor)
                    line.show(report.statusLine)
                    if seconds > 0, report.seconds >= seconds { return }
                }
            }
            try await group.next()
        }
        running.forEach { $0.stop() }
        // What was pushed last is still being encoded.
        for _ in 0..<20 where !report.isSent(camera) { try await Task.sleep(for: .milliseconds(25)) }
        try? camera.unpublish()
        try? microphone?.unpublish()
    }

    /// The tone belongs to the test pattern; with pictures from outside, sound is sent when it is asked for.
    private func defaultMicrophone(_ tracks: TrackList) throws -> Track? {
        let microphones = tracks.withKind(.audio)
        if audio.input != nil { return try microphones.one() }
        return video.input == nil && microphones.count == 1 ? microphones[0] : nil
    }

    private static func size(_ text: String) throws -> (Int, Int) {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard sides.count == 2, let width = sides[0], let height = sides[1], (16...7680).contains(width), (16...7680).contains(height)
        else {
            throw UsageError("--size takes WIDTHxHEIGHT, such as 640x360, not '\(text)'")
        }
        return (width, height)
    }
}

/// Handed to the one thread that reads it.
struct UncheckedInput: @unchecked Sendable {  // protected by having one user at a time: the command, then its feeder's thread
    let input: RawInput
}
