import PeerTestSupport
import RTCBase
import RTCPeer
import Reactor
import ReactorCore
import Synchronization

@testable import ReactorTesting

/// A client below HTTP: a peer connection and the runtime's service. It sends what it is told and keeps what comes.
final class RawClient: Sendable {
    let core: RuntimeCore
    let peer: PeerConnection
    let connectionID: Int
    private let log: Log

    typealias Track = RTCPeer.LocalTrack

    final class Log: Sendable {
        let entries = Mutex<[PeerEvent]>([])
        func append(_ event: PeerEvent) { entries.withLock { $0.append(event) } }
    }

    /// - Parameters:
    ///   - id: of the connection; nil registers one.
    ///   - greets: sends a ping as the first frame, as our client does.
    ///   - chunks: takes messages above 256 KiB.
    init(
        _ core: RuntimeCore, id: Int? = nil, greets: Bool = true, chunks: Bool = true,
        localTracks: [String: RTCPeer.LocalTrack] = [:], remoteTracks: [String: RemoteTrack] = [:]
    ) async throws {
        self.core = core
        var configuration = PeerConfiguration()
        if !chunks { configuration.chunkingMaxMessageBytes = nil }
        if greets {
            let ping = try ControlClientMessage.notification(.ping).encode()
            configuration.firstMessages = [("control", ping)]
        }
        let tracks = core.model.tracks.map {
            TrackDeclaration(
                name: $0.name, kind: $0.kind == .video ? .video : .audio, direction: $0.direction == .sendonly ? .sendonly : .recvonly)
        }
        let log = Log()
        self.log = log
        peer = try await PeerConnection(
            configuration: configuration, tracks: tracks, remoteTracks: remoteTracks, localTracks: localTracks
        ) { log.append($0) }
        let offer = try await peer.makeOffer()
        if let id {
            connectionID = id
        } else {
            connectionID = try await core.registerConnection()["connection_id"]?.intValue ?? 0
        }
        let mapping = zip(core.model.tracks, offer.sections).map { track, section in
            SDPOfferBody.TrackMapping(
                track: DeclaredTrack(
                    name: track.name, kind: track.kind == .video ? .video : .audio,
                    direction: track.direction == .sendonly ? .sendonly : .recvonly),
                mid: section.mid)
        }
        try await core.offer(
            OfferRequest(sdp: offer.sdp, trackMapping: mapping), connection: connectionID)
        guard let answer = try await core.answer(connection: connectionID) else { throw CancellationError() }
        _ = try await peer.apply(answer: answer)
    }

    /// An offer of a client that nobody will hear of again.
    static func makeOffer() async throws -> String {
        let peer = try await PeerConnection(configuration: PeerConfiguration(), tracks: [], remoteTracks: [:]) { _ in }
        let offer = try await peer.makeOffer()
        await peer.close()
        return offer.sdp
    }

    var events: [PeerEvent] { log.entries.withLock { $0 } }
    var openedLabels: Set<String> {
        Set(events.compactMap { if case .channelOpened(let label) = $0 { label } else { nil } })
    }
    var isOpen: Bool { openedLabels.count == 2 }
    var isLost: Bool { events.contains { if case .lost = $0 { true } else { false } } }

    /// What came, decoded.
    var messages: [ServerMessage] {
        frames.compactMap { frame in
            try? ServerFrameDecoder.decode(channel: frame.channel, isText: frame.isText, bytes: frame.bytes)
        }
    }
    var frames: [(channel: MessageChannel, isText: Bool, bytes: [UInt8])] {
        events.compactMap { event in
            guard case .message(let label, let isText, let bytes) = event else { return nil }
            return (MessageChannel(rawValue: label) ?? .data, isText, bytes)
        }
    }
    var texts: [String] { frames.filter(\.isText).map { String(decoding: $0.bytes, as: UTF8.self) } }

    func waitUntilOpen() async -> Bool { await eventually { self.isOpen } }

    func control(_ payload: ControlClientPayload, id: String = "", kind: MessageKind = .notification) async throws {
        try await peer.send(ControlClientMessage(requestID: id, kind: kind, payload: payload).encode(), channel: "control")
    }

    func command(_ type: String, _ data: WireValue = .object([:]), id: String = "data_1", kind: MessageKind = .request) async throws {
        let command = try Command(type: type, data: data)
        try await peer.send(DataClientMessage(requestID: id, kind: kind, payload: .command(command)).encode(), channel: "data")
    }

    /// The first reply with this id.
    func reply(_ id: String) async -> ServerMessage.Content? {
        _ = await eventually { self.messages.contains { $0.requestID == id } }
        return messages.first { $0.requestID == id }?.content
    }
}

extension LocalRuntime {
    /// The core, with a session that waits for clients.
    func startedCore() async throws -> RuntimeCore {
        _ = try await core.startSession(sessionID: nil)
        return core
    }
}

extension RuntimeCore {
    /// A connection has the track resumed.
    func isSending(_ track: String) -> Bool { connections.values.contains { $0.outputs[track]?.isPublished == true } }

    /// Frames that came on a track from connections that do not hold it.
    func refusedFrames(_ track: String) -> UInt64 {
        connections.values.reduce(0) { $0 + ($1.inputs[track]?.counts.dropped ?? 0) }
    }
}
