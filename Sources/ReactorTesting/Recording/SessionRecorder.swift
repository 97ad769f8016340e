// The recording of one session. In: pictures of the first video track and samples of the first sound track that the model sends,
// from any thread; nobody waits. Out: answers to clip requests, playlists and segments. Coding happens on the thread that all
// recordings share. Bounded: four pictures and twelve seconds of sound wait; the oldest picture goes for a new one.

internal import RTCBase
internal import RTCCodec
internal import RTCPeer
internal import ReactorCore
internal import Synchronization

final class SessionRecorder: Sendable {
    /// What a recording needs of the process. The clock is read under a lock: what comes later has a later time.
    struct Environment: Sendable {
        var now: @Sendable () -> MonotonicTime
        var unixMilliseconds: @Sendable () -> Int64
        /// Has `work()` called, on a thread that may be held up by it; false when that is not possible.
        var schedule: @Sendable (SessionRecorder) -> Bool
        var sleep: @Sendable (Duration) async throws -> Void
    }

    /// Lower-case UUID, or what the session was started with.
    let id: String
    private let settings: RecordingSettings
    private let environment: Environment
    private let onFinish: @Sendable () -> Void
    private let hasVideo: Bool
    private let hasSound: Bool
    private let inbox: Mutex<RecordingInbox>
    private let store: Mutex<ChunkStore>
    /// Held while the worker codes; nil before the first work and after the last.
    private let maker = Mutex<ChunkMaker?>(nil)
    private let pool = FrameBufferPool(maxCached: RecordingInbox.mostPictures)

    /// - Parameters:
    ///   - pictureRate: what the video track declares; nil when there is none.
    ///   - onFinish: is called once, by whoever finishes the recording.
    init(
        id: String, pictureRate: Double?, hasSound: Bool, settings: RecordingSettings, environment: Environment,
        onFinish: @escaping @Sendable () -> Void = {}
    ) {
        self.id = id
        self.settings = settings
        self.environment = environment
        self.onFinish = onFinish
        hasVideo = pictureRate != nil
        self.hasSound = hasSound
        inbox = Mutex(RecordingInbox(pictureRate: pictureRate))
        store = Mutex(ChunkStore(id: id, settings: settings))
    }

    // MARK: What the model sends; any thread

    /// `height` rows of `width` B, G, R, A pixels without padding, read during the call only.
    func push(bgra pixels: UnsafeRawBufferPointer, width: Int, height: Int) {
        guard let slot = reserve() else { return }
        guard let picture = PixelConverter.bgraToI420(pixels, width: width, height: height, pool: pool) else {
            return inbox.withLock { $0.refuse(slot: slot) }
        }
        add(picture, slot: slot)
    }

    /// A picture that nobody writes to any more.
    func push(_ picture: PlanarFrame) {
        guard let slot = reserve() else { return }
        add(picture, slot: slot)
    }

    /// Interleaved samples, any number, at 8, 16, 24, 32, 44.1 or 48 kHz with one or two channels; others are left out.
    func push(samples: UnsafeBufferPointer<Int16>, sampleRate: Int = 48_000, channels: Int = 1) {
        guard hasSound, (1...2).contains(channels), Self.soundRates.contains(sampleRate), samples.count % channels == 0 else { return }
        let duration = SoundBlock.duration(samples: samples.count, sampleRate: sampleRate, channels: channels)
        let starts = inbox.withLock { inbox in
            inbox.add(samples, sampleRate: sampleRate, isStereo: channels == 2, duration: duration, now: environment.now())
                && inbox.schedules()
        }
        if starts { schedule() }
    }

    /// Nothing follows. The last chunk is closed soon; the recording stays with its library for a while.
    func finish() {
        enum Outcome { case finishedBefore, empty, queued(starts: Bool) }
        let outcome: Outcome = inbox.withLock { inbox in
            guard !inbox.isFinished else { return .finishedBefore }
            inbox.finish(now: environment.now())
            if inbox.batch.recorded == 0, inbox.batch.items.isEmpty { return .empty }
            return .queued(starts: inbox.schedules())
        }
        switch outcome {
        case .finishedBefore: return
        case .empty: store.withLock { $0.finish() }
        case .queued(let starts): if starts { schedule() }
        }
        onFinish()
    }

    // MARK: Requests; any thread

    /// The last seconds, and no more than `clipMaxSeconds`. The chunk that they end in is closed at once.
    func clip(durationSeconds: Double) -> ClipAnswer {
        guard durationSeconds > 0 else { return .badDuration }
        return answer(kind: "snap", durationSeconds: min(durationSeconds, settings.clipMaxSeconds))
    }

    /// From the beginning, or from the oldest that is kept.
    func recording() -> ClipAnswer { answer(kind: "recording", durationSeconds: .infinity) }

    func playlist(start: Double, end: Double) -> PlaylistAnswer {
        switch store.withLock({ $0.lookup(start: start, end: end) }) {
        case .playlist(let text): return .ready(text)
        case .gone: return .unknown
        case .open(let last):
            let recorded = inbox.withLock { $0.recorded(at: environment.now()) }
            if recorded >= last {
                requestCut()
                return .notReady(retryAfterSeconds: 0)
            }
            let seconds = RecordingGrid.seconds(last - recorded).rounded(.up)
            return .notReady(retryAfterSeconds: Int(min(max(seconds, 1), Self.longestRetrySeconds)))
        }
    }

