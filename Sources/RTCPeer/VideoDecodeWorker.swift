internal import Dispatch
internal import RTCBase
internal import RTCCodec
internal import RTCEngine
internal import RTCTransport
internal import Synchronization

/// One decode thread of one video track: takes encoded frames from a bounded mailbox, decodes, and delivers to the
/// track's consumers. The network thread submits and never waits.
///
/// When the mailbox (64 frames) is full, or a frame does not decode, frames are dropped until the next key frame and
/// one is asked for.
final class VideoDecodeWorker: Sendable {
    struct Counts: Sendable {
        var decoded: UInt64 = 0
        var decodeErrors: UInt64 = 0
        var lastDecodeError: CodecError?
        var dropped: UInt64 = 0
        var decodeNanoseconds: UInt64 = 0
        var width = 0
        var height = 0
        /// Sum over decoded frames of the time from the first packet's arrival to the decoded picture.
        var assembleNanoseconds: UInt64 = 0
        /// What pictures are held back at present.
        var playoutDelayNanoseconds: Int64 = 0
    }

    private struct State {
        var queue = BoundedQueue<EncodedFrame>(capacity: VideoDecodeWorker.mailboxFrames)
        var isStopped = false
        var isStarted = false
        /// After a loss only a key frame may enter.
        var needsKeyFrame = false
        var counts = Counts()
    }

    private let track: RemoteTrack
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    /// Signalled by `stop()` alone: ends the wait for a picture's time.
    private let stopped = DispatchSemaphore(value: 0)
    private let planePool = FrameBufferPool(maxCached: 6, memory: .pages)
    private let pixelPool = FrameBufferPool(maxCached: 3, memory: .pages)
    /// Called on the decode or network thread when a key frame is needed.
    private let onNeedsKeyFrame: @Sendable () -> Void

    init(track: RemoteTrack, onNeedsKeyFrame: @escaping @Sendable () -> Void) {
        self.track = track
        self.onNeedsKeyFrame = onNeedsKeyFrame
    }

    var counts: Counts { state.withLock { $0.counts } }

    /// Network thread: hands a frame over. The thread starts with the first frame.
    func submit(_ frame: EncodedFrame) {
        enum Outcome { case queued, start, dropped, askForKeyFrame }
        let outcome: Outcome = state.withLock { state in
            if state.isStopped { return .dropped }
            if state.needsKeyFrame {
                guard frame.isKeyFrame else {
                    state.counts.dropped += 1
                    return .dropped
                }
                state.needsKeyFrame = false
                while state.queue.popFirst() != nil { state.counts.dropped += 1 }
            }
            guard state.queue.append(frame) else {
                state.counts.dropped += 1
                state.needsKeyFrame = true
                return .askForKeyFrame
            }
            if state.isStarted { return .queued }
            state.isStarted = true
            return .start
        }
        switch outcome {
        case .queued:
            wake.signal()
        case .start:
            wake.signal()
            let started = WorkerThread.start(name: "reactor-dec", urgency: .video) { [self] in run() }
            if !started { state.withLock { $0.isStarted = false } }
        case .dropped:
            track.countDropped()
        case .askForKeyFrame:
            track.countDropped()
            onNeedsKeyFrame()
        }
    }

    /// Any thread: the thread ends after the frame it is working on; a picture that waits for its time is not shown any more.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.queue.removeAll()
        }
        stopped.signal()
        wake.signal()
    }

    private func run() {
        var decoder: VPXDecoder?
        var decoderCodec: VideoCodec?
        var lastDelivery = MonotonicTime(nanoseconds: 0)
        var smoother = PlayoutSmoother()
        while true {
            wake.wait()
            let (frame, isStopped) = state.withLock { ($0.queue.popFirst(), $0.isStopped) }
            if isStopped { return }
            guard let frame else { continue }
            // Of every frame, decoded or not: what came is what tells about the path.
            let showTime = smoother.showTime(
                ssrc: frame.ssrc, timestamp: frame.rtpTimestamp, firstPacket: frame.firstPacketTime, complete: frame.completeTime)
            do throws(CodecError) {
                if decoder == nil || decoderCodec != frame.codec {
                    decoder = try VPXDecoder(codec: frame.codec)
                    decoderCodec = frame.codec
                }
                let began = NetworkExecutor.now()
                guard var picture = try decoder?.decode(frame, pool: planePool) else { continue }
                let ended = NetworkExecutor.now()
                picture.decodedTime = ended
                state.withLock { state in
                    state.counts.decoded += 1
                    state.counts.decodeNanoseconds &+= UInt64(max(0, ended.nanoseconds(since: began)))
                    state.counts.assembleNanoseconds &+= UInt64(max(0, ended.nanoseconds(since: frame.firstPacketTime)))
                    state.counts.width = picture.width
                    state.counts.height = picture.height
                    state.counts.playoutDelayNanoseconds = smoother.delayNanoseconds
                }
                if let showTime, !hold(until: showTime) { return }
                giveWay(until: lastDelivery.adding(nanoseconds: Self.burstSpacingNanoseconds))
                track.deliver(DecodedPicture(planes: picture, pool: pixelPool))
                lastDelivery = NetworkExecutor.now()
            } catch {
                decoder = nil
                state.withLock { state in
                    state.counts.decodeErrors += 1
                    state.counts.lastDecodeError = error
                    state.needsKeyFrame = true
                    while state.queue.popFirst() != nil { state.counts.dropped += 1 }
                }
                track.countDropped()
                onNeedsKeyFrame()
            }
        }
    }

    /// Keeps a picture until its time, which is `PlayoutSmoother.maxDelayNanoseconds` ahead at most. False when the worker was
    /// stopped meanwhile.
    private func hold(until time: MonotonicTime) -> Bool {
        let left = time.nanoseconds(since: NetworkExecutor.now())
        guard left > 0 else { return true }
        return stopped.wait(timeout: .now() + .nanoseconds(Int(left))) == .timedOut
    }

    /// In a burst the next picture waits a moment for the one before to be taken: a consumer that keeps up with the stream
    /// then sees every frame of it, instead of the last one alone. Pictures at a steady rate never wait.
    private func giveWay(until deadline: MonotonicTime) {
        guard track.isVideoPending else { return }
        // Nobody signals it: the wait is the pause.
        let pause = DispatchSemaphore(value: 0)
        while track.isVideoPending, NetworkExecutor.now() < deadline {
            _ = pause.wait(timeout: .now() + .microseconds(Self.burstPollMicroseconds))
        }
    }

    /// Room for a wake-up and a conversion to BGRA; at most this much is added per frame of a burst when a consumer is slow.
    private static let burstSpacingNanoseconds: Int64 = 10_000_000
    private static let burstPollMicroseconds = 300

    /// A repaired gap releases up to a second of frames at once; with the eight of a steady stream it would overflow just
    /// then and throw the repair away.
    private static let mailboxFrames = 64
}
