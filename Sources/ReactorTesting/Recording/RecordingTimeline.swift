// Where what a model emits lies in its recording (wire-protocol 3.4). In: pictures and samples with the time of their push. Out:
// slots of a grid of 30 per second, and positions in samples. Media time stands still while the model emits nothing. Pure.

internal import RTCBase

struct RecordingTimeline: Sendable {
    /// Sound without pictures has a place in the recording only when the model has no video track.
    private let hasVideo: Bool
    private let pauseNanoseconds: Int64
    /// Where slot 0 lies; moves on over a pause.
    private var anchor: MonotonicTime?
    private var lastEmission = MonotonicTime(nanoseconds: 0)
    /// Of the newest picture; -1 before the first.
    private(set) var lastSlot = -1
    /// Behind the newest sample.
    private(set) var soundEnd = 0
    private var hasSound = false

    /// - Parameter pictureRate: pictures per second that the model declares; nil when it has no video track.
    init(pictureRate: Double?) {
        hasVideo = pictureRate != nil
        let rate = pictureRate.map { $0.isFinite ? min(max($0, 0.1), 240) : 30 } ?? 30
        pauseNanoseconds = max(Self.shortestPauseNanoseconds, Int64(3e9 / rate))
    }

    /// The slot of a picture; nil when the grid has no room for another one yet.
    mutating func onPicture(now: MonotonicTime) -> Int? {
        resume(now: now)
        let position = position(at: now)
        let next = lastSlot + 1
        if lastSlot >= 0, abs(position - Double(next)) >= Self.slotTolerance {
            guard position > Double(next) else { return nil }
            lastSlot = Int(position.rounded())
        } else {
            lastSlot = next
        }
        return lastSlot
    }

    /// Where so many samples begin. They were heard up to now when they come, as on the live path, unless they are many; they
    /// follow the ones before, except over a gap. Nil when they have no place: before the first picture, or too far ahead of time.
    mutating func onSound(samples: Int, now: MonotonicTime) -> Int? {
        guard samples > 0, !hasVideo || lastSlot >= 0 else { return nil }
        resume(now: now)
        let here = Int(position(at: now) * Double(RecordingGrid.samplesPerSlot))
        let began = here - min(samples, Self.longestBlockSamples)
        let isGap = hasSound ? began - soundEnd > Self.gapSamples : true
        let start = isGap ? max(began, soundEnd) : soundEnd
        guard start + samples - here <= Self.mostSamplesAhead else { return nil }
        hasSound = true
        soundEnd = start + samples
        return start
    }

    /// What has been recorded so far, in whole slots.
    func slots(at now: MonotonicTime) -> Int {
        guard anchor != nil else { return 0 }
        return max(lastSlot + 1, min(Int(position(at: now)), soundEnd / RecordingGrid.samplesPerSlot))
    }

    private mutating func resume(now: MonotonicTime) {
        guard let anchor else {
            self.anchor = now
            lastEmission = now
            return
        }
        let gap = now.nanoseconds(since: lastEmission)
        guard gap > 0 else { return }
        if gap > pauseNanoseconds {
            // What was there has been shown and heard meanwhile, and nothing more.
            let shown = max(Double(lastSlot + 1), Double(soundEnd) / Double(RecordingGrid.samplesPerSlot))
            let passed = min(gap, Int64(max(0, shown - position(at: lastEmission)) * Self.slotNanoseconds))
            self.anchor = anchor.adding(nanoseconds: gap - passed)
        }
        lastEmission = now
    }

    /// In slots.
    private func position(at now: MonotonicTime) -> Double {
        guard let anchor else { return 0 }
        return Double(max(0, now.nanoseconds(since: anchor))) / Self.slotNanoseconds
    }

    private static let slotNanoseconds = 1e9 / Double(RecordingGrid.slotsPerSecond)
    /// A longer silence of the model is a pause.
    private static let shortestPauseNanoseconds: Int64 = 500_000_000
    /// How far from its slot a picture may come, in slots: over a half, so that a rate near 30 does not skip and double.
    private static let slotTolerance = 0.7
    /// Sound that comes later than this is not the continuation.
    private static let gapSamples = RecordingGrid.soundRate / 4
    /// A longer block was made ahead and is played from when it comes.
    private static let longestBlockSamples = RecordingGrid.soundRate / 10
    private static let mostSamplesAhead = RecordingGrid.soundRate * 10
}
