internal import Foundation
internal import Reactor
internal import Synchronization

/// `reactor clip`: the last seconds of a session as a file.
struct ClipCommand {
    private let connection: Connection
    private let seconds: Double
    private let target: ClipTarget

    init(_ words: inout Arguments) throws {
        connection = try Connection(&words)
        let timeout = try words.takeNumber("--timeout", in: 0...86_400)
        let isJSON = words.takeFlag("--json")
        guard let text = words.nextPositional(), let seconds = Double(text), seconds > 0, seconds <= 86_400 else {
            throw UsageError("say how many seconds, and which file: reactor clip SECONDS FILE")
        }
        guard let file = words.nextPositional() else { throw UsageError("say which file: reactor clip SECONDS FILE") }
        try words.requireEmpty()
        self.seconds = seconds
        target = ClipTarget(file: file, timeout: timeout, isJSON: isJSON)
    }

    func run() async throws -> Int32 {
        try await target.finish { line in
            try await Session.run(connection) { reactor in
                // A session of our own has nothing behind it yet.
                if connection.sessionID == nil { try await target.watch(reactor, seconds: seconds, line) }
                return try await target.fetch(reactor, line) { try await reactor.requestClip(.seconds(seconds)) }
            }
        }
    }
}

/// `reactor record`: a session from its beginning as a file.
struct RecordCommand {
    private let connection: Connection
    private let seconds: Double
    private let target: ClipTarget

    init(_ words: inout Arguments) throws {
        connection = try Connection(&words)
        seconds = try words.takeNumber("--seconds", in: 0...604_800) ?? 10
        let timeout = try words.takeNumber("--timeout", in: 0...86_400)
        let isJSON = words.takeFlag("--json")
        guard let file = words.nextPositional() else { throw UsageError("say which file: reactor record FILE") }
        try words.requireEmpty()
        target = ClipTarget(file: file, timeout: timeout, isJSON: isJSON)
    }

    func run() async throws -> Int32 {
        try await target.finish { line in
            let reactor = try await connection.makeClient()
            let watching = Task {
                try await reactor.connect(sessionID: connection.sessionID)
                try await target.watch(reactor, seconds: seconds, line)
            }
            let fetching = Task {
                do {
                    try await watching.value
                } catch is CancellationError where reactor.status == .ready {}
                return try await target.fetch(reactor, line) { try await reactor.requestRecording() }
            }
            // Interrupting ends the recording, not the command; once more ends that as well.
            let signals = Terminal.onInterrupt({ watching.cancel() }, { fetching.cancel() })
            defer { signals.forEach { $0.cancel() } }
            let result = await fetching.result
            try? await reactor.disconnect()
            reactor.close()
            return try result.get()
        }
    }
}

/// Where a clip goes and how that is told.
struct ClipTarget: Sendable {
    let file: String
    /// Seconds beyond the platform's own prediction.
    let timeout: Double?
    let isJSON: Bool

    struct Outcome: Sendable {
        var clip: Clip
        var result: DownloadResult
        var waits: Int
        var requestMS: JSONValue
        var downloadMS: JSONValue
    }

