internal import RTCBase
internal import RTCPeer
internal import Synchronization

/// A handle onto one named media slot that the model declared: one type for both directions and both kinds.
///
/// Get it with ``Reactor/track(_:)`` or from ``Reactor/tracks``. It holds its client weakly, so a track parked in a view
/// model does not keep a session alive. The same name gives the same object for the life of a client, also over
/// reconnects. A method that does not fit the track's kind or direction throws; nothing is a silent no-op.
public actor Track {
    /// The declared name. Never changes.
    public nonisolated let name: String

    nonisolated let state: ClientState
    nonisolated let remote: RemoteTrack
    nonisolated let outgoing = OutgoingSlot()
    nonisolated let pausedChanges = Broadcaster<Bool>()
    nonisolated let publishedChanges = Broadcaster<Bool>()
    private nonisolated let delivery = DeliverySlot()

    init(name: String, state: ClientState) {
        self.name = name
        self.state = state
        remote = RemoteTrack(name: name)
    }

    /// `.video` or `.audio`; `nil` before the session has declared its tracks.
    public nonisolated var kind: TrackKind? { state.declaration(of: name)?.kind.publicKind }

    /// From this client's point of view: `.sendonly` means that this client sends. `nil` before the session has declared
    /// its tracks.
    public nonisolated var direction: TrackDirection? { state.declaration(of: name)?.direction.publicDirection }

    /// The SDP media id, once the track has been received. Read live: it follows a reconnect.
    public nonisolated var mid: String? { state.mid(of: name) }

    /// Whether this track is paused now. Read live, so it stays right across a reconnect.
    public nonisolated var paused: Bool { state.isPaused(name) }

    // MARK: Receiving

    /// The frames of this video track as an asynchronous sequence; the newest frame wins.
    ///
    /// - Throws: `ReactorError.invalidState` when the client is gone, and, once the session has declared its tracks, when
    ///   this is a track that sends or an audio track.
    public nonisolated var videoFrames: VideoFrames {
        get throws {
            try requireReceiving(.video, operation: "videoFrames")
            return VideoFrames(track: remote)
        }
    }

    /// The 10 ms blocks of this audio track as an asynchronous sequence; a late consumer finds up to 2 s of backlog.
    ///
    /// - Throws: `ReactorError.invalidState` when the client is gone, and, once the session has declared its tracks, when
    ///   this is a track that sends or a video track.
    public nonisolated var audioFrames: AudioFrames {
        get throws {
            try requireReceiving(.audio, operation: "audioFrames")
            return AudioFrames(track: remote, capacityBlocks: AudioFrames.defaultCapacityBlocks)
        }
    }

    /// Receives decoded video frames that can be kept.
    ///
    /// - Parameter handler: called inline on the track's delivery thread, one call after another. While it runs, only the
    ///   newest frame is kept: blocking here is the backpressure, and it delays neither other tracks nor the connection.
    /// - Returns: a token; releasing or cancelling it stops delivery. A call in progress finishes.
    /// - Throws: `ReactorError.invalidState` when the client is gone, the track sends, or it is an audio track.
    public nonisolated func onFrame(_ handler: @escaping @Sendable (VideoFrame) -> Void) throws -> Subscription {
        let frames = try videoFrames
        return deliver { mayDeliver in
            for await frame in frames where mayDeliver() { handler(frame) }
        }
    }

    /// Receives decoded audio in blocks of 10 ms.
    ///
    /// - Parameter handler: called inline on the track's delivery thread, one call after another. Blocks are queued while
    ///   it runs, up to 2 s.
    /// - Returns: a token; releasing or cancelling it stops delivery. A call in progress finishes.
    /// - Throws: `ReactorError.invalidState` when the client is gone, the track sends, or it is a video track.
    @_disfavoredOverload
    public nonisolated func onFrame(_ handler: @escaping @Sendable (AudioFrame) -> Void) throws -> Subscription {
        let frames = try audioFrames
        return deliver { mayDeliver in
            for await frame in frames where mayDeliver() { handler(frame) }
        }
    }

    /// Receives video frames without copying them.
    ///
    /// - Parameter handler: called as with ``onFrame(_:)-((VideoFrame)->Void)``; the frame's buffers are gone when it returns.
    /// - Returns: a token; releasing or cancelling it stops delivery. A call in progress finishes.
    /// - Throws: `ReactorError.invalidState` when the client is gone, the track sends, or it is an audio track.
    public nonisolated func onRawFrame(_ handler: @escaping @Sendable (borrowing RawVideoFrame) -> Void) throws -> Subscription {
        try requireReceiving(.video, operation: "onRawFrame")
        let remote = self.remote
        return deliver { mayDeliver in
            let consumer = remote.addVideoConsumer()
            while let picture = await consumer.next() {
                guard mayDeliver(), let pixels = picture.bgra() else { continue }
                Self.lend(picture, pixels: pixels.buffer, trackName: remote.name, to: handler)
            }
        }
    }

    private static func lend(
        _ picture: DecodedPicture, pixels: UnsafeRawBufferPointer, trackName: String,
        to handler: (borrowing RawVideoFrame) -> Void
    ) {
        let metadata = picture.planes.metadata
        func call(_ userData: UnsafeRawBufferPointer?) {
            handler(
                RawVideoFrame(
                    trackName: trackName, pixels: pixels, width: UInt32(picture.width), height: UInt32(picture.height),
                    frameID: metadata?.frameID ?? 0, captureTimeUs: metadata?.captureTimeMicros ?? 0, userData: userData))
        }
        withExtendedLifetime(picture) {
            if let userData = metadata?.userData, !userData.isEmpty {
                userData.withUnsafeBytes { call($0) }
            } else {
                call(nil)
            }
        }
    }

    /// What arrived, was delivered, was dropped and was sent on this track since the client was made.
    public nonisolated var counters: TrackCounters {
        let counts = remote.counts
        let sent = outgoing.current?.counts
        return TrackCounters(
            received: counts.received, delivered: counts.delivered, dropped: counts.dropped, pushed: sent?.pushed ?? 0,
            encoded: sent?.encoded ?? 0, replacedBeforeEncoding: sent?.dropped ?? 0)
    }

    // MARK: Pausing

    /// Asks the model to stop this track; nothing is generated for it until ``resume()``.
    ///
    /// Returns when the request is on its way; there is no reply. A cancelled task throws `CancellationError` and the
    /// track stays as it is.
    /// - Throws: `ReactorError.invalidState` on a track that sends, or when the session is not `.ready`.
    public func pause() async throws { try await setPaused(true) }

    /// Asks the model to start this track again; it begins with a key frame.
    ///
    /// Returns when the request is on its way. A cancelled task throws `CancellationError`.
    /// - Throws: `ReactorError.invalidState` on a track that sends, or when the session is not `.ready`.
    public func resume() async throws { try await setPaused(false) }

    private func setPaused(_ isPaused: Bool) async throws {
        let operation = isPaused ? "pause_track" : "resume_track"
        try Task.checkCancellation()
        if direction == .sendonly {
            throw ReactorError(.invalidState, "track '\(name)' sends; only a track that receives can be paused", operation: operation)
        }
        guard let engine = state.engine, !state.isClosed else { throw ReactorError.clientGone(operation) }
        try await engine.setPaused(isPaused, track: name)
    }

    // MARK: Checks and delivery

    /// - Parameter wanted: nil takes a track of either kind.
    nonisolated func requireReceiving(_ wanted: TrackKind?, operation: String) throws {
        guard state.isAlive else { throw ReactorError.clientGone(operation) }
        guard let declaration = state.declaration(of: name) else { return }
        if declaration.direction == .sendonly {
            throw ReactorError(
                .invalidState, "track '\(name)' is one this client sends on; it receives no frames", operation: operation)
        }
        if let wanted, declaration.kind.publicKind != wanted {
            throw ReactorError(
                .invalidState, "track '\(name)' carries \(declaration.kind.rawValue), not \(wanted.rawValue)", operation: operation)
        }
    }

    /// Runs the loop on the delivery thread. It asks before each call of the handler: what still waits when the subscription
    /// is cancelled or the client is closed starts no handler any more.
    private nonisolated func deliver(
        _ loop: @escaping @Sendable (_ mayDeliver: @Sendable () -> Bool) async -> Void
    ) -> Subscription {
        let thread = delivery.thread(name: name)
        let cancelled = Subscription.State()
        let state = self.state
        let task = Task(executorPreference: thread) { await loop { !cancelled.isCancelled && state.isAlive } }
        return Subscription(state: cancelled) { task.cancel() }
    }
}

/// Keeps the track's delivery thread as long as a handler uses it: weakly here, strongly in the tasks.
private final class DeliverySlot: Sendable {
    private struct Reference: Sendable { weak var thread: DeliveryThread? }
    private let current = Mutex(Reference())

    func thread(name: String) -> DeliveryThread {
        current.withLock { reference in
            if let thread = reference.thread { return thread }
            let thread = DeliveryThread(name: name)
            reference.thread = thread
            return thread
        }
    }
}

extension Track: Hashable, Identifiable, CustomStringConvertible {
    /// Tracks are equal when they are the same object.
    public static nonisolated func == (lhs: Track, rhs: Track) -> Bool { lhs === rhs }
    /// Hashes the identity.
    public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    /// The name, with kind and direction once they are known.
    public nonisolated var description: String {
        guard let kind, let direction else { return "Track(\(name))" }
        return "Track(\(name), \(kind.rawValue), \(direction.rawValue))"
    }
}

extension MediaKind {
    var publicKind: TrackKind { self == .video ? .video : .audio }
}

extension MediaDirection {
    var publicDirection: TrackDirection { self == .sendonly ? .sendonly : .recvonly }
}
