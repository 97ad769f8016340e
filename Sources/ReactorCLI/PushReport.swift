internal import Foundation
internal import Reactor
internal import Synchronization

/// What `reactor push` has sent so far.
final class PushReport: Sendable {
    fileprivate struct State {
        var startedAt: Int64 = 0
        var connectedAt: Int64?
        var firstPushAt: Int64?
        var lastPushAt: Int64?
        var frames = 0
        var audioSeconds = 0.0
        var sessionID: String?
        var status = ReactorStatus.disconnected
        var track: Track?
        var counters: TrackCounters?
        var stats: ConnectionStats?
        /// Of the frames sent; the statistics of a track that was unpublished name none.
        var size: (width: Int, height: Int)?
        var hasAudio = false
    }

    private let state = Mutex(State())

    func start() { state.withLock { $0.startedAt = Reactor.timeMicros() } }

    func connected(_ reactor: Reactor, video: Track, audio: Track?) {
        state.withLock { state in
            state.connectedAt = Reactor.timeMicros()
            state.sessionID = reactor.sessionID
            state.track = video
            state.hasAudio = audio != nil
        }
    }

    func pushedFrame() {
        let now = Reactor.timeMicros()
        state.withLock { state in
            state.frames += 1
            state.firstPushAt = state.firstPushAt ?? now
            state.lastPushAt = now
        }
    }

    func pushedAudio(seconds: Double) { state.withLock { $0.audioSeconds += seconds } }
    func update(_ stats: ConnectionStats) {
        state.withLock { state in
            state.stats = stats
            if let video = state.video, video.frameWidth > 0 { state.size = (video.frameWidth, video.frameHeight) }
        }
    }

    func note(_ reactor: Reactor) {
        let status = reactor.status
        state.withLock { state in
            state.status = status
            state.counters = state.track?.counters ?? state.counters
        }
    }

    var hasPushed: Bool { state.withLock { $0.frames > 0 || $0.audioSeconds > 0 } }

    /// Since the first picture, or since the connect for somebody who waits for one.
    var seconds: Double {
        state.withLock { state in
            guard let begin = state.firstPushAt ?? state.connectedAt else { return 0 }
            return Double(Reactor.timeMicros() - begin) / 1e6
        }
    }

    /// The encoder has dealt with everything.
    func isSent(_ track: Track) -> Bool {
        let counters = track.counters
        return counters.encoded + counters.replacedBeforeEncoding >= counters.pushed
    }

    var statusLine: String {
        state.withLock { state in
            var parts = [state.status.rawValue, "frame \(state.frames)"]
            if let first = state.firstPushAt, let last = state.lastPushAt, last > first {
                parts.append(String(format: "%.1f fps", Double(state.frames - 1) * 1e6 / Double(last - first)))
            }
            if let size = state.size { parts.append("\(size.width)x\(size.height) \(state.video?.codec ?? "")") }
            if let rate = state.stats?.outgoingBitrateBPS { parts.append(String(format: "%.2f Mbit/s", rate / 1e6)) }
            if let rtt = state.stats?.rttMS { parts.append(String(format: "rtt %.1f ms", rtt)) }
            if let counters = state.counters { parts.append("skipped \(counters.replacedBeforeEncoding)") }
            if state.hasAudio { parts.append(String(format: "audio %.1f s", state.audioSeconds)) }
            return parts.joined(separator: "  ")
        }
    }

    var summary: String {
        let value = json
        func text(_ key: String, _ digits: Int = 0) -> String {
            value[key]?.doubleValue.map { String(format: "%.\(digits)f", $0) } ?? "?"
        }
        return [
            "session   \(value["session_id"]?.stringValue ?? "?")",
            "video     \(text("frames")) frames pushed at \(text("fps", 1)) fps, \(text("encoded")) sent, \(text("skipped")) skipped, "
                + "\(text("width"))x\(text("height")) \(value["codec"]?.stringValue ?? "?")",
            "audio     \(text("audio_seconds", 1)) s",
            "network   \(value["bitrate_bps"]?.doubleValue.map { String(format: "%.2f", $0 / 1e6) } ?? "?") Mbit/s, "
                + "rtt \(text("rtt_ms", 1)) ms, \(text("packets_sent")) packets, \(text("packets_lost")) lost",
        ].joined(separator: "\n")
    }

    var json: [String: JSONValue] {
        state.withLock { state in
            func number(_ value: Double?, _ scale: Double = 100) -> JSONValue {
                value.map { .number(($0 * scale).rounded() / scale) } ?? .null
            }
            let seconds = state.firstPushAt.flatMap { first in state.lastPushAt.map { Double($0 - first) / 1e6 } }
            let video = state.video
            let fps = seconds.flatMap { $0 > 0 ? Double(state.frames - 1) / $0 : nil }
            let bitrate = seconds.flatMap { seconds in seconds > 0 ? video.map { Double($0.bytesSent) * 8 / seconds } : nil }
            return [
                "session_id": state.sessionID.map(JSONValue.string) ?? .null,
                "connect_ms": number(state.connectedAt.map { Double($0 - state.startedAt) / 1000 }),
                "frames": .number(Double(state.frames)), "fps": number(fps), "seconds": number(seconds),
                "encoded": number(state.counters.map { Double($0.encoded) }),
                "skipped": number(state.counters.map { Double($0.replacedBeforeEncoding) }),
                "width": number(state.size.map { Double($0.width) }), "height": number(state.size.map { Double($0.height) }),
                "codec": video?.codec.map(JSONValue.string) ?? .null, "bitrate_bps": number(bitrate, 1),
                "packets_sent": number(video.map { Double($0.packetsSent) }),
                "packets_lost": number(video.map { Double($0.packetsLost) }), "rtt_ms": number(state.stats?.rttMS),
                "audio_seconds": number(state.audioSeconds),
            ]
        }
    }
}

extension PushReport.State {
    fileprivate var video: ConnectionStats.OutboundStream? { stats?.outbound.first { $0.kind == "video" } }
}