    func segment(_ name: String) -> SegmentAnswer { store.withLock { $0.segment(name) } }

    // MARK: Readings

    var counts: RecordingInbox.Counts { inbox.withLock { $0.counts } }
    var byteCount: Int { store.withLock { $0.byteCount } }
    var chunkCount: Int { store.withLock { $0.chunkCount } }
    var finishedAt: MonotonicTime? { inbox.withLock { $0.finishedAt } }
    /// Everything is coded that will be.
    var isComplete: Bool { store.withLock { $0.state != .open } }
    var hasFailed: Bool { inbox.withLock { $0.hasFailed } }
}

// MARK: - Requests

extension SessionRecorder {
    private func answer(kind: String, durationSeconds: Double) -> ClipAnswer {
        let (recorded, hasFailed) = inbox.withLock { ($0.recorded(at: environment.now()), $0.hasFailed) }
        if hasFailed { return .disabled }
        guard recorded > 0 else { return .noMedia }
        let oldest = RecordingGrid.seconds(store.withLock { $0.oldestSlot(now: recorded) })
        let end = RecordingGrid.seconds(recorded)
        var ready = ClipReady()
        ready.sessionID = id
        ready.kind = kind
        ready.startMarker = max(oldest, end - durationSeconds)
        ready.endMarker = end
        ready.nowMarker = end
        ready.predictedReadyAtMilliseconds = environment.unixMilliseconds() + requestCut()
        ready.playlistURL = ClipMarker.playlistURL(id: id, start: ready.startMarker, end: end)
        return .ready(ready)
    }

    /// Has the open chunk closed where the recording is now, unless that was done a moment ago: then whoever asks for the
    /// playlist has it done. Returns in how many milliseconds everything up to now will be there.
    @discardableResult
    private func requestCut() -> Int64 {
        enum Outcome { case later(Int64), queued(starts: Bool) }
        let outcome: Outcome = inbox.withLock { inbox in
            let now = environment.now()
            let here = inbox.recorded(at: now)
            guard !inbox.isFinished else { return .queued(starts: false) }
            if let last = inbox.lastCutTime, now.nanoseconds(since: last) < Self.cutIntervalNanoseconds {
                if here == inbox.lastCut { return .queued(starts: false) }
                return .later((Self.cutIntervalNanoseconds - now.nanoseconds(since: last)) / 1_000_000)
            }
            inbox.lastCut = here
            inbox.lastCutTime = now
            inbox.batch.items.append(.cut(here))
            return .queued(starts: inbox.schedules())
        }
        switch outcome {
        case .later(let milliseconds): return milliseconds + Self.codingMilliseconds
        case .queued(let starts):
            if starts { schedule() }
            return Self.codingMilliseconds
        }
    }
}

// MARK: - Hand-off

extension SessionRecorder {
    private func reserve() -> Int? {
        guard hasVideo else { return nil }
        return inbox.withLock { $0.reserve(now: environment.now()) }
    }

    private func add(_ picture: PlanarFrame, slot: Int) {
        if inbox.withLock({ $0.add(picture, slot: slot) && $0.schedules() }) { schedule() }
    }

    private func schedule() {
        if !environment.schedule(self) { fail() }
    }

    /// Worker thread: codes what has come.
    func work() {
        let batch = inbox.withLock { $0.take(now: environment.now()) }
        guard store.withLock({ $0.state == .open }) else { return }
        do throws(CodecError) {
            let made = try code(batch)
            store.withLock { store in
                for chunk in made {
                    if let bytes = chunk.initSegment { store.setInitSegment(bytes) }
                    store.append(chunk.bytes, upTo: chunk.end)
                }
                if batch.isLast { store.finish() }
            }
        } catch {
            fail()
        }
        if batch.isLast { maker.withLock { $0 = nil } }
    }

    private func code(_ batch: ChunkMaker.Batch) throws(CodecError) -> [ChunkMaker.Made] {
        let result = maker.withLock { maker in
            Result { () throws(CodecError) -> [ChunkMaker.Made] in
                if let maker { return try maker.process(batch) }
                let new = try ChunkMaker(hasVideo: hasVideo, hasSound: hasSound, settings: settings)
                maker = new
                return try new.process(batch)
            }
        }
        return try result.get()
    }

    private func fail() {
        store.withLock { $0.fail() }
        inbox.withLock { inbox in
            inbox.hasFailed = true
            inbox.batch = ChunkMaker.Batch()
        }
        maker.withLock { $0 = nil }
    }

    private static let soundRates: Set<Int> = [8_000, 16_000, 24_000, 32_000, 44_100, 48_000]
    /// The vendor's answer, too.
    private static let longestRetrySeconds = 2.0
    /// Chunks of a few pictures each are dear: a key frame takes ten times the bits of another.
    private static let cutIntervalNanoseconds: Int64 = 500_000_000
    /// What waits for the worker, and a busy machine.
    private static let codingMilliseconds: Int64 = 100
}
