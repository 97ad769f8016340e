import Foundation
import Synchronization

/// WebRTC peers that nobody in this project wrote, each started by a script in `Peers`.
enum OtherPeer: String, Sendable, CaseIterable {
    case aiortc, chromium, gstreamer

    /// Who offers; the other end answers.
    enum Role: String, Sendable, CaseIterable { case weOffer, weAnswer }

    /// `setup-peers` has made it, with `--with-chromium` and `--with-gst`.
    var isInstalled: Bool {
        switch self {
        case .aiortc:
            let home = Settings.environment["PEERS_DIR"] ?? (Settings.environment["TMPDIR"] ?? "/tmp") + "/reactor-peers"
            return FileManager.default.fileExists(atPath: home + "/trixie/opt/rt/.done")
        case .chromium: return Self.finds(Settings.environment["CHROMIUM"] ?? "chromium")
        case .gstreamer: return Self.finds("gst-inspect-1.0") && FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/gi")
        }
    }

    var missing: String { "\(rawValue) is not installed: Tests/Interop/Peers/setup-peers --with-chromium --with-gst" }

    /// The tone it sends, in Hz.
    var toneHertz: Double {
        switch self {
        case .aiortc: 440
        case .chromium: 880
        case .gstreamer: 660
        }
    }

    /// Starts it as a client of `signalling`. It ends by itself `seconds` after it connected.
    func start(_ role: Role, signalling: String, seconds: Double, codec: String, options: [String] = []) throws -> ChildProcess {
        let own = role == .weOffer ? "answer" : "offer"
        let common = ["--role", own, "--seconds", String(seconds)] + options
        switch self {
        case .aiortc:
            return try ChildProcess("\(RuntimeProcess.peers)/aiortc-peer", ["--connect", signalling, "--wait", "20"] + common)
        case .chromium:
            return try ChildProcess("\(RuntimeProcess.peers)/browser-peer", [signalling, "--codec", codec] + common)
        case .gstreamer:
            return try ChildProcess(
                "\(RuntimeProcess.peers)/gst-peer", ["--connect", signalling, "--codec", codec, "--wait", "20"] + common)
        }
    }

    private static func finds(_ program: String) -> Bool {
        if program.hasPrefix("/") { return FileManager.default.isExecutableFile(atPath: program) }
        return (Settings.environment["PATH"] ?? "").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
        }
    }
}

/// What a peer says it saw, in the words that all three have in common.
struct OtherPeerReport: Sendable {
    var state = ""
    var videoFrames = 0
    var unreadFrames = 0
    /// First and last frame number it read, and how many between them it did not.
    var counters: [Int] = []
    var missing = 0
    var sizes: [[Int]] = []
    /// The loudest pitch it heard; nil when the peer does not tell.
    var audioHertz: Double?
    /// Audio in pieces of the peer's own kind; 0 when it heard nothing.
    var audioPieces = 0
    var channelMessages = 0
    /// Of its pings that were answered.
    var roundTripMilliseconds: Double?
    /// Of the frames it read.
    var latencyMilliseconds: Double?
    var text = ""

    init(_ output: String) throws {
        // Anything may stand before and behind the report, on the same pipe.
        guard let start = output.range(of: "{\n"), let end = output.range(of: "\n}", options: .backwards),
            let object = try JSONSerialization.jsonObject(with: Data(output[start.lowerBound..<end.upperBound].utf8)) as? [String: Any]
        else { throw ChildProcess.Failure(description: "no report in: \(output.suffix(1500))") }
        func number(_ names: String...) -> Double? { names.lazy.compactMap { (object[$0] as? NSNumber)?.doubleValue }.first }
        func median(_ name: String) -> Double? { ((object[name] as? [String: Any])?["p50"] as? NSNumber)?.doubleValue }
        text = output
        state = object["state"] as? String ?? ""
        videoFrames = Int(number("video_frames", "frames") ?? 0)
        unreadFrames = Int(number("unread") ?? 0)
        counters = (object["counters"] as? [NSNumber])?.map(\.intValue) ?? []
        missing = Int(number("missing") ?? 0)
        sizes = (object["sizes"] as? [[NSNumber]])?.map { $0.suffix(2).map(\.intValue) } ?? []
        audioHertz = number("audio_hz", "audioHz")
        audioPieces = Int(number("audio_samples", "audio_buffers", "audioHz") ?? 0)
        channelMessages = Int(number("dc_messages", "dcMessages") ?? 0)
        roundTripMilliseconds = number("dc_rtt_ms") ?? median("dcRtt")
        latencyMilliseconds = number("latency_ms") ?? median("latency")
    }
}
