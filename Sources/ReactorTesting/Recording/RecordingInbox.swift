// What waits for the thread that codes a recording, and what the pushing threads need to know. Pure; under its owner's lock.

internal import RTCBase

struct RecordingInbox: Sendable {
    /// What had to be left out.
    struct Counts: Hashable, Sendable {
        var pictures: UInt64 = 0
        /// More than 30 a second.
        var skippedPictures: UInt64 = 0
        /// The encoder was behind, or another thread was quicker.
        var replacedPictures: UInt64 = 0
        /// Not of the size that was said, or too large.
        var refusedPictures: UInt64 = 0
        var droppedSoundBlocks: UInt64 = 0
    }

    private var timeline: RecordingTimeline
    /// Of pictures that are being converted.
    private var reservedSlots: [Int] = []
    private var lastSlot = -1
    var batch = ChunkMaker.Batch()
    private var waitingPictures = 0
    /// At 48 kHz.
    private var waitingSamples = 0
    var isScheduled = false
    var isFinished = false
    var hasFailed = false
    /// The last place where a chunk was closed for a clip.
    var lastCut = 0
    var lastCutTime: MonotonicTime?
    var finishedAt: MonotonicTime?
    var counts = Counts()

    init(pictureRate: Double?) { timeline = RecordingTimeline(pictureRate: pictureRate) }

    /// True when the worker has to be told.
    mutating func schedules() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }

    /// What has been recorded, in slots: nothing that comes later lies before.
    func recorded(at now: MonotonicTime) -> Int { min(timeline.slots(at: now), reservedSlots.min() ?? .max) }

    /// The slot of a picture that will be added, or refused; nil when there is no room for it.
    mutating func reserve(now: MonotonicTime) -> Int? {
        guard !isFinished, !hasFailed else { return nil }
        counts.pictures += 1
        guard let slot = timeline.onPicture(now: now) else {
            counts.skippedPictures += 1
            return nil
        }
        reservedSlots.append(slot)
        return slot
    }

    mutating func refuse(slot: Int) {
        reservedSlots.removeAll { $0 == slot }
        counts.refusedPictures += 1
    }

    /// False when the picture has no use.
    mutating func add(_ picture: PlanarFrame, slot: Int) -> Bool {
        reservedSlots.removeAll { $0 == slot }
        guard !isFinished, !hasFailed else { return false }
        guard slot > lastSlot else {
            counts.replacedPictures += 1
            return false
        }
        if waitingPictures >= Self.mostPictures { dropOldestPicture() }
        lastSlot = slot
        batch.items.append(.picture(picture, slot: slot))
        waitingPictures += 1
        return true
    }

    /// `duration` is the block's at 48 kHz. False when the block has no use.
    mutating func add(
        _ samples: UnsafeBufferPointer<Int16>, sampleRate: Int, isStereo: Bool, duration: Int, now: MonotonicTime
    ) -> Bool {
        guard !isFinished, !hasFailed else { return false }
        guard waitingSamples + duration <= Self.mostSamples, let start = timeline.onSound(samples: duration, now: now) else {
            counts.droppedSoundBlocks += 1
            return false
        }
        waitingSamples += duration
        // Many small blocks become one.
        if let last = batch.sound.last, last.sampleRate == sampleRate, last.isStereo == isStereo, abs(last.end - start) <= 1 {
            batch.sound[batch.sound.count - 1].samples.append(contentsOf: samples)
        } else {
            batch.sound.append(SoundBlock(samples: Array(samples), sampleRate: sampleRate, isStereo: isStereo, start: start))
        }
        return true
    }

    /// What waits; nothing does afterwards.
    mutating func take(now: MonotonicTime) -> ChunkMaker.Batch {
        var taken = ChunkMaker.Batch()
        swap(&taken, &batch)
        if !taken.isLast { taken.recorded = recorded(at: now) }
        waitingPictures = 0
        waitingSamples = 0
        isScheduled = false
        return taken
    }

    mutating func finish(now: MonotonicTime) {
        isFinished = true
        finishedAt = now
        batch.recorded = timeline.slots(at: now)
        batch.isLast = true
    }

    private mutating func dropOldestPicture() {
        let oldest = batch.items.firstIndex { if case .picture = $0 { true } else { false } }
        guard let oldest else { return }
        batch.items.remove(at: oldest)
        waitingPictures -= 1
        counts.replacedPictures += 1
    }

    static let mostPictures = 4
    private static let mostSamples = RecordingGrid.soundRate * 12
}
