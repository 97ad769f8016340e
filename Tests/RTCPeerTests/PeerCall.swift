import PeerTestSupport
import RTCBase
import RTCPeer
import Synchronization

/// A `PeerConnection` and the answering end it talks to over loopback.
final class PeerCall: Sendable {
    static let tracks = [
        TrackDeclaration(name: "main_video", kind: .video, direction: .recvonly),
        TrackDeclaration(name: "main_audio", kind: .audio, direction: .recvonly),
        TrackDeclaration(name: "webcam", kind: .video, direction: .sendonly),
    ]
    static let videoMid = "0"
    static let audioMid = "1"

    let connection: PeerConnection
    let peer: AnsweringPeer
    let events: EventLog
    let remoteTracks: [String: RemoteTrack]
    let applied: AppliedAnswer
    /// A consumer of the video that was there before the connection.
    let firstConsumer: RemoteTrack.VideoConsumer?

    init(
        options: AnsweringCore.Options = AnsweringCore.Options(), editOffer: (String) -> String = { $0 },
        edit: (String) -> String = { $0 },
        configure: (inout PeerConfiguration) -> Void = { _ in }
    ) async throws {
        var configuration = PeerConfiguration()
        configuration.firstMessages = [("control", [0x10, 0x03, 0x52, 0x00])]
        configure(&configuration)
        var remotes: [String: RemoteTrack] = [:]
        for track in Self.tracks where track.direction == .recvonly { remotes[track.name] = RemoteTrack(name: track.name) }
        remoteTracks = remotes
        firstConsumer = remotes["main_video"]?.addVideoConsumer()
        let log = EventLog()
        events = log
        connection = try await PeerConnection(configuration: configuration, tracks: Self.tracks, remoteTracks: remotes) {
            log.append($0)
        }
        let offer = try await connection.makeOffer()
        peer = try AnsweringPeer(offer: editOffer(offer.sdp), options: options)
        applied = try await connection.apply(answer: edit(peer.answer))
    }

    var video: RemoteTrack { get throws { try remote("main_video") } }
    var audio: RemoteTrack { get throws { try remote("main_audio") } }

    private func remote(_ name: String) throws -> RemoteTrack {
        guard let track = remoteTracks[name] else { throw CancellationError() }
        return track
    }

    /// Both channels are open on both ends.
    func waitUntilOpen() async -> Bool {
        await eventually {
            let atPeer = await peer.run { $0.openedLabels }
            return events.openedLabels.count == 2 && atPeer.count == 2
        }
    }

    func end() async {
        await connection.close()
        await peer.close()
    }
}

/// Every event of a connection, with when it came.
final class EventLog: Sendable {
    private let entries = Mutex<[(event: PeerEvent, time: MonotonicTime)]>([])

    func append(_ event: PeerEvent) { entries.withLock { $0.append((event, NetworkThread.now())) } }

    var all: [PeerEvent] { entries.withLock { $0.map(\.event) } }

    /// The kinds in order, candidates and warnings left out.
    var names: [String] {
        all.compactMap { event in
            switch event {
            case .iceConnected: "ice"
            case .dtlsConnected: "dtls"
            case .channelOpened(let label): "open \(label)"
            case .channelClosed(let label): "close \(label)"
            case .message(let channel, _, _): "message \(channel)"
            case .mediaStarted(let track): "media \(track)"
            case .lost(let loss): "lost \(loss.cause.rawValue)"
            case .localCandidate, .gatheringDone, .warning: nil
            }
        }
    }

    var openedLabels: [String] {
        all.compactMap { if case .channelOpened(let label) = $0 { label } else { nil } }
    }

    var messages: [AnsweringCore.Message] {
        all.compactMap {
            guard case .message(let channel, let isText, let bytes) = $0 else { return nil }
            return AnsweringCore.Message(channel: channel, isText: isText, bytes: bytes)
        }
    }

    var losses: [(loss: PeerLoss, time: MonotonicTime)] {
        entries.withLock { entries in
            entries.compactMap { if case .lost(let loss) = $0.event { (loss, $0.time) } else { nil } }
        }
    }
}
