internal import RTCBase
internal import RTCPeer
internal import Synchronization

/// Everything a synchronous reader of the client can see, behind one lock that is held for a few loads or stores.
///
/// The engine writes it on the network thread; the client and its tracks read it from anywhere. It is one lock and not
/// several atomics because some rules span fields (T-13).
final class ClientState: Sendable {
    struct Snapshot {
        var status: ReactorStatus = .disconnected
        var sessionID: String?
        var declarations: [TrackDeclaration] = []
        var mids: [String: String] = [:]
        var paused: Set<String> = []
        /// Tracks this client sends now. Never holds anything while the status is another than ready (T-13).
        var published: Set<String> = []
        /// Given up by `unpublish()` on the caller's thread; the engine has still to hear of it.
        var unpublishing: Set<String> = []
        /// A notification can be sent.
        var isControlOpen = false
        var isClosed = false
        var isReleased = false
        var timing = ConnectTiming()
    }

    private struct Registry {
        var tracks: [String: Track] = [:]
        var isFinished = false
    }

    /// What the streams of the tracks were told last.
    private struct Announced {
        var paused: Set<String> = []
        var published: Set<String> = []
    }

    private struct EngineReference: Sendable { weak var engine: SessionEngine? }

    private let snapshot = Mutex(Snapshot())
    private let registry = Mutex(Registry())
    private let announced = Mutex(Announced())
    private let engineReference = Mutex(EngineReference())
    let hub: EventHub

    init(hub: EventHub) { self.hub = hub }

    // MARK: Readers

    func read<R>(_ body: (Snapshot) -> R) -> R { snapshot.withLock { body($0) } }

    var isClosed: Bool { snapshot.withLock { $0.isClosed } }
    /// The client exists and was not closed.
    var isAlive: Bool { snapshot.withLock { !$0.isClosed && !$0.isReleased } }

    func declaration(of name: String) -> TrackDeclaration? {
        snapshot.withLock { state in state.isClosed ? nil : state.declarations.first { $0.name == name } }
    }

    func mid(of name: String) -> String? { snapshot.withLock { $0.isClosed ? nil : $0.mids[name] } }
    func isPaused(_ name: String) -> Bool { snapshot.withLock { !$0.isClosed && $0.paused.contains(name) } }
    func isPublished(_ name: String) -> Bool { snapshot.withLock { $0.published.contains(name) } }

    /// What a push has to know, read in one piece.
    struct Standing: Sendable {
        var isAlive: Bool
        var declaration: TrackDeclaration?
        var isPublished: Bool
    }

    func standing(of name: String) -> Standing {
        snapshot.withLock { state in
            Standing(
                isAlive: !state.isClosed && !state.isReleased, declaration: state.declarations.first { $0.name == name },
                isPublished: state.published.contains(name))
        }
    }

    enum UnpublishStart: Sendable {
        case notPublished
        /// There is no way to tell the far end.
        case noChannel
        /// No longer published as far as readers see; the engine is to be told.
        case begun
    }

    func beginUnpublish(_ name: String) -> UnpublishStart {
        let start: UnpublishStart = snapshot.withLock { state in
            guard state.published.contains(name) else { return .notPublished }
            guard state.isControlOpen else { return .noChannel }
            state.published.remove(name)
            state.unpublishing.insert(name)
            return .begun
        }
        if case .begun = start { announceTrackChanges() }
        return start
    }

    /// How long the latest connect took, with the first picture of any video track.
    var timings: ConnectionTimings {
        let timing = snapshot.withLock { $0.timing }
        let first = declaredTracks.compactMap { $0.remote.firstFrameTime }.min()
        return timing.timings(firstFrame: first)
    }

    // MARK: Writers

    func write(_ body: (inout Snapshot) -> Void) { snapshot.withLock { body(&$0) } }

    /// Tells the tracks' streams what changed. After each write of `paused` or `published`, from any thread: the snapshot is read
    /// again under a lock of its own, so that every stream sees changes in one order and ends on the last.
    func announceTrackChanges() {
        announced.withLock { announced in
            let (paused, published) = snapshot.withLock { ($0.paused, $0.published) }
            for name in paused.symmetricDifference(announced.paused) {
                track(named: name).pausedChanges.send(paused.contains(name))
            }
            for name in published.symmetricDifference(announced.published) {
                track(named: name).publishedChanges.send(published.contains(name))
            }
            announced = Announced(paused: paused, published: published)
        }
    }

    // MARK: Engine

    /// The engine is owned by the client; tracks reach it through here and do not keep it.
    var engine: SessionEngine? { engineReference.withLock { $0.engine } }
    func attach(_ engine: SessionEngine) { engineReference.withLock { $0.engine = engine } }

    // MARK: Tracks

    /// The one object for a name, made on first use. After the end of the client an unregistered one that is
    /// finished: a track refers to this object, so a registered one would keep both alive for ever.
    func track(named name: String) -> Track {
        let (track, isFinished) = registry.withLock { registry in
            if let track = registry.tracks[name] { return (track, false) }
            let track = Track(name: name, state: self)
            if !registry.isFinished { registry.tracks[name] = track }
            return (track, registry.isFinished)
        }
        if isFinished { track.finish() }
        return track
    }

    /// The declared tracks, in declaration order.
    var declaredTracks: [Track] {
        let names = snapshot.withLock { $0.isClosed ? [] : $0.declarations.map(\.name) }
        return names.map { track(named: $0) }
    }

    /// Ends every frame sequence and lets go of the tracks; the client is closed or gone.
    func finishTracks() {
        let tracks = registry.withLock { registry in
            registry.isFinished = true
            defer { registry.tracks.removeAll() }
            return Array(registry.tracks.values)
        }
        for track in tracks { track.finish() }
    }
}
