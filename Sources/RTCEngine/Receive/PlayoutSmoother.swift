// When a complete video frame is shown. In: frames as they become complete, with the media time of their RTP timestamp. Out:
// the moment before which the decode thread does not hand the picture on; nil for "at once", which is the rule. A packet
// whose retransmission is lost as well comes two round trips late: the picture stands still, and then hurries. When that is
// seen again and again every frame is held back a little, so that such a frame is late by less than a viewer notices. What
// counts is a freeze as a viewer sees it (a gap between shown frames of more than three times the mean one and 150 ms over
// it); jitter, however strong, that makes none costs nothing. Left out: waiting for packets, which is the stream's business,
// and agreement with the sound (`MediaSynchronizer` measures it).

package import RTCBase

/// The playout delay of one video stream, usually none.
package struct PlayoutSmoother: Sendable {
    /// The frame before.
    private struct Previous: Sendable {
        var ssrc: UInt32
        var timestamp: UInt32
        /// How late it was.
        var lateness: Int64
    }

    /// A freeze there would have been without any delay.
    private struct Freeze: Sendable {
        var at: MonotonicTime
        /// The least delay that hides it; 0 when that would be more than is allowed.
        var cure: Int64
    }

    /// What frames are held back at present, counted from the earliest that one of them could have been shown. Nanoseconds.
    package private(set) var delayNanoseconds: Int64 = 0

    private var previous: Previous?
    /// The previous frame's timestamp, unwrapped, in 90 kHz ticks.
    private var ticks: Int64 = 0
    /// Arrival minus media time of the quickest first packet, per half second of the window; the newest is last.
    private var quickest: [(slot: Int64, transit: Int64)] = []
    /// Between frames, by their timestamps, smoothed; nil before the second frame. Nanoseconds.
    private var interval: Int64?
    /// Of the last `memory`, oldest first.
    private var freezes: [Freeze] = []
    /// When the delay was last looked at.
    private var adjusted: MonotonicTime?

    package init() {
        quickest.reserveCapacity(Self.slots + 1)
        freezes.reserveCapacity(Self.maxFreezes)
    }

    /// Frames come in the order in which they are shown. `firstPacket` is the arrival of the earliest packet of the frame,
    /// `complete` the moment from which it could be decoded. Nil when it is to be shown at once.
    package mutating func showTime(
        ssrc: UInt32, timestamp: UInt32, firstPacket: MonotonicTime, complete: MonotonicTime
    ) -> MonotonicTime? {
        var step: Int64 = 0
        if let previous, previous.ssrc == ssrc {
            step = Int64(Int32(bitPattern: timestamp &- previous.timestamp))
        } else {
            restart()
        }
        ticks &+= step
        let media = Self.nanoseconds(ticks)
        noteTransit(firstPacket.nanoseconds &- media, now: complete)
        var lateness = complete.nanoseconds &- media &- leastTransit
        if lateness > Self.longestLateness || step < -Self.maxBackwardTicks {
            // An outage, a pause or another time base: no delay helps, and what was early before says nothing now.
            restart()
            ticks = 0
            noteTransit(firstPacket.nanoseconds, now: complete)
            lateness = complete.nanoseconds(since: firstPacket)
        } else if let previous, step > 0 {
            noteGap(mediaGap: Self.nanoseconds(step), before: previous.lateness, lateness: lateness, now: complete)
        }
        previous = Previous(ssrc: ssrc, timestamp: timestamp, lateness: lateness)
        adjust(now: complete)
        guard delayNanoseconds > 0, lateness < delayNanoseconds else { return nil }
        return complete.adding(nanoseconds: delayNanoseconds - max(lateness, 0))
    }

    /// Would the picture have stood still before this frame, had it been shown at once, and what would have hidden that?
    private mutating func noteGap(mediaGap: Int64, before: Int64, lateness: Int64, now: MonotonicTime) {
        let mean = interval ?? mediaGap
        if mediaGap <= Self.longestInterval { interval = mean + (mediaGap - mean) / 16 }
        let limit = max(3 * mean, mean + Self.noticeable)
        // A sender that makes no frames for a while is not late.
        guard mediaGap < limit, mediaGap + lateness - before > limit else { return }
        let cure = lateness + mediaGap - limit + Self.margin
        if freezes.count == Self.maxFreezes { freezes.removeFirst() }
        freezes.append(Freeze(at: now, cure: cure <= Self.maxDelayNanoseconds ? max(cure, 0) : 0))
    }

    /// At once to what is needed, and back so slowly that nobody sees it.
    private mutating func adjust(now: MonotonicTime) {
        let elapsed = max(0, now.nanoseconds(since: adjusted ?? now))
        adjusted = now
        let oldest = now.adding(nanoseconds: -Self.memory)
        freezes.removeAll { $0.at < oldest }
        let recent = now.adding(nanoseconds: -Self.attention)
        let isNeeded = delayNanoseconds > 0 || freezes.count { $0.at >= recent } >= Self.trigger
        let target = isNeeded ? freezes.lazy.map(\.cure).max() ?? 0 : 0
        delayNanoseconds = max(target, delayNanoseconds - elapsed / Self.decay)
    }

    private var leastTransit: Int64 { quickest.lazy.map(\.transit).min() ?? 0 }

    private mutating func noteTransit(_ transit: Int64, now: MonotonicTime) {
        let slot = now.nanoseconds / Self.slotNanoseconds
        quickest.removeAll { $0.slot <= slot - Int64(Self.slots) }
        if let last = quickest.last, last.slot == slot {
            quickest[quickest.count - 1].transit = min(last.transit, transit)
        } else {
            quickest.append((slot, transit))
        }
    }

    private mutating func restart() {
        quickest.removeAll(keepingCapacity: true)
        previous = nil
        interval = nil
    }

    private static func nanoseconds(_ ticks: Int64) -> Int64 { ticks &* 100_000 / 9 }

    // Nanoseconds, where nothing else is said. Chosen by simulation (Proposals/0008).
    /// Hides a third round of requests on a path of 100 ms; with more the median latency would leave 300 ms there.
    package static let maxDelayNanoseconds: Int64 = 200_000_000
    /// What makes a gap between frames a freeze.
    private static let noticeable: Int64 = 150_000_000
    /// Freezes within the time of `attention` that begin a delay.
    private static let trigger = 2
    private static let attention: Int64 = 5_000_000_000
    /// How long a freeze is remembered.
    private static let memory: Int64 = 20_000_000_000
    private static let maxFreezes = 16
    /// The delay goes back by a hundredth of the time: a third of a millisecond per frame.
    private static let decay: Int64 = 100
    /// For the clocks and threads on the way.
    private static let margin: Int64 = 5_000_000
    /// The window of the least transit, 4 s: a lasting change of the path is the new normal after that.
    private static let slots = 8
    private static let slotNanoseconds: Int64 = 500_000_000
    /// A slower sender shows single pictures, not video.
    private static let longestInterval: Int64 = 1_000_000_000
    private static let longestLateness: Int64 = 1_000_000_000
    private static let maxBackwardTicks: Int64 = 90_000
}
