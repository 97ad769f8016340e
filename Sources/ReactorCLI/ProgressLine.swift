internal import Foundation
internal import Reactor
internal import Synchronization

/// A bar on the terminal's status line; says nothing where there is no terminal, or when the result is to be JSON.
final class ProgressLine: Sendable {
    private let isShown: Bool
    private let lastWritten = Mutex<(text: String, time: Int64)>(("", .min))

    init(isQuiet: Bool) { isShown = !isQuiet && Terminal.isInteractive }

    /// - Parameter fraction: 0 to 1; nil shows the text alone.
    func show(_ text: String, fraction: Double? = nil) {
        guard isShown else { return }
        let line = fraction.map { Self.bar($0) + " " + text } ?? text
        let now = Reactor.timeMicros()
        let isDue = lastWritten.withLock { last in
            // The end always, what leads there a few times a second.
            guard line != last.text, now - 50_000 >= last.time || (fraction ?? 0) >= 1 else { return false }
            last = (line, now)
            return true
        }
        if isDue { Terminal.status(line) }
    }

    func clear() { if isShown { Terminal.clearStatus() } }

    static func bar(_ fraction: Double, width: Int = 30) -> String {
        let filled = fraction.isFinite ? Int((min(1, max(0, fraction)) * Double(width)).rounded()) : 0
        return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "]"
    }

    /// `820 B`, `1.4 MB`.
    static func size(_ bytes: Int) -> String {
        if bytes < 1000 { return "\(bytes) B" }
        let units = ["kB", "MB", "GB", "TB"]
        var value = Double(bytes) / 1000
        var unit = 0
        while value >= 999.5, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return String(format: value < 9.95 ? "%.1f %@" : "%.0f %@", value, units[unit])
    }
}

/// What commands print at the end.
enum Output {
    static func json(_ value: [String: JSONValue]) { print(JSONValue.object(value).jsonText) }

    /// The failure as part of a JSON result.
    static func failed(_ error: any Error) -> [String: JSONValue] {
        let code: String
        let message: String
        switch error {
        case let error as ReactorError: (code, message) = (error.code.rawValue, error.message)
        case let error as UsageError: (code, message) = (ReactorError.Code.badRequest.rawValue, error.message)
        case let error as CommandFailure: (code, message) = ("INTERNAL_ERROR", error.message)
        case is CancellationError: (code, message) = ("ABORTED", "interrupted")
        default: (code, message) = ("INTERNAL_ERROR", "\(error)")
        }
        return ["status": "failed", "error": ["code": .string(code), "message": .string(message)]]
    }

    /// Milliseconds since a moment of ``Reactor/timeMicros()``.
    static func milliseconds(since start: Int64) -> JSONValue { .number((Double(Reactor.timeMicros() - start) / 100).rounded() / 10) }
}
