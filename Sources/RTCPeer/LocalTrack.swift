// Where an app's pictures and sound enter. In: BGRA pixels and PCM samples, from any thread. Out: one I420 picture or a
// stretch of samples for the encode worker of the connection that publishes the track; nothing while none does. The
// only work on the caller's thread is one pass over the pixels (BGRA to I420, into pooled memory); the caller never
// waits for an encoder. Wire protocol §7.3 says which frames carry a trailer.

package import RTCBase
internal import RTCCodec
internal import RTCTransport
internal import Synchronization

/// One track that this end sends. It outlives connections; a connection attaches its encode worker while the track is
/// published on it.
package final class LocalTrack: Sendable {
    package let name: String
    package let kind: MediaKind

    package struct Counts: Sendable, Hashable {
        /// Pictures, or samples per channel, handed in while the track was published.
        package var pushed: UInt64 = 0
        /// Pictures that became frames, or audio packets.
        package var encoded: UInt64 = 0
        /// Pictures replaced by a newer one, skipped because the network was behind, or not encodable; audio packets'
        /// worth of samples that had to go because too many waited.
        package var dropped: UInt64 = 0

        package init(pushed: UInt64 = 0, encoded: UInt64 = 0, dropped: UInt64 = 0) {
            self.pushed = pushed
            self.encoded = encoded
            self.dropped = dropped
        }
    }

    fileprivate struct State {
        var video: VideoEncodeWorker?
        var audio: AudioEncodeWorker?
        /// Pictures, in the order of the pushes.
        var pictures: UInt64 = 0
        var samples: UInt64 = 0
        var refused: UInt64 = 0
        /// What workers that are gone have counted.
        var encodedBefore: UInt64 = 0
        var droppedBefore: UInt64 = 0
        var clock = CaptureStamper()
        /// Of the frames that carry a trailer, counted from 1 for as long as the track lives.
        var lastFrameID: UInt64 = 0
    }

    private let state = Mutex(State())
    /// The picture being encoded, one or two that wait, and the one being made.
    private let pool: FrameBufferPool

    package convenience init(name: String, kind: MediaKind) {
        self.init(name: name, kind: kind, pool: FrameBufferPool(maxCached: 4, memory: .pages))
    }

    /// - Parameter pool: where pictures are made.
    init(name: String, kind: MediaKind, pool: FrameBufferPool) {
        self.name = name
        self.kind = kind
        self.pool = pool
    }

    // MARK: Pushing threads

    /// Hands in one picture: `height` rows of `width` B, G, R, A pixels without padding, read during the call only.
    ///
    /// A picture that is not yet being encoded is replaced by this one and counted. `metadata.captureTimeMicros` is on the
    /// clock of `NetworkThread.now()`, 0 means now; `metadata.frameID` is ignored, the track numbers its frames. The frame
    /// carries a trailer when a capture time or user data that is not empty was given. Without effect while unpublished.
    /// Any thread, several at once.
    ///
    /// - Returns: false when the track is not published, or the buffer does not fit the size.
    @discardableResult
    package func push(
        bgra pixels: UnsafeRawBufferPointer, width: Int, height: Int, metadata: FrameMetadata = FrameMetadata()
    ) -> Bool {
        push(pixels, layout: .bgra, width: width, height: height, metadata: metadata)
    }

    /// Hands in one picture of another layout; otherwise like `push(bgra:width:height:metadata:)`.
    @discardableResult
    package func push(
        _ pixels: UnsafeRawBufferPointer, layout: PixelLayout, width: Int, height: Int, metadata: FrameMetadata = FrameMetadata()
    ) -> Bool {
        let now = NetworkExecutor.now()
        let started = state.withLock { state -> (worker: VideoEncodeWorker, stamp: Stamp)? in
            guard let worker = state.video else { return nil }
            return (worker, state.stamp(metadata, now: now))
        }
        guard let (worker, stamp) = started else { return false }
        // A picture that would be skipped is not converted either.
        guard worker.wantsPicture() else { return true }
        guard let picture = PixelConverter.toI420(pixels, layout: layout, width: width, height: height, pool: pool) else {
            state.withLock { $0.refused += 1 }
            return false
        }
        submit(picture, stamp, to: worker, now: now)
        return true
    }

    /// Hands in one picture that is I420 already and is not written to any more; its own metadata and times are ignored. It may
    /// be handed to several tracks. Otherwise like `push(bgra:width:height:metadata:)`.
    @discardableResult
    package func push(_ picture: PlanarFrame, metadata: FrameMetadata = FrameMetadata()) -> Bool {
        let now = NetworkExecutor.now()
        let started = state.withLock { state -> (worker: VideoEncodeWorker, stamp: Stamp)? in
            guard let worker = state.video else { return nil }
            return (worker, state.stamp(metadata, now: now))
        }
        guard let (worker, stamp) = started else { return false }
        if worker.wantsPicture() { submit(picture, stamp, to: worker, now: now) }
        return true
    }

    private func submit(_ picture: PlanarFrame, _ stamp: Stamp, to worker: VideoEncodeWorker, now: MonotonicTime) {
        var picture = picture
        picture.metadata = stamp.metadata
        picture.completeTime = now
        worker.submit(.init(picture: picture, number: stamp.number, rtpTimestamp: stamp.rtpTimestamp, pushed: now))
    }

    /// Hands in interleaved samples, any number of them, at 8000, 16000, 24000, 32000, 44100 or 48000 Hz and with one or
    /// two channels. Without effect while unpublished. Any thread.
    ///
    /// - Returns: false when the track is not published, or the format is another.
    @discardableResult
    package func push(samples: UnsafeBufferPointer<Int16>, sampleRate: Int, channels: Int) -> Bool {
        let format = AudioInput.Format(sampleRate: sampleRate, channels: channels)
        guard format.isAllowed, samples.count % channels == 0 else { return false }
        let now = NetworkExecutor.now()
        let worker = state.withLock { state -> AudioEncodeWorker? in
            if state.audio != nil { state.samples &+= UInt64(samples.count / channels) }
            return state.audio
        }
        guard let worker else { return false }
        worker.submit(samples, format: format, now: now)
        return true
    }

    // MARK: Network thread

    /// A connection publishes the track: what is pushed goes to `worker` from here on, and no longer to the one before it.
    func attach(_ worker: VideoEncodeWorker) { state.withLock { $0.replaceWorkers(video: worker, audio: nil) } }
    func attach(_ worker: AudioEncodeWorker) { state.withLock { $0.replaceWorkers(video: nil, audio: worker) } }

    /// The connection has stopped; without effect when another one has taken over.
    func detach(_ worker: VideoEncodeWorker) {
        state.withLock { if $0.video === worker { $0.replaceWorkers(video: nil, audio: nil) } }
    }
    func detach(_ worker: AudioEncodeWorker) {
        state.withLock { if $0.audio === worker { $0.replaceWorkers(video: nil, audio: nil) } }
    }

    // MARK: Readings

    package var counts: Counts {
        state.withLock { state in
            let present = state.presentCounts
            return Counts(
                pushed: kind == .video ? state.pictures : state.samples, encoded: state.encodedBefore + present.encoded,
                dropped: state.droppedBefore + present.dropped + state.refused)
        }
    }

    /// A connection publishes the track and takes what is pushed.
    package var isPublished: Bool { state.withLock { $0.video != nil || $0.audio != nil } }
}

