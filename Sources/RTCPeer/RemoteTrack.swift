package import RTCBase
internal import Synchronization

/// Where one remote track's media is handed to its consumers: a newest-frame slot per video consumer, or a backlog for one that
/// asks for it, and a backlog per audio consumer. It outlives connections, so a consumer that registered before `connect()` or before a reconnect
/// keeps receiving. Consumers and the decode thread meet only here.
package final class RemoteTrack: Sendable {
    package let name: String

    private struct Consumers {
        var nextID: UInt64 = 0
        var video: [(id: UInt64, place: VideoPlace)] = []
        var audio: [(id: UInt64, queue: BacklogQueue<PCMBlock>)] = []
        var isFinished = false
    }

    /// Where a video consumer's pictures wait.
    fileprivate enum VideoPlace: Sendable {
        case newest(NewestSlot<DecodedPicture>)
        case backlog(BacklogQueue<DecodedPicture>)

        /// - Parameter backlog: how many pictures wait at most; nil keeps the newest alone, without a lock.
        init(backlog: Int?) { self = backlog.map { .backlog(BacklogQueue(capacity: $0)) } ?? .newest(NewestSlot()) }

        func put(_ picture: DecodedPicture) {
            switch self {
            case .newest(let slot): slot.put(picture)
            case .backlog(let queue): queue.put(picture)
            }
        }

        func next(isolation: isolated (any Actor)? = #isolation) async -> DecodedPicture? {
            switch self {
            case .newest(let slot): await slot.next(isolation: isolation)
            case .backlog(let queue): await queue.next(isolation: isolation)
            }
        }

        func finish() {
            switch self {
            case .newest(let slot): slot.finish()
            case .backlog(let queue): queue.finish()
            }
        }

        var droppedCount: UInt64 {
            switch self {
            case .newest(let slot): slot.replacedCount
            case .backlog(let queue): queue.droppedCount
            }
        }

        /// The next picture would push out one that nobody has taken.
        var isPending: Bool {
            if case .newest(let slot) = self { return slot.isOccupied }
            return false
        }
    }

    private let consumers = Mutex(Consumers())
    private let receivedCount = Atomic<UInt64>(0)
    private let droppedCount = Atomic<UInt64>(0)
    private let deliveredCount = Atomic<UInt64>(0)
    private let firstFrameNanoseconds = Atomic<Int64>(0)
    /// What is delivered goes on to this track, while the gate is open, and to no consumer here.
    private let target: RemoteTrack?
    private let isForwarding = Atomic<Bool>(false)

    package init(name: String) {
        self.name = name
        target = nil
    }

    /// One of several sources of `target`, with a gate that is closed at first: of many connections that may send a track, the
    /// one that holds it gets through. What comes while it is closed is counted as dropped.
    package init(forwardingTo target: RemoteTrack) {
        name = target.name
        self.target = target
    }

    /// Opens or closes the gate in front of the target. Any thread.
    package func setForwarding(_ isForwarding: Bool) { self.isForwarding.store(isForwarding, ordering: .relaxed) }

    /// The track that takes what is delivered here now; nil while the gate is closed.
    private func forwardTarget() -> RemoteTrack? {
        if isForwarding.load(ordering: .relaxed) { return target }
        countDropped()
        return nil
    }

    // MARK: Consumers

    /// A video consumer's place. Cancelled by `cancel()`, or with its last reference.
    package final class VideoConsumer: Sendable {
        fileprivate let place: VideoPlace
        private let track: RemoteTrack
        private let id: UInt64

        fileprivate init(track: RemoteTrack, id: UInt64, place: VideoPlace) {
            self.track = track
            self.id = id
            self.place = place
        }

        /// A picture is here that the next one would replace.
        package var isPending: Bool { place.isPending }

        /// Pictures that went before this consumer took them.
        package var droppedCount: UInt64 { place.droppedCount }

        deinit { cancel() }

        package func next(isolation: isolated (any Actor)? = #isolation) async -> DecodedPicture? {
            let picture = await place.next(isolation: isolation)
            if picture != nil { track.deliveredCount.add(1, ordering: .relaxed) }
            return picture
        }

        package func cancel() {
            place.finish()
            track.removeVideo(id: id, replaced: place.droppedCount)
        }
    }

    /// An audio consumer's place.
    package final class AudioConsumer: Sendable {
        package let queue: BacklogQueue<PCMBlock>
        private let track: RemoteTrack
        private let id: UInt64

        fileprivate init(track: RemoteTrack, id: UInt64, capacity: Int) {
            self.track = track
            self.id = id
            queue = BacklogQueue(capacity: capacity)
        }

        deinit { cancel() }

        package func next(isolation: isolated (any Actor)? = #isolation) async -> PCMBlock? {
            let block = await queue.next(isolation: isolation)
            if block != nil { track.deliveredCount.add(1, ordering: .relaxed) }
            return block
        }

        package func cancel() {
            queue.finish()
            track.removeAudio(id: id, dropped: queue.droppedCount)
        }
    }

    /// - Parameter backlog: how many pictures wait for the consumer at most, the oldest going first; nil keeps the newest alone.
    package func addVideoConsumer(backlog: Int? = nil) -> VideoConsumer {
        let id = consumers.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let place = VideoPlace(backlog: backlog)
        let consumer = VideoConsumer(track: self, id: id, place: place)
        let isFinished = consumers.withLock { state in
            if !state.isFinished { state.video.append((id, place)) }
            return state.isFinished
        }
        if isFinished { place.finish() }
        return consumer
    }

    /// `capacityBlocks` counts 10 ms blocks.
    package func addAudioConsumer(capacityBlocks: Int) -> AudioConsumer {
        let id = consumers.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let consumer = AudioConsumer(track: self, id: id, capacity: capacityBlocks)
        let queue = consumer.queue
        let isFinished = consumers.withLock { state in
            if !state.isFinished { state.audio.append((id, queue)) }
            return state.isFinished
        }
        if isFinished { queue.finish() }
        return consumer
    }

    private func removeVideo(id: UInt64, replaced: UInt64) {
        let removed = consumers.withLock { state in
            let before = state.video.count
            state.video.removeAll { $0.id == id }
            return state.video.count < before
        }
        if removed { droppedCount.add(replaced, ordering: .relaxed) }
    }

    private func removeAudio(id: UInt64, dropped: UInt64) {
        let removed = consumers.withLock { state in
            let before = state.audio.count
            state.audio.removeAll { $0.id == id }
            return state.audio.count < before
        }
        if removed { droppedCount.add(dropped, ordering: .relaxed) }
    }

    // MARK: Producers (decode and audio threads)

    /// A consumer has not taken the last picture yet.
    package var isVideoPending: Bool {
        if let target { return target.isVideoPending }
        return consumers.withLock { $0.video.contains { $0.place.isPending } }
    }

    package func deliver(_ picture: DecodedPicture) {
        if target != nil {
            forwardTarget()?.deliver(picture)
            return
        }
        receivedCount.add(1, ordering: .relaxed)
        _ = firstFrameNanoseconds.compareExchange(
            expected: 0, desired: picture.planes.decodedTime.nanoseconds, ordering: .relaxed)
        let list = consumers.withLock { $0.video }
        for consumer in list { consumer.place.put(picture) }
    }

    package func deliver(_ block: PCMBlock) {
        if target != nil {
            forwardTarget()?.deliver(block)
            return
        }
        receivedCount.add(1, ordering: .relaxed)
        let list = consumers.withLock { $0.audio }
        for consumer in list { consumer.queue.put(block) }
    }

    /// Frames that were lost before they could be delivered (decoder queue full, decode errors).
    package func countDropped(_ amount: UInt64 = 1) { droppedCount.add(amount, ordering: .relaxed) }

    /// Ends every consumer's sequence: the owning client is gone.
    package func finish() {
        let (video, audio) = consumers.withLock { state in
            state.isFinished = true
            return (state.video, state.audio)
        }
        for consumer in video { consumer.place.finish() }
        for consumer in audio { consumer.queue.finish() }
    }

    // MARK: Readings

    /// Somebody waits for frames.
    package var hasConsumers: Bool { consumers.withLock { !$0.video.isEmpty || !$0.audio.isEmpty } }

    package struct Counts: Sendable {
        package var received: UInt64
        package var delivered: UInt64
        package var dropped: UInt64
    }

    package var counts: Counts {
        let pending = consumers.withLock { state in
            state.video.reduce(0) { $0 + $1.place.droppedCount } + state.audio.reduce(0) { $0 + $1.queue.droppedCount }
        }
        return Counts(
            received: receivedCount.load(ordering: .relaxed), delivered: deliveredCount.load(ordering: .relaxed),
            dropped: droppedCount.load(ordering: .relaxed) + pending)
    }

    /// When the first video frame of the present connection was decoded; nil before.
    package var firstFrameTime: MonotonicTime? {
        let value = firstFrameNanoseconds.load(ordering: .relaxed)
        return value == 0 ? nil : MonotonicTime(nanoseconds: value)
    }

    package func resetFirstFrameTime() { firstFrameNanoseconds.store(0, ordering: .relaxed) }
}
