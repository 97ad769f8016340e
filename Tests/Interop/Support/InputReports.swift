import Foundation
import Reactor
import Synchronization

/// The probe's `input_report` messages: what it saw of its inputs, about once a second.
final class InputReports: Sendable {
    struct Report: Sendable {
        /// Since the collector was made.
        var seconds: Double
        var frames: Int
        var unreadable: Int
        var firstCounter: Int
        var lastCounter: Int
        var missing: Int
        var width: Int
        var height: Int
        var meanRGB: [Double]
        var latencyMilliseconds: Double
        var tagged: Int
        var toneHz: Double
        var samples: Int
    }

    let clock = Stopwatch()
    private let reports = Recorder<Report>()
    private let tags = Recorder<JSONValue>()
    private let listening: Mutex<Task<Void, Never>?> = Mutex(nil)

    init(_ reactor: Reactor) {
        let (clock, reports, tags) = (clock, reports, tags)
        let messages = reactor.messages
        let task = Task {
            for await message in messages {
                guard let data = message["data"] else { continue }
                switch message["type"]?.stringValue {
                case "input_report": reports.add(Report(data, seconds: clock.seconds))
                case "input_tags": for row in data["rows"]?.arrayValue ?? [] { tags.add(row) }
                default: break
                }
            }
        }
        listening.withLock { $0 = task }
    }

    deinit { listening.withLock { $0?.cancel() } }

    var all: [Report] { reports.values }

    /// Reports of what came at least `seconds` after the collector was made; each covers about a second before it.
    func since(_ seconds: Double) -> Summary { Summary(reports: all.filter { $0.seconds >= seconds + 1.1 }) }

    /// `input_tags`: user data in hex and capture time by counter, in order of arrival.
    var tagRows: [(counter: Int, userData: String, captureTimeUs: Int)] {
        tags.values.compactMap { row in
            guard let counter = row[0]?.intValue, let hex = row[1]?.stringValue, let time = row[2]?.intValue else { return nil }
            return (counter, hex, time)
        }
    }

    struct Summary: Sendable {
        var reports: [Report]

        /// Counters between the first and the last that the model did not see, also between two reports.
        var missing: Int {
            let inside = reports.reduce(0) { $0 + $1.missing }
            let between = zip(reports, reports.dropFirst()).reduce(0) { $0 + max(0, $1.1.firstCounter - $1.0.lastCounter - 1) }
            return inside + between
        }
        var unreadable: Int { reports.reduce(0) { $0 + $1.unreadable } }
        var framesPerSecond: Double {
            guard let first = reports.first, let last = reports.last, reports.count > 1 else { return 0 }
            return Double(reports.dropFirst().reduce(0) { $0 + $1.frames }) / (last.seconds - first.seconds)
        }
        var samplesPerSecond: Double {
            guard let first = reports.first, let last = reports.last, reports.count > 1 else { return 0 }
            return Double(reports.dropFirst().reduce(0) { $0 + $1.samples }) / (last.seconds - first.seconds)
        }
        var sizes: Set<String> { Set(reports.map { "\($0.width)x\($0.height)" }) }
        var latencyMilliseconds: Double { Interop.percentile(reports.map(\.latencyMilliseconds).filter { $0 >= 0 }, 0.5) }
    }
}

extension InputReports.Report {
    init(_ data: JSONValue, seconds: Double) {
        func integer(_ key: String) -> Int { data[key]?.intValue ?? -1 }
        func number(_ key: String) -> Double { data[key]?.doubleValue ?? .nan }
        self.seconds = seconds
        frames = integer("frames")
        unreadable = integer("undecoded")
        firstCounter = integer("first_counter")
        lastCounter = integer("last_counter")
        missing = integer("missing")
        width = integer("width")
        height = integer("height")
        meanRGB = data["mean_rgb"]?.arrayValue?.compactMap(\.doubleValue) ?? []
        latencyMilliseconds = number("latency_ms")
        tagged = integer("tagged")
        toneHz = number("mic_hz")
        samples = integer("mic_samples")
    }
}