    /// Lets the session run for a while, from its first frame on.
    func watch(_ reactor: Reactor, seconds: Double, _ line: ProgressLine) async throws {
        let first = FirstFrame()
        let track = reactor.tracks.withDirection(.recvonly).withKind(.video).first
        let frames = try track?.videoFrames
        let begin = Reactor.timeMicros()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            if let frames {
                group.addTask {
                    for await _ in frames { first.note() }
                    try Task.checkCancellation()
                    throw reactor.lastFailure
                }
            }
            group.addTask {
                while true {
                    guard reactor.status == .ready else { throw reactor.lastFailure }
                    // A model that sends no pictures is recorded all the same.
                    let now = Reactor.timeMicros()
                    let start = first.time ?? (frames == nil || now - begin > 5_000_000 ? begin : nil)
                    let elapsed = start.map { Double(now - $0) / 1e6 } ?? 0
                    if seconds > 0, elapsed >= seconds { return }
                    let text = String(format: seconds > 0 ? "recording %.1f of %g s" : "recording %.1f s", elapsed, seconds)
                    line.show(text, fraction: seconds > 0 ? elapsed / seconds : nil)
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
            try await group.next()
        }
    }

    /// Asks for the clip and downloads it.
    func fetch(_ reactor: Reactor, _ line: ProgressLine, _ request: @Sendable () async throws -> Clip) async throws -> Outcome {
        line.show("asking for the clip")
        let start = Reactor.timeMicros()
        let clip = try await request()
        let requestMS = Output.milliseconds(since: start)
        let begin = Reactor.timeMicros()
        let download = reactor.startDownload(clip, to: URL(filePath: file), readyTimeout: timeout.map { .seconds($0) })
        // Not a child: when this task is cancelled the download still has to remove what it wrote.
        let work = Task {
            var waits = 0
            for try await event in download {
                switch event {
                case .waiting(let attempt):
                    waits = attempt
                    let seconds = Double(Reactor.timeMicros() - begin) / 1e6
                    line.show(String(format: "waiting for the clip  %.0f s", seconds))
                case .progress(let progress):
                    line.show("\(progress.done) of \(progress.total) parts", fraction: progress.fraction)
                case .finished: break
                }
            }
            return (try await download.result, waits)
        }
        let (result, waits) = try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            download.cancel()
        }
        return Outcome(
            clip: clip, result: result, waits: waits, requestMS: requestMS, downloadMS: Output.milliseconds(since: begin))
    }

    /// Nobody should watch for an hour to learn that the file cannot be.
    private func requireWritable() throws {
        let url = URL(filePath: file)
        var isFolder: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: url.path(percentEncoded: false), isDirectory: &isFolder)
        let place = exists ? url : url.deletingLastPathComponent()
        guard !isFolder.boolValue, FileManager.default.isWritableFile(atPath: place.path(percentEncoded: false)) else {
            throw CommandFailure("cannot write \(file)")
        }
    }

    /// Runs the whole and prints what came of it.
    func finish(_ body: (ProgressLine) async throws -> Outcome) async throws -> Int32 {
        let line = ProgressLine(isQuiet: isJSON)
        let outcome: Outcome
        do {
            try requireWritable()
            outcome = try await body(line)
        } catch {
            line.clear()
            if isJSON { Output.json(Output.failed(error)) }
            throw error
        }
        line.clear()
        let seconds = outcome.clip.duration.map { $0 / .seconds(1) }
        if isJSON {
            Output.json([
                "status": "ok", "path": .string(file), "bytes": .number(Double(outcome.result.bytes)),
                "segments": .number(Double(outcome.result.segments)), "kind": outcome.clip.kind.map(JSONValue.string) ?? .null,
                "seconds": seconds.map { .number(($0 * 1000).rounded() / 1000) } ?? .null,
                "start_marker": outcome.clip.startMarker.map(JSONValue.number) ?? .null,
                "end_marker": outcome.clip.endMarker.map(JSONValue.number) ?? .null, "waits": .number(Double(outcome.waits)),
                "request_ms": outcome.requestMS, "download_ms": outcome.downloadMS,
            ])
        } else {
            let length = seconds.map { String(format: "%.1f s, ", $0) } ?? ""
            print("\(file)  \(length)\(ProgressLine.size(outcome.result.bytes)), \(outcome.result.segments) segments")
        }
        return 0
    }
}

/// When the first frame came.
private final class FirstFrame: Sendable {
    private let stored = Mutex<Int64?>(nil)
    var time: Int64? { stored.withLock { $0 } }
    func note() { stored.withLock { $0 = $0 ?? Reactor.timeMicros() } }
}

extension Reactor {
    /// Why the session is not ready any more.
    fileprivate nonisolated var lastFailure: ReactorError { ReactorError(.disconnected, "the connection ended") }
}
