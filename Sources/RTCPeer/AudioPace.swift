// When the blocks of a published audio track leave, and with which RTP times. Chunks that come in bursts leave at the pace
// of the sound, so that the receiver's jitter buffer need not hold the burst; what comes steadily leaves at once. What
// stays behind for good, because the app's clock is fast or this thread was held up, leaves at twice the pace until it is
// gone. Pure: no clock.

internal import RTCBase

/// The time of the next block.
struct AudioPace: Sendable {
    /// When the stream would be exactly on time again; earlier by the tolerance may leave.
    private var next: MonotonicTime?
    private var isDraining = false
    /// Since when every chunk has found blocks of the one before it.
    private var backlogSince: MonotonicTime?

    /// A chunk came and found `waiting` complete blocks.
    mutating func onPushed(waiting: Int, now: MonotonicTime) {
        guard waiting >= Self.backlogBlocks else { return backlogSince = nil }
        let since = backlogSince ?? now
        backlogSince = since
        if now.milliseconds(since: since) >= Self.backlogMilliseconds { isDraining = true }
    }

    /// Nanoseconds until the oldest block may leave; 0 or less means now.
    func waitNanoseconds(now: MonotonicTime) -> Int64 {
        guard let next else { return 0 }
        return next.nanoseconds(since: now) &- Self.toleranceNanoseconds
    }

    /// A block left, and `waiting` are behind it.
    mutating func onSent(waiting: Int, now: MonotonicTime) {
        var base = max(next ?? now, now)
        if waiting == 0 {
            // What comes next is on time again.
            if isDraining { base = now }
            isDraining = false
            backlogSince = nil
        }
        base = base.adding(nanoseconds: isDraining ? Self.intervalNanoseconds / 2 : Self.intervalNanoseconds)
        next = base
    }

    /// Half a per cent under 20 ms: an app whose clock is a little fast is followed without a queue.
    private static let intervalNanoseconds: Int64 = 19_900_000
    /// Jitter of the pushes that does not hold a block up.
    private static let toleranceNanoseconds: Int64 = 20_000_000
    private static let backlogBlocks = 2
    private static let backlogMilliseconds = 500.0
}

/// RTP times at 48 kHz: without a gap while the source runs, and forward by the length of a pause after one.
struct AudioTimeline: Sendable {
    /// Of the next block.
    private var next: Int64?
    /// What the stream is ahead of the capture times by, so that a clock that drifts is no pause.
    private var lead = 0.0

    /// The media time of a block captured at `captured48kHz` with `samples` samples per channel at 48 kHz.
    mutating func stamp(captured48kHz: Int64, samples: Int) -> Int64 {
        var time = captured48kHz
        if let next {
            let late = Double(captured48kHz &- next) + lead
            if late > Double(AudioInput.gapTicks) {
                lead = 0
                time = max(captured48kHz, next)
            } else {
                // Follows in ten seconds or so.
                lead -= late / 512
                time = next
            }
        }
        next = time &+ Int64(samples)
        return time
    }
}
