internal import Foundation
internal import Reactor
internal import Synchronization

/// What `reactor watch` has seen so far; written by the frame loop and the statistics timer, read for the status line and
/// the result.
final class WatchReport: Sendable {
    private struct State {
        var startedAt: Int64 = 0
        var connectedAt: Int64?
        var firstFrameAt: Int64?
        var lastFrameAt: Int64?
        var frames = 0
        var recent: [Int64] = []
        var lastFrame: VideoFrame?
        var stats: ConnectionStats?
        var status: ReactorStatus = .disconnected
        var sessionID: String?
        var counters: TrackCounters?
    }

    private let state = Mutex(State())

    func start() { state.withLock { $0.startedAt = Reactor.timeMicros() } }

    func connected(sessionID: String?) {
        state.withLock {
            $0.connectedAt = Reactor.timeMicros()
            $0.sessionID = sessionID
        }
    }

    func received(_ frame: VideoFrame) {
        let now = Reactor.timeMicros()
        state.withLock { state in
            state.frames += 1
            state.firstFrameAt = state.firstFrameAt ?? now
            state.lastFrameAt = now
            state.lastFrame = frame
            state.recent.append(now)
            if state.recent.count > 30 { state.recent.removeFirst() }
        }
    }

    func update(_ stats: ConnectionStats) { state.withLock { $0.stats = stats } }

    func note(status: ReactorStatus, sessionID: String?, counters: TrackCounters?) {
        state.withLock { state in
            state.status = status
            state.sessionID = sessionID ?? state.sessionID
            state.counters = counters ?? state.counters
        }
    }

    func isOver(after seconds: Double) -> Bool {
        state.withLock { state in
            // A track that never starts ends the watching as well.
            guard let begin = state.firstFrameAt ?? state.connectedAt.map({ $0 + 5_000_000 }) else { return false }
            return Double(Reactor.timeMicros() - begin) / 1e6 >= seconds
        }
    }

    var frames: Int { state.withLock { $0.frames } }
    var lastFrame: VideoFrame? { state.withLock { $0.lastFrame } }

    var statusLine: String {
        state.withLock { state in
            var parts = [state.status.rawValue]
            if let first = state.recent.first, let last = state.recent.last, last > first {
                parts.append("\(Self.number(Double(state.recent.count - 1) * 1e6 / Double(last - first), 1)) fps")
            }
            if let frame = state.lastFrame { parts.append("\(frame.width)x\(frame.height)") }
            if let stats = state.stats {
                if let rate = stats.incomingBitrateBPS { parts.append("\(Self.number(rate / 1e6, 2)) Mbit/s") }
                if let rtt = stats.rttMS { parts.append("rtt \(Self.number(rtt, 1)) ms") }
                if let video = stats.video, video.framesDecoded > 0 {
                    let frames = Double(video.framesDecoded)
                    parts.append("assembly \(Self.number(video.totalAssemblyTimeSeconds * 1000 / frames, 1)) ms")
                    parts.append("decode \(Self.number(video.totalDecodeTimeSeconds * 1000 / frames, 1)) ms")
                    parts.append("lost \(video.packetsLost)")
                }
            }
            parts.append("frame \(state.frames)")
            return parts.joined(separator: "  ")
        }
    }

    func summary(snapshot: String?) -> String {
        let value = json(failure: nil)
        func text(_ key: String, _ digits: Int = 0) -> String { value[key]?.doubleValue.map { Self.number($0, digits) } ?? "?" }
        var lines = [
            "session   \(value["session_id"]?.stringValue ?? "?")",
            "video     \(text("width"))x\(text("height")) \(value["codec"]?.stringValue ?? "?"), \(text("fps", 1)) fps, "
                + "\(text("frames")) frames, \(text("dropped")) dropped",
            "times     connected after \(text("connect_ms")) ms, first frame after \(text("first_frame_ms")) ms",
            "network   \(value["bitrate_bps"]?.doubleValue.map { Self.number($0 / 1e6, 2) } ?? "?") Mbit/s, rtt \(text("rtt_ms", 1)) ms, "
                + "\(text("packets_received")) packets, \(text("packets_lost")) lost, \(text("nacks")) nacks, \(text("plis")) plis",
            "process   \(text("cpu_seconds", 2)) CPU seconds, \(value["max_rss_kb"]?.doubleValue.map { Self.number($0 / 1024, 0) } ?? "?") MB",
        ]
        if let snapshot { lines.append("snapshot  \(snapshot)") }
        return lines.joined(separator: "\n")
    }

    func json(failure: (any Error)?) -> JSONValue {
        state.withLock { state in
            func optional(_ value: Double?) -> JSONValue { value.map { .number(($0 * 100).rounded() / 100) } ?? .null }
            let video = state.stats?.video
            var result: [String: JSONValue] = [
                "status": .string(failure == nil ? "ok" : "failed"),
                "session_id": state.sessionID.map(JSONValue.string) ?? .null,
                "connect_ms": optional(state.connectedAt.map { Double($0 - state.startedAt) / 1000 }),
                "first_frame_ms": optional(state.firstFrameAt.map { Double($0 - state.startedAt) / 1000 }),
                "frames": .number(Double(state.frames)),
                "width": state.lastFrame.map { .number(Double($0.width)) } ?? .null,
                "height": state.lastFrame.map { .number(Double($0.height)) } ?? .null,
                "codec": video?.codec.map(JSONValue.string) ?? .null,
                "dropped": state.counters.map { .number(Double($0.dropped)) } ?? .null,
                "packets_received": video.map { .number(Double($0.packetsReceived)) } ?? .null,
                "packets_lost": video.map { .number(Double($0.packetsLost)) } ?? .null,
                "nacks": video.map { .number(Double($0.nackCount)) } ?? .null,
                "plis": video.map { .number(Double($0.pliCount)) } ?? .null,
                "rtt_ms": optional(state.stats?.rttMS),
                "cpu_seconds": optional(ProcessUsage.cpuSeconds),
                "max_rss_kb": .number(Double(ProcessUsage.maxResidentKB)),
            ]
            var fps: Double?
            var bitrate: Double?
            if let first = state.firstFrameAt, let last = state.lastFrameAt, last > first {
                let seconds = Double(last - first) / 1e6
                fps = Double(state.frames - 1) / seconds
                bitrate = video.map { Double($0.bytesReceived) * 8 / seconds }
            }
            result["fps"] = optional(fps)
            result["bitrate_bps"] = bitrate.map { .number($0.rounded()) } ?? .null
            if let error = failure as? ReactorError {
                result["error"] = .object(["code": .string(error.code.rawValue), "message": .string(error.message)])
            } else if let error = failure as? CommandFailure {
                result["error"] = .object(["code": .string("INTERNAL_ERROR"), "message": .string(error.message)])
            }
            return .object(result)
        }
    }

    private static func number(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}

extension ConnectionStats {
    /// The received video stream with the most frames.
    var video: InboundStream? {
        inbound.filter { $0.kind == "video" }.max { $0.framesDecoded < $1.framesDecoded }
    }
}
