internal import Dispatch
internal import RTCBase
internal import RTCCodec
internal import RTCTransport
internal import Synchronization

/// One encode thread of one published video track: takes the newest picture, scales it while bits are short, encodes it
/// and hands the frame to the network thread. Whoever pushes never waits.
///
/// One picture waits; a newer one replaces it. When the newer came at a camera's pace, the one that the thread is late for waits
/// too: a hiccup of a busy machine costs a moment then and no picture. While the pacer is behind, pictures are skipped before
/// they are even converted. The thread starts with the first picture and ends with `stop()`.
final class VideoEncodeWorker: Sendable {
    struct Counts: Sendable, Hashable {
        var encoded: UInt64 = 0
        var keyFrames: UInt64 = 0
        /// Pictures replaced by a newer one.
        var replaced: UInt64 = 0
        /// Pictures skipped because the network is behind, or that the encoder left out.
        var skipped: UInt64 = 0
        var encodeErrors: UInt64 = 0
        var encodeNanoseconds: UInt64 = 0
        /// Of the last frame.
        var width = 0
        var height = 0
        var framesPerSecond = 0.0

        var dropped: UInt64 { replaced + skipped + encodeErrors }
    }

    /// A picture and its place in the order of the pushes.
    struct Input: Sendable {
        var picture: PlanarFrame
        var number: UInt64
        /// Media time at 90 kHz.
        var rtpTimestamp: UInt32
        var pushed: MonotonicTime
        /// Pictures before it that were skipped because the network is behind: what they did not cost is not for this one.
        var skippedBefore = 0
    }

    private struct State {
        /// The newest picture.
        var input: Input?
        /// The one before it, which the thread is late for.
        var late: Input?
        var newestNumber: UInt64 = 0
        /// Pictures skipped since the last one that was taken.
        var skipped = 0
        var isStopped = false
        var isStarted = false
        var isCongested = false
        var needsKeyFrame = false
        var bitsPerSecond: Int
        /// Frames handed to the network thread that it has not taken yet.
        var handedOver = 0
        var counts = Counts()
    }

    let codec: VideoCodec
    private let state: Mutex<State>
    private let wake = DispatchSemaphore(value: 0)
    private let scaledPool = FrameBufferPool(maxCached: 1, memory: .pages)
    private let framePool = FrameBufferPool(maxCached: 4, memory: .pages)
    /// Encode thread: a frame is ready; `tookFrame()` says that the receiver has it.
    private let onFrame: @Sendable (EncodedFrame) -> Void
    /// Encode thread: pictures of another size or rate are being pushed; the bits per second that they can use.
    private let onCeiling: @Sendable (Int) -> Void

    init(
        codec: VideoCodec, bitsPerSecond: Int, onCeiling: @escaping @Sendable (Int) -> Void,
        onFrame: @escaping @Sendable (EncodedFrame) -> Void
    ) {
        self.codec = codec
        state = Mutex(State(bitsPerSecond: bitsPerSecond))
        self.onCeiling = onCeiling
        self.onFrame = onFrame
    }

    var counts: Counts { state.withLock { $0.counts } }

    // MARK: Pushing threads

    /// False, and the picture counts as skipped, while new ones are not wanted: there is no use in converting it.
    func wantsPicture() -> Bool {
        state.withLock { state in
            if state.isStopped { return false }
            guard !state.isCongested, state.handedOver < Self.mostHandedOver else {
                state.counts.skipped += 1
                state.skipped += 1
                return false
            }
            return true
        }
    }

