// RTP times of pushed pictures (RFC 3550 §5.1, 90 kHz). In: the capture time that the app gave, if any, and the time of
// the push, both on the process's monotonic clock. Out: a media time that always grows. Capture times that cannot be
// meant, or that stand still, must not stop or distort the stream; the trailer carries them as they were given.

internal import RTCBase

struct CaptureStamper: Sendable {
    private var last: Int64?

    /// The media time at 90 kHz, counted from the monotonic clock's zero; its low 32 bits are the RTP timestamp.
    ///
    /// - Parameter captureTimeMicros: 0 when the app gave none.
    mutating func stamp(captureTimeMicros: UInt64, pushed: MonotonicTime) -> Int64 {
        let pushedMicros = pushed.nanoseconds / 1000
        var time = Self.ticks(micros: pushedMicros)
        if let given = Int64(exactly: captureTimeMicros), given != 0,
            (-Self.oldestMicros...Self.futureMicros).contains(given &- pushedMicros)
        {
            let captured = Self.ticks(micros: given)
            // A capture time that went back by more than a reordered camera buffer gives way to the time of the push.
            if last.map({ captured > $0 &- Self.backwardTicks }) ?? true { time = captured }
        }
        // Two frames of one instant are a millisecond apart on the wire (wire protocol §7.5).
        if let last, time <= last { time = last &+ 90 }
        last = time
        return time
    }

    static func ticks(micros: Int64) -> Int64 { micros / 100 * 9 + micros % 100 * 9 / 100 }

    private static let oldestMicros: Int64 = 10_000_000
    private static let futureMicros: Int64 = 1_000_000
    private static let backwardTicks: Int64 = 45_000
}