/// What a pushed picture is sent as.
private struct Stamp {
    var number: UInt64
    var rtpTimestamp: UInt32
    /// Nil when the frame carries no trailer.
    var metadata: FrameMetadata?
}

extension LocalTrack.State {
    fileprivate mutating func stamp(_ given: FrameMetadata, now: MonotonicTime) -> Stamp {
        pictures += 1
        var stamp = Stamp(
            number: pictures,
            rtpTimestamp: UInt32(truncatingIfNeeded: clock.stamp(captureTimeMicros: given.captureTimeMicros, pushed: now)))
        let userData = given.userData.flatMap { $0.isEmpty ? nil : $0 }
        if userData != nil || given.captureTimeMicros != 0 {
            lastFrameID += 1
            stamp.metadata = FrameMetadata(
                frameID: lastFrameID,
                captureTimeMicros: given.captureTimeMicros != 0 ? given.captureTimeMicros : UInt64(max(0, now.nanoseconds / 1000)),
                userData: userData)
        }
        return stamp
    }

    fileprivate var presentCounts: (encoded: UInt64, dropped: UInt64) {
        if let counts = video?.counts { return (counts.encoded, counts.dropped) }
        if let counts = audio?.counts { return (counts.encoded, counts.dropped) }
        return (0, 0)
    }

    fileprivate mutating func replaceWorkers(video: VideoEncodeWorker?, audio: AudioEncodeWorker?) {
        let present = presentCounts
        encodedBefore += present.encoded
        droppedBefore += present.dropped
        self.video = video
        self.audio = audio
    }
}