    /// Hands a picture over; with several threads pushing, an older one never replaces a newer.
    func submit(_ input: Input) {
        enum Outcome { case replaced, queued, start }
        let outcome: Outcome = state.withLock { state in
            if state.isStopped { return .replaced }
            guard input.number > state.newestNumber else {
                state.counts.replaced += 1
                return .replaced
            }
            state.newestNumber = input.number
            if let waiting = state.input {
                state.input = input
                let wasLate = state.late != nil
                let isAtPace = input.pushed.nanoseconds(since: waiting.pushed) >= Self.cameraPaceNanoseconds
                // Of three the oldest goes, of a burst the one before.
                if isAtPace { state.late = waiting }
                if isAtPace, !wasLate { return .queued }
                state.counts.replaced += 1
                return .replaced
            }
            state.input = input
            if state.isStarted { return .queued }
            state.isStarted = true
            return .start
        }
        switch outcome {
        case .replaced: break
        case .queued: wake.signal()
        case .start:
            wake.signal()
            let started = WorkerThread.start(name: "reactor-enc", urgency: .video) { [self] in run() }
            if !started {
                state.withLock { state in
                    state.isStarted = false
                    state.input = nil
                    state.late = nil
                }
            }
        }
    }

    // MARK: Network thread

    /// What the encoder makes from the next picture on.
    func setRate(bitsPerSecond: Int) { state.withLock { $0.bitsPerSecond = max(Self.lowestRate, bitsPerSecond) } }

    /// The next picture becomes a key frame.
    func requestKeyFrame() { state.withLock { $0.needsKeyFrame = true } }

    func setCongested(_ isCongested: Bool) { state.withLock { $0.isCongested = isCongested } }

    func tookFrame() { state.withLock { $0.handedOver -= 1 } }

    /// Any thread: the thread ends after the picture it is working on.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.input = nil
            state.late = nil
        }
        wake.signal()
    }

    // MARK: Encode thread

    private struct Work {
        var input: Input?
        var isStopped: Bool
        var needsKeyFrame: Bool
        var bitsPerSecond: Int
    }

    private func takeWork() -> Work {
        state.withLock { state in
            var work = Work(
                input: state.late.take() ?? state.input.take(), isStopped: state.isStopped, needsKeyFrame: state.needsKeyFrame,
                bitsPerSecond: state.bitsPerSecond)
            if work.input != nil {
                state.needsKeyFrame = false
                work.input?.skippedBefore = state.skipped
                state.skipped = 0
            }
            return work
        }
    }

    private func run() {
        var session = VideoEncodeSession(codec: codec, scaledPool: scaledPool, framePool: framePool)
        while true {
            wake.wait()
            let work = takeWork()
            if work.isStopped { return }
            guard let input = work.input else { continue }
            let began = NetworkExecutor.now()
            if let ceiling = session.newCeiling(for: input.picture, now: input.pushed) { onCeiling(ceiling) }
            do throws(CodecError) {
                let frame = try session.encode(input, bitsPerSecond: work.bitsPerSecond, forceKeyFrame: work.needsKeyFrame)
                let elapsed = NetworkExecutor.now().nanoseconds(since: began)
                session.onEncoded(nanoseconds: elapsed, now: input.pushed)
                let took = UInt64(max(0, elapsed))
                guard let frame else {
                    skipped(afterRequest: work.needsKeyFrame, nanoseconds: took)
                    continue
                }
                state.withLock { state in
                    state.counts.encoded += 1
                    if frame.isKeyFrame { state.counts.keyFrames += 1 }
                    state.counts.encodeNanoseconds &+= took
                    state.counts.width = session.width
                    state.counts.height = session.height
                    state.counts.framesPerSecond = session.framesPerSecond
                    state.handedOver += 1
                }
                onFrame(frame)
            } catch {
                session.reset()
                state.withLock { state in
                    state.counts.encodeErrors += 1
                    state.needsKeyFrame = true
                }
            }
        }
    }

    private func skipped(afterRequest needsKeyFrame: Bool, nanoseconds: UInt64) {
        state.withLock { state in
            state.counts.skipped += 1
            state.counts.encodeNanoseconds &+= nanoseconds
            if needsKeyFrame { state.needsKeyFrame = true }
        }
    }

    /// libvpx counts in kilobits; below this there is no picture worth sending.
    private static let lowestRate = 20_000
    /// Between two pictures of the quickest camera, and more than between two of a burst.
    private static let cameraPaceNanoseconds: Int64 = 8_000_000
    /// A network thread that is this far behind gets no more until it has caught up.
    private static let mostHandedOver = 8
}
