internal import Foundation
internal import Reactor
internal import ReactorTesting

/// `reactor serve`: a local runtime with a stock model, until interrupted.
struct ServeCommand {
    private let host: String
    private let port: Int
    private let model: StockModel
    private let isRecording: Bool
    private let isVerbose: Bool

    init(_ words: inout Arguments) throws {
        host = try words.takeOption("--host") ?? "127.0.0.1"
        let number = try words.takeNumber("--port", in: 0...65_535) ?? 8080
        guard number == number.rounded() else { throw UsageError("--port takes a whole number") }
        port = Int(number)
        let name = try words.takeOption("--model") ?? "demo"
        guard let kind = StockModel.Kind(rawValue: name) else {
            throw UsageError("there is no model '\(name)'; there are: \(StockModel.Kind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        model = try StockModel(&words, kind: kind)
        isRecording = !words.takeFlag("--no-recording")
        isVerbose = words.takeFlag("--verbose")
        try words.requireEmpty()
    }

    func run() async throws -> Int32 {
        let (interruptions, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let signals = Terminal.onInterrupt { continuation.finish() }
        defer { signals.forEach { $0.cancel() } }
        let (events, eventContinuation) = AsyncStream.makeStream(of: LocalRuntimeEvent.self, bufferingPolicy: .bufferingNewest(256))
        var configuration = LocalRuntime.Configuration()
        configuration.recordsSessions = isRecording
        configuration.onEvent = { eventContinuation.yield($0) }
        if isVerbose {
            var logger = ReactorLogger.standardError
            logger.minimumLevel = .debug
            configuration.logger = logger
        }
        let runtime = try await LocalRuntime(model: model.makeModel(), host: host, port: port, configuration: configuration)
        Self.say("model \(model.kind.rawValue) at \(runtime.apiURL)")
        let printing = Task {
            for await event in events { if let line = Self.line(for: event) { Self.say(line) } }
        }
        for await _ in interruptions {}
        await runtime.stop()
        eventContinuation.finish()
        await printing.value
        Self.say("stopped")
        return 0
    }

    /// Nil for what is of no interest to somebody who watches.
    static func line(for event: LocalRuntimeEvent) -> String? {
        let connection = event.detail["conn_id"].map { " \($0)" } ?? ""
        let reason = event.detail["reason"].map { ", \($0)" } ?? ""
        switch event.name {
        case "start_session": return "session started"
        case "connection_opened": return "connection\(connection) open"
        case "connection_closed":
            return "connection\(connection) closed" + (event.to == "orphaned" ? ", the session waits for a client" : "")
        case "timeout", "stop_session",
            "shutdown" where event.to == "closing":
            return "session ends\(reason)"
        case "cleanup_complete": return "session ended"
        default: return nil
        }
    }

    /// At once, also into a pipe.
    private static func say(_ text: String) {
        let time = Date.now.formatted(.iso8601.time(includingFractionalSeconds: false).dateTimeSeparator(.space))
        FileHandle.standardOutput.write(Data("\(time)  \(text)\n".utf8))
    }
}
