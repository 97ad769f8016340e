import Foundation
import Reactor
import Testing

/// Tests against the vendor's runtime, one after another: they share two cores, and times are measured.
///
/// They run when `REACTOR_INTEROP=1` (`Tests/Interop/run` sets it after preparing the runtime), and are skipped otherwise.
/// `REACTOR_INTEROP_SECONDS` is how long a stream is watched (5; 20 in a full run); `REACTOR_INTEROP_FULL=1` also runs what
/// takes long. Figures are printed as lines `MEASURED name value unit`.
@Suite(
    "Interop", .serialized,
    .enabled(if: Settings.isRequested, "REACTOR_INTEROP=1 is not set: Tests/Interop/run prepares the runtime and sets it"),
    .timeLimit(.minutes(4)))
enum Interop {
    /// Reports one figure.
    static func measured(_ name: String, _ value: Double, _ unit: String) {
        let text = value == value.rounded() ? String(Int(value)) : String(format: "%.3f", value)
        FileHandle.standardOutput.write(Data("MEASURED \(name) \(text) \(unit)\n".utf8))
    }

    /// Runs `body` with a runtime of its own, and stops that whatever happens.
    static func withRuntime<R>(
        _ environment: [String: String] = [:], model: String = "probe", _ body: (RuntimeProcess) async throws -> R
    ) async throws -> R {
        let runtime = try await RuntimeProcess.start(model: model, environment: environment)
        do {
            let result = try await body(runtime)
            await runtime.stop()
            return result
        } catch {
            await runtime.stop()
            throw error
        }
    }

    /// A client of a local runtime.
    static func client(_ url: String, connectTimeout: Duration? = nil, commandTimeout: Duration? = nil) throws -> Reactor {
        var configuration = ReactorConfiguration()
        configuration.apiURL = url
        configuration.local = true
        configuration.connectTimeout = connectTimeout
        configuration.commandTimeout = commandTimeout
        if let level = Settings.environment["REACTOR_INTEROP_LOG"] {
            var logger = ReactorLogger.standardError
            logger.minimumLevel = level == "trace" ? .trace : .debug
            configuration.logger = logger
        }
        return try Reactor(model: "interop/probe", configuration: configuration)
    }

    /// Waits until `condition` holds, looking every 10 ms; whether it came to hold within `seconds`.
    static func eventually(within seconds: Double, _ condition: () async -> Bool) async -> Bool {
        let begin = Stopwatch()
        while true {
            if await condition() { return true }
            if begin.seconds >= seconds { return false }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// The value at a share of the way through the sorted values, 0.5 for the median.
    static func percentile(_ values: [Double], _ share: Double) -> Double {
        guard !values.isEmpty else { return .nan }
        let sorted = values.sorted()
        return sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
    }
}

/// What the environment asks for.
enum Settings {
    static let environment = ProcessInfo.processInfo.environment
    static let isRequested = environment["REACTOR_INTEROP"] == "1"
    /// The long forms: the whole 100 cycles, the waits that run into limits of 12 and 30 s.
    static let isFull = environment["REACTOR_INTEROP_FULL"] == "1"
    /// How long a stream is watched.
    static let seconds = environment["REACTOR_INTEROP_SECONDS"].flatMap(Double.init) ?? (isFull ? 20 : 5)
    /// How hard the pictures are to encode, 0 to 1. The easy picture leaves the client a core on a small machine.
    static let detail = environment["REACTOR_INTEROP_DETAIL"] ?? "0"

    /// Limits on times hold for optimised code; a debug build gets a multiple and prints what it measured.
    static let isOptimized: Bool = {
        var isDebug = false
        assert(
            {
                isDebug = true; return true
            }())
        return !isDebug
    }()

    /// A limit on a time. It holds as it stands in a full run of a release build, which somebody starts on a quiet machine to
    /// measure; a quick run shares its machine with whatever else is on it and gets three times as much, a debug build
    /// `debugFactor` times. Every figure is printed in any case.
    static func limit(_ value: Double, debugFactor: Double = 5) -> Double {
        isOptimized ? (isFull ? value : value * 3) : value * debugFactor
    }
}

/// Time since it was made.
struct Stopwatch: Sendable {
    private let begin = ContinuousClock.now
    private var elapsed: Duration { ContinuousClock.now - begin }
    var seconds: Double { elapsed / .seconds(1) }
    var milliseconds: Double { elapsed / .milliseconds(1) }
}
