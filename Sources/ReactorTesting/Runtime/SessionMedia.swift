internal import RTCBase
internal import RTCCodec
internal import RTCPeer
internal import Reactor
internal import Synchronization

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The media of one session: who gets what the model pushes, and where its inputs come together. Any thread.
final class SessionMedia: Sendable {
    private struct State {
        /// Of all connections, by track name.
        var outputs: [String: [RTCPeer.LocalTrack]] = [:]
        var hasEnded = false
    }

    private let declared: [String: LocalTrack]
    /// What clients send, by track name; the holder of a track gets through.
    let inputs: [String: RemoteTrack]
    private let recorder: SessionRecorder?
    /// What is recorded: the first track of each kind that the model sends.
    private let recorded: Set<String>
    private let pool = FrameBufferPool(maxCached: 4, memory: .heap)
    private let state = Mutex(State())

    init(tracks: [LocalTrack], recorder: SessionRecorder?) {
        declared = Dictionary(tracks.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        inputs = declared.filter { $0.value.direction == .sendonly }.mapValues { RemoteTrack(name: $0.name) }
        self.recorder = recorder
        let outputs = tracks.filter { $0.direction == .recvonly }
        recorded = Set(TrackKind.allCases.compactMap { kind in outputs.first { $0.kind == kind }?.name })
    }

    // MARK: Connections

    func add(_ tracks: [String: RTCPeer.LocalTrack]) {
        state.withLock { state in
            for (name, track) in tracks { state.outputs[name, default: []].append(track) }
        }
    }

    func remove(_ tracks: [String: RTCPeer.LocalTrack]) {
        state.withLock { state in
            for (name, track) in tracks { state.outputs[name]?.removeAll { $0 === track } }
        }
    }

    /// The session is over: pushes throw, and sequences of inputs end.
    func end() {
        state.withLock { state in
            state.hasEnded = true
            state.outputs = [:]
        }
        for input in inputs.values { input.finish() }
        recorder?.finish()
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    // MARK: The model's side

    func push(_ frame: OutgoingVideoFrame, to name: String) throws {
        let takers = try takers(of: name, kind: .video, operation: "pushVideo")
        let expected = frame.format.byteCount(width: frame.width, height: frame.height)
        guard let expected, frame.width <= Self.longestSide, frame.height <= Self.longestSide else {
            throw ReactorError(
                .badRequest, "a picture of \(frame.width) x \(frame.height) pixels cannot be sent; a side has 1 to \(Self.longestSide)",
                operation: "pushVideo")
        }
        guard frame.pixels.count == expected else {
            throw ReactorError(
                .badRequest,
                "\(frame.pixels.count) bytes do not fit \(frame.width) x \(frame.height) pixels of \(frame.format.rawValue), which are \(expected)",
                operation: "pushVideo")
        }
        if let time = frame.captureTimeUs, time < 0 {
            throw ReactorError(
                .badRequest, "the capture time is \(time) us; it is a value of Reactor.timeMicros()", operation: "pushVideo")
        }
        let recorder = recorded.contains(name) ? self.recorder : nil
        guard !takers.isEmpty || recorder != nil else { return }
        let picture = frame.pixels.withUnsafeBytes {
            PixelConverter.toI420($0, layout: frame.format.layout, width: Int(frame.width), height: Int(frame.height), pool: pool)
        }
        guard let picture else { return }
        recorder?.push(picture)
        var metadata = FrameMetadata(captureTimeMicros: frame.captureTimeUs.map(UInt64.init) ?? 0)
        if let userData = frame.userData, !userData.isEmpty { metadata.userData = FrameUserData([UInt8](userData)) }
        for taker in takers { taker.push(picture, metadata: metadata) }
    }

    func push(_ samples: [Int16], to name: String) throws {
        let takers = try takers(of: name, kind: .audio, operation: "pushAudio")
        samples.withUnsafeBufferPointer { buffer in
            if recorded.contains(name) { recorder?.push(samples: buffer) }
            for taker in takers { taker.push(samples: buffer, sampleRate: 48_000, channels: 1) }
        }
    }

    func input(_ name: String, kind: TrackKind, operation: String) throws -> RemoteTrack {
        _ = try declaration(name, kind: kind, direction: .sendonly, operation: operation)
        guard let input = inputs[name] else { throw CancellationError() }
        return input
    }

    /// The connections that want the track now.
    private func takers(of name: String, kind: TrackKind, operation: String) throws -> [RTCPeer.LocalTrack] {
        _ = try declaration(name, kind: kind, direction: .recvonly, operation: operation)
        let (outputs, hasEnded) = state.withLock { ($0.outputs[name] ?? [], $0.hasEnded) }
        if hasEnded { throw ReactorError(.sessionTerminal, "the session has ended", operation: operation) }
        return outputs.filter(\.isPublished)
    }

    private func declaration(
        _ name: String, kind: TrackKind, direction: TrackDirection, operation: String
    ) throws -> LocalTrack {
        guard let track = declared[name] else {
            let names = declared.keys.sorted().joined(separator: ", ")
            throw ReactorError(.notFound, "the model declares no track '\(name)'; it declares: \(names)", operation: operation)
        }
        guard track.kind == kind else {
            throw ReactorError(
                .invalidState, "track '\(name)' carries \(track.kind.rawValue), not \(kind.rawValue)", operation: operation)
        }
        guard track.direction == direction else {
            let sentence =
                direction == .recvonly ? "comes from clients; the model receives on it" : "goes to clients; the model sends on it"
            throw ReactorError(.invalidState, "track '\(name)' \(sentence)", operation: operation)
        }
        return track
    }

    /// 14 bits in the frame header of VP8 (RFC 6386 §9.1).
    private static let longestSide: UInt32 = 16_383
}
