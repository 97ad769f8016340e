// Which RTP timestamp stands for "now", for sender reports (RFC 3550 §6.4.1): they tie the media clock to the wall clock,
// and the far end plays streams in step by them. In: timestamps of frames and when they came from the encoder. Video is
// stamped with capture times; as a rule they are readings of the process-wide monotonic clock, and then they tell exactly.
// Audio counts samples, and the newest one was heard just before its packet came. Left out: the random offset.

package import RTCBase

/// The relation of one stream's media clock to monotonic time. All arithmetic is modulo 2^32 ticks.
package struct CaptureClock: Sendable {
    private let ticksPerSecond: Int64
    /// Media ticks minus monotonic ticks; nil before the first frame.
    package private(set) var offset: UInt32?

    package init(ticksPerSecond: Int) { self.ticksPerSecond = Int64(ticksPerSecond) }

    /// A video frame with this capture time came at `now`.
    ///
    /// - Parameter shared: the offset that another stream of the connection found; used before one is made up, so that
    ///   frames with one capture time get one wall-clock time.
    package mutating func noteCapture(_ timestamp: UInt32, now: MonotonicTime, shared: UInt32?) {
        if let offset, isPlausible(timestamp, now: now, offset: offset) { return }
        if isPlausible(timestamp, now: now, offset: 0) {
            offset = 0
        } else if let shared, isPlausible(timestamp, now: now, offset: shared) {
            offset = shared
        } else {
            offset = timestamp &- ticks(now)
        }
    }

    /// An audio packet came at `now` whose last sample has the number before `end`.
    package mutating func noteSamples(until end: UInt32, now: MonotonicTime) {
        let candidate = end &- ticks(now)
        guard let offset else { return self.offset = candidate }
        // The packet that came soonest after its last sample tells best; drift of up to 1000 ppm is followed.
        let difference = Int64(Int32(bitPattern: candidate &- offset))
        if difference > 0 || difference < -ticksPerSecond / 5 {
            self.offset = candidate
        } else if difference < 0 {
            self.offset = offset &- 1
        }
    }

    /// The last tick before `now`, and when it was: a report made of them is exact, however coarse the ticks are, so that
    /// frames of two streams with one capture time get one wall-clock time.
    package func tick(before now: MonotonicTime) -> (timestamp: UInt32, time: MonotonicTime) {
        let (seconds, rest) = now.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let ticks = rest &* ticksPerSecond / 1_000_000_000
        let time = MonotonicTime(nanoseconds: seconds &* 1_000_000_000 &+ ticks &* 1_000_000_000 / ticksPerSecond)
        return (self.ticks(now) &+ (offset ?? 0), time)
    }

    /// From a little ahead of now to two seconds ago.
    private func isPlausible(_ timestamp: UInt32, now: MonotonicTime, offset: UInt32) -> Bool {
        let age = Int64(Int32(bitPattern: ticks(now) &+ offset &- timestamp))
        return age >= -ticksPerSecond / 20 && age <= 2 * ticksPerSecond
    }

    private func ticks(_ time: MonotonicTime) -> UInt32 {
        let (seconds, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return UInt32(truncatingIfNeeded: seconds &* ticksPerSecond &+ rest &* ticksPerSecond / 1_000_000_000)
    }
}
