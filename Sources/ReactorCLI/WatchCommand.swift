internal import Foundation
internal import Reactor
internal import Synchronization

/// `reactor watch`: receives one video track and measures.
struct WatchCommand {
    private let connection: Connection
    private let trackName: String?
    private let seconds: Double
    private let snapshot: String?
    private let isJSON: Bool
    private let usesTerminal: Bool

    init(_ words: inout Arguments) throws {
        connection = try Connection(&words)
        trackName = try words.takeOption("--track")
        seconds = try words.takeNumber("--seconds", in: 0...604_800) ?? 10
        snapshot = try words.takeOption("--snapshot")
        isJSON = words.takeFlag("--json")
        usesTerminal = words.takeFlag("--terminal")
        try words.requireEmpty()
        if usesTerminal, !TerminalScreen.isAvailable { throw UsageError("--terminal needs a terminal on standard output") }
    }

    func run() async throws -> Int32 {
        let reactor = try await connection.makeClient()
        let report = WatchReport()
        let screen = usesTerminal ? TerminalScreen { (report.lastFrame, [report.statusLine]) } : nil
        screen?.start()
        let work = Task { try await watch(reactor, report) }
        let signals = Terminal.onInterrupt { work.cancel() }
        defer { signals.forEach { $0.cancel() } }
        var failure = await work.failureUnlessInterrupted
        await screen?.stop()
        if let stats = try? await reactor.stats() { report.update(stats) }
        report.note(status: reactor.status, sessionID: reactor.sessionID, counters: trackName.flatMap { try? reactor.track($0).counters })
        try? await reactor.disconnect()
        reactor.close()
        if !isJSON, Terminal.isInteractive { Terminal.clearStatus() }
        if let snapshot, let frame = report.lastFrame {
            do {
                try PNGWriter.write(frame, to: snapshot)
            } catch {
                failure = failure ?? error
            }
        }
        if failure == nil, report.frames == 0 {
            failure = CommandFailure("no frame arrived; is the track paused, or the model idle?")
        }
        if isJSON {
            print(report.json(failure: failure).jsonText)
        } else if report.frames > 0 {
            print(report.summary(snapshot: snapshot))
        }
        if let failure { throw failure }
        return 0
    }

    private func watch(_ reactor: Reactor, _ report: WatchReport) async throws {
        let lost = Lost()
        let errors = reactor.onError { lost.note($0) }
        defer { errors.cancel() }
        report.start()
        try await reactor.connect(sessionID: connection.sessionID)
        report.connected(sessionID: reactor.sessionID)
        let track: Track
        if let trackName {
            track = try reactor.track(trackName)
        } else {
            track = try reactor.tracks.withDirection(.recvonly).withKind(.video).one()
        }
        let frames = try track.videoFrames
        let statuses = reactor.statusUpdates
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await frame in frames { report.received(frame) }
            }
            group.addTask {
                // A connection that ends by itself ends the watching.
                if reactor.status == .ready {
                    for await status in statuses where status == .disconnected { break }
                }
                try Task.checkCancellation()
                throw lost.error ?? ReactorError(.disconnected, "the connection ended")
            }
            group.addTask {
                while true {
                    try await Task.sleep(for: .milliseconds(250))
                    if let stats = try? await reactor.stats() { report.update(stats) }
                    report.note(status: reactor.status, sessionID: reactor.sessionID, counters: track.counters)
                    if !isJSON, !usesTerminal, Terminal.isInteractive { Terminal.status(report.statusLine) }
                    if seconds > 0, report.isOver(after: seconds) { return }
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }
}

/// The failure that ended the connection, from the error event.
private final class Lost: Sendable {
    private let last = Mutex<ReactorError?>(nil)
    func note(_ error: ReactorError) { last.withLock { $0 = error } }
    var error: ReactorError? { last.withLock { $0 } }
}
