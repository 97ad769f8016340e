// When the next 10 ms of audio are due. In: the time of the last wake-up. Out: the next deadline, on a grid from the
// start, so that late wake-ups do not add up to drift (AUD-08). The grid follows the packets slowly: a deadline just
// after a packet is needed costs less delay than one somewhere. Left out: what is due.

package import RTCBase

/// The grid of deadlines of one playout thread.
package struct PlayoutClock: Sendable {
    /// When the next block is due.
    package private(set) var deadline: MonotonicTime

    package init(start: MonotonicTime) { deadline = start.adding(nanoseconds: Self.intervalNanoseconds) }

    /// The block for `deadline` was delivered at `now`: on to the next point of the grid. A thread that is late catches up,
    /// block after block; one that slept for over a second (a suspended process) starts a new grid instead.
    package mutating func advance(now: MonotonicTime) {
        deadline = deadline.adding(nanoseconds: Self.intervalNanoseconds)
        if now.nanoseconds(since: deadline) > Self.suspensionNanoseconds {
            deadline = now.adding(nanoseconds: Self.intervalNanoseconds)
        }
    }

    /// Moves the grid towards deadlines that are `error` nanoseconds earlier, by a small step of it. In steady state this
    /// also makes the sender's clock the pace.
    package mutating func approach(error: Int64) {
        deadline = deadline.adding(nanoseconds: -max(-Self.largestStep, min(Self.largestStep, error / Self.approachDivisor)))
    }

    /// How long to wait from `now`; zero when the block is due.
    package func waitNanoseconds(now: MonotonicTime) -> Int64 { max(0, deadline.nanoseconds(since: now)) }

    package static let intervalNanoseconds: Int64 = 10_000_000
    /// 0.2 %: the largest move, 8 ms at the start of a call, takes some seconds.
    private static let largestStep: Int64 = 20_000
    private static let approachDivisor: Int64 = 200
    private static let suspensionNanoseconds: Int64 = 1_000_000_000
}
