internal import RTCBase
internal import RTCPeer

// Sequences of a track beside the plain ones.
extension Track {
    /// The frames of this video track, with more than the newest one kept for a consumer that is late.
    ///
    /// - Throws: as ``videoFrames``.
    public nonisolated func videoFrames(buffering: FrameBuffering) throws -> VideoFrames {
        try requireReceiving(.video, operation: "videoFrames")
        return VideoFrames(track: remote, buffering: buffering)
    }

    /// The 10 ms blocks of this audio track, with another backlog than 2 s.
    ///
    /// - Parameter maxBacklog: how much sound waits for a consumer that is late before the oldest goes; from one block up to an
    ///   hour, and what is outside of that counts as the nearer end.
    /// - Throws: as ``audioFrames``.
    public nonisolated func audioFrames(maxBacklog: Duration) throws -> AudioFrames {
        try requireReceiving(.audio, operation: "audioFrames")
        let bounded = min(max(maxBacklog, .milliseconds(10)), .seconds(3600))
        return AudioFrames(track: remote, capacityBlocks: Int(bounded / .milliseconds(10)))
    }

    /// The frames of this track whatever its kind, also before that is known: for video the newest, for audio each block.
    ///
    /// It is for one reader, waits in the same slot as ``videoFrames`` and ``audioFrames``, and ends as they do.
    /// - Throws: `ReactorError.invalidState` when the client is gone, and on a track that this client sends.
    public nonisolated var frames: AsyncStream<MediaFrame> {
        get throws {
            try requireReceiving(nil, operation: "frames")
            let (remote, state) = (self.remote, self.state)
            let (video, audio) = (remote.addVideoConsumer(), remote.addAudioConsumer(capacityBlocks: AudioFrames.defaultCapacityBlocks))
            // Nothing is queued here: each call of the closure waits in the track's own slot or backlog.
            return AsyncStream {
                switch await state.declaredKind(of: remote.name) {
                case .video:
                    while let picture = await video.next() {
                        if let frame = VideoFrame(picture: picture, trackName: remote.name) { return .video(frame) }
                    }
                    return nil
                case .audio: return await audio.next().map { .audio(AudioFrame($0, trackName: remote.name)) }
                case nil: return nil
                }
            }
        }
    }

    /// Changes of ``paused`` from now on. Each access is a stream of its own that keeps the newest 64 and ends when the client is
    /// closed or released.
    public nonisolated var pausedUpdates: AsyncStream<Bool> { pausedChanges.makeStream(bufferingNewest: 64) }

    /// Changes of ``published`` from now on. Each access is a stream of its own that keeps the newest 64 and ends when the client
    /// is closed or released.
    public nonisolated var publishedUpdates: AsyncStream<Bool> { publishedChanges.makeStream(bufferingNewest: 64) }
}

extension Track {
    /// Ends every sequence; the client is closed or gone.
    nonisolated func finish() {
        remote.finish()
        pausedChanges.finish()
        publishedChanges.finish()
    }
}

extension ClientState {
    /// Waits until the session has declared the track. Nil when the client is gone, the task cancelled, or the track undeclared.
    fileprivate func declaredKind(of name: String) async -> TrackKind? {
        if let kind = declaration(of: name)?.kind.publicKind { return kind }
        let updates = hub.trackUpdates.makeStream(bufferingNewest: 1)
        // Declared between the look and the subscription.
        if let kind = declaration(of: name)?.kind.publicKind { return kind }
        for await _ in updates {
            if let kind = declaration(of: name)?.kind.publicKind { return kind }
        }
        return nil
    }
}
