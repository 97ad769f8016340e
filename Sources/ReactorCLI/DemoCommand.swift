internal import Foundation
internal import Reactor
internal import ReactorTesting

/// `reactor demo`: an embedded runtime with the demo model, and a client of it, in one process.
struct DemoCommand {
    private let seconds: Double
    private let directory: URL
    private let isJSON: Bool
    private let model: StockModel

    init(_ words: inout Arguments) throws {
        seconds = try words.takeNumber("--seconds", in: 1...3600) ?? 10
        directory = URL(filePath: try words.takeOption("--output") ?? ".", directoryHint: .isDirectory)
        isJSON = words.takeFlag("--json")
        model = try StockModel(&words, kind: .demo)
        try words.requireEmpty()
    }

    func run() async throws -> Int32 {
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure("cannot make \(directory.path(percentEncoded: false)): \(error.localizedDescription)")
        }
        let report = DemoReport()
        let screen = !isJSON && TerminalScreen.isAvailable ? TerminalScreen { (report.watch.lastFrame, report.lines) } : nil
        let usesStatusLine = !isJSON && screen == nil && Terminal.isInteractive
        let work = Task { try await show(report, screen: screen, usesStatusLine: usesStatusLine) }
        let signals = Terminal.onInterrupt { work.cancel() }
        defer { signals.forEach { $0.cancel() } }
        var failure = await work.failureUnlessInterrupted
        await screen?.stop()
        if usesStatusLine { Terminal.clearStatus() }
        if failure == nil, report.watch.frames == 0 { failure = CommandFailure("no frame arrived") }
        if isJSON {
            print(report.json(failure: failure).jsonText)
        } else if report.watch.frames > 0 {
            print(report.summary)
        }
        if let failure { throw failure }
        return 0
    }

    private func show(_ report: DemoReport, screen: TerminalScreen?, usesStatusLine: Bool) async throws {
        let runtime = try await LocalRuntime(model: model.makeModel())
        report.started(url: runtime.apiURL, prompt: model.prompt)
        screen?.start()
        let reactor = try Reactor(model: "demo", runtime: runtime)
        let messages = reactor.onMessage { _ in report.receivedMessage() }
        do {
            try await stream(reactor, report, usesStatusLine: usesStatusLine)
        } catch {
            messages.cancel()
            await Self.end(reactor, runtime)
            throw error
        }
        messages.cancel()
        await Self.end(reactor, runtime)
    }

    private static func end(_ reactor: Reactor, _ runtime: LocalRuntime) async {
        // Also when interrupted: nothing is left behind.
        await Task {
            try? await reactor.disconnect()
            reactor.close()
            await runtime.stop()
        }.value
    }

    private func stream(_ reactor: Reactor, _ report: DemoReport, usesStatusLine: Bool) async throws {
        try await reactor.connect()
        report.watch.connected(sessionID: reactor.sessionID)
        let (video, audio) = (try reactor.track("main_video"), try reactor.track("main_audio"))
        let (frames, blocks, errors) = (try video.videoFrames, try audio.audioFrames, reactor.errors)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await frame in frames { report.received(frame) }
                return false
            }
            group.addTask {
                for await block in blocks { report.received(block) }
                return false
            }
            group.addTask {
                for await error in errors { throw error }
                return false
            }
            group.addTask {
                while true {
                    if let stats = try? await reactor.stats() { report.watch.update(stats) }
                    report.watch.note(status: reactor.status, sessionID: reactor.sessionID, counters: video.counters)
                    if usesStatusLine { Terminal.status(report.lines.joined(separator: "  ")) }
                    try await Task.sleep(for: .milliseconds(250))
                }
            }
            group.addTask {
                try await direct(reactor, report)
                return true
            }
            defer { group.cancelAll() }
            while let isOver = try await group.next() { if isOver { break } }
        }
    }

    /// Prompts over time, and the files at the end.
    private func direct(_ reactor: Reactor, _ report: DemoReport) async throws {
        let scenes: [(prompt: String, speed: Double)] = [
            ("a city at night in the rain", 1), ("a pine forest by a lake in the morning", 2), ("snow in the mountains", 1),
        ]
        let part = seconds / Double(scenes.count + 1)
        let begin = ContinuousClock.now
        for (index, scene) in scenes.enumerated() {
            try await Task.sleep(until: begin + .seconds(part * Double(index + 1)), tolerance: .zero, clock: .continuous)
            try await Self.send(reactor, report, "set_prompt", ["prompt": .string(scene.prompt)], prompt: scene.prompt)
            try await Self.send(reactor, report, "set_speed", ["speed": .number(scene.speed)])
        }
        try await Task.sleep(until: begin + .seconds(seconds), tolerance: .zero, clock: .continuous)
        let picture = directory.appending(path: "demo.png")
        if let frame = report.watch.lastFrame {
            let path = picture.path(percentEncoded: false)
            try PNGWriter.write(frame, to: path)
            report.wrote(path, bytes: (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0)
        }
        let clip = try await reactor.requestRecording()
        let result = try await reactor.download(clip, to: directory.appending(path: "demo.mp4"), readyTimeout: .seconds(30))
        let length = clip.duration.map { Double($0.components.seconds) + Double($0.components.attoseconds) / 1e18 }
        report.wrote(result.path.path(percentEncoded: false), bytes: result.bytes, seconds: length)
    }

    private static func send(
        _ reactor: Reactor, _ report: DemoReport, _ command: String, _ arguments: JSONValue, prompt: String? = nil
    ) async throws {
        let began = Reactor.timeMicros()
        try await reactor.sendCommand(command, arguments)
        report.replied(after: Reactor.timeMicros() - began, prompt: prompt)
    }
}
