// What waits for the thread that codes a recording, and what the pushing threads need to know. Pure; under its owner's lock.

internal import RTCBase

struct RecordingInbox: Sendable {
    /// What had to be left out.
    struct Counts: Hashable, Sendable {
        var pictures: UInt64 = 0
        /// More than 30 a second.
        var skippedPictures: UInt64 = 0
        /// The encoder was behind.
        var replacedPictures: UInt64 = 0
        /// Not of the size that was said, or too large.
        var refusedPictures: UInt64 = 0
        var droppedSoundBlocks: UInt64 = 0
    }

    var timeline: RecordingTimeline
    var batch = ChunkMaker.Batch()
    var waitingPictures = 0
    /// At 48 kHz.
    var waitingSamples = 0
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

    mutating func append(_ samples: UnsafeBufferPointer<Int16>, sampleRate: Int, isStereo: Bool, start: Int) {
        // Many small blocks become one.
        if let last = batch.sound.last, last.sampleRate == sampleRate, last.isStereo == isStereo {
            let channels = isStereo ? 2 : 1
            let end = last.start + SoundBlock.duration(samples: last.samples.count, sampleRate: sampleRate, channels: channels)
            if abs(end - start) <= 1 {
                batch.sound[batch.sound.count - 1].samples.append(contentsOf: samples)
                return
            }
        }
        batch.sound.append(SoundBlock(samples: Array(samples), sampleRate: sampleRate, isStereo: isStereo, start: start))
    }

    mutating func dropOldestPicture() {
        let oldest = batch.items.firstIndex { if case .picture = $0 { true } else { false } }
        guard let oldest else { return }
        batch.items.remove(at: oldest)
        waitingPictures -= 1
        counts.replacedPictures += 1
    }
}
