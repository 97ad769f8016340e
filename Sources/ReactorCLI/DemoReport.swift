internal import Foundation
internal import Reactor
internal import Synchronization

/// What `reactor demo` measures beside what every watching measures.
final class DemoReport: Sendable {
    private struct State {
        var runtimeStarted: Int64?
        var url = ""
        var prompt = ""
        /// From drawing a picture to having it decoded, in microseconds.
        var latencies: [Int64] = []
        var roundTrips: [Int64] = []
        var messages = 0
        var samples = 0
        var files: [(path: String, bytes: Int, seconds: Double?)] = []
    }

    let watch = WatchReport()
    private let began = Reactor.timeMicros()
    private let state = Mutex(State())

    func started(url: String, prompt: String) {
        state.withLock { state in
            state.runtimeStarted = Reactor.timeMicros()
            state.url = url
            state.prompt = prompt
        }
        watch.start()
    }

    func received(_ frame: VideoFrame) {
        watch.received(frame)
        guard frame.captureTimeUs > 0 else { return }
        // Both ends are this process: one clock.
        let latency = Reactor.timeMicros() - Int64(clamping: frame.captureTimeUs)
        state.withLock { if $0.latencies.count < 1_000_000 { $0.latencies.append(latency) } }
    }

    func received(_ block: AudioFrame) { state.withLock { $0.samples += block.samples.count / Int(max(1, block.channels)) } }

    func receivedMessage() { state.withLock { $0.messages += 1 } }

    func replied(after micros: Int64, prompt: String?) {
        state.withLock { state in
            state.roundTrips.append(micros)
            state.prompt = prompt ?? state.prompt
        }
    }

    func wrote(_ path: String, bytes: Int, seconds: Double? = nil) {
        state.withLock { $0.files.append((path, bytes, seconds)) }
    }

    var lines: [String] {
        let prompt = state.withLock { $0.prompt }
        return ["\(prompt)", watch.statusLine]
    }

    var summary: String {
        let value = json(failure: nil)
        func text(_ key: String, _ digits: Int = 0) -> String {
            value[key]?.doubleValue.map { String(format: "%.\(digits)f", $0) } ?? "?"
        }
        let files = state.withLock { state in
            state.files.map { file in
                "file      \(file.path)  \(ProgressLine.size(file.bytes))" + (file.seconds.map { String(format: ", %.1f s", $0) } ?? "")
            }
        }
        return
            ([
                "runtime   \(state.withLock { $0.url }), up after \(text("runtime_ms", 1)) ms",
                "video     \(text("width"))x\(text("height")) \(value["codec"]?.stringValue ?? "?"), \(text("fps", 1)) fps, "
                    + "\(text("frames")) frames, \(text("dropped")) dropped",
                "audio     \(text("audio_seconds", 1)) s",
                "times     connected after \(text("connect_ms")) ms, first frame after \(text("first_frame_ms")) ms",
                "latency   \(text("latency_p50_ms", 1)) ms, 95 %: \(text("latency_p95_ms", 1)) ms, from drawing a picture to having it",
                "commands  \(text("commands")), reply after \(text("reply_p50_ms", 1)) ms; \(text("messages")) messages",
                "network   \(value["bitrate_bps"]?.doubleValue.map { String(format: "%.2f", $0 / 1e6) } ?? "?") Mbit/s, "
                    + "\(text("packets_received")) packets, \(text("packets_lost")) lost",
                "process   \(text("cpu_seconds", 2)) CPU seconds, \(value["max_rss_kb"]?.doubleValue.map { String(format: "%.0f", $0 / 1024) } ?? "?") MB",
            ] + files).joined(separator: "\n")
    }

    func json(failure: (any Error)?) -> JSONValue {
        var value = watch.json(failure: failure).objectValue ?? [:]
        state.withLock { state in
            func milliseconds(_ micros: Int64?) -> JSONValue { micros.map { .number((Double($0) / 10).rounded() / 100) } ?? .null }
            func quantile(_ values: [Int64], _ share: Double) -> Int64? {
                values.isEmpty ? nil : values.sorted()[min(values.count - 1, Int(Double(values.count) * share))]
            }
            value["url"] = .string(state.url)
            value["runtime_ms"] = milliseconds(state.runtimeStarted.map { $0 - began })
            value["latency_p50_ms"] = milliseconds(quantile(state.latencies, 0.5))
            value["latency_p95_ms"] = milliseconds(quantile(state.latencies, 0.95))
            value["commands"] = .number(Double(state.roundTrips.count))
            value["reply_p50_ms"] = milliseconds(quantile(state.roundTrips, 0.5))
            value["messages"] = .number(Double(state.messages))
            value["audio_seconds"] = .number((Double(state.samples) / 480).rounded() / 100)
            value["files"] = .array(
                state.files.map { file in
                    [
                        "path": .string(file.path), "bytes": .number(Double(file.bytes)),
                        "seconds": file.seconds.map(JSONValue.number) ?? .null,
                    ]
                })
        }
        return .object(value)
    }
}
