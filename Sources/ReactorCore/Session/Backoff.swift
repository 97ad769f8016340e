/// Waits between the tries of one poll: pure numbers, the shell sleeps.
///
/// The session poll follows wire-protocol 2.5. The answer poll keeps the total patience of 12.6 s but asks much sooner:
/// an answer is usually ready within tens of milliseconds, and a first wait of 200 ms would be most of the time to connect.
/// A server with an ICE server that does not answer has its own answer after 3 s; doubling by then would sleep past it.
package struct Backoff: Sendable {
    /// Some steps of one length.
    package struct Steady: Sendable {
        package var milliseconds: Int
        package var steps: Int

        package init(milliseconds: Int, steps: Int) {
            self.milliseconds = milliseconds
            self.steps = steps
        }
    }

    /// The steps before doubling starts, last ones first.
    private var steady: [Steady]
    /// Wait of the next step once the steady ones are done, in milliseconds.
    private var nextMilliseconds: Int
    private let capMilliseconds: Int
    /// Attempts left, when the schedule counts them.
    private var remainingAttempts: Int?
    /// Milliseconds of waiting left, when the schedule counts those.
    private var remainingMilliseconds: Int?
    /// Attempts made so far: what the error text names.
    package private(set) var attempts = 0

    /// `GET /sessions/{id}`: 0.2 s doubling up to 10 s, 20 attempts.
    package static var sessionPoll: Backoff {
        Backoff(nextMilliseconds: 200, capMilliseconds: 10_000, remainingAttempts: 20)
    }

    /// `GET .../sdp_params`: at once, then every 15 ms for about 400 ms, every 50 ms until 4 s, then doubling up to 2 s, 12.6 s
    /// in all.
    package static var answerPoll: Backoff {
        Backoff(
            steady: [Steady(milliseconds: 15, steps: 27), Steady(milliseconds: 50, steps: 72)], nextMilliseconds: 100,
            capMilliseconds: 2_000, remainingMilliseconds: 12_600)
    }

    /// A local start that found the runtime closing the session before (wire-protocol 3.1): for two seconds.
    package static var localClosing: Backoff {
        Backoff(
            steady: [Steady(milliseconds: 25, steps: 3)], nextMilliseconds: 25, capMilliseconds: 200, remainingMilliseconds: 2_000)
    }

    package init(
        steady: [Steady] = [], nextMilliseconds: Int, capMilliseconds: Int, remainingAttempts: Int? = nil,
        remainingMilliseconds: Int? = nil
    ) {
        self.steady = steady.reversed()
        self.nextMilliseconds = nextMilliseconds
        self.capMilliseconds = capMilliseconds
        self.remainingAttempts = remainingAttempts
        self.remainingMilliseconds = remainingMilliseconds
    }

    /// Called after an attempt that found nothing: how long to wait before the next one; `nil` gives up. Other clients also
    /// wait after the last attempt, for nothing; this one does not.
    package mutating func nextDelay() -> Duration? {
        attempts += 1
        if let left = remainingAttempts {
            guard left > 1 else { return nil }
            remainingAttempts = left - 1
        }
        var milliseconds = steady.last?.milliseconds ?? nextMilliseconds
        if let left = remainingMilliseconds {
            guard left > 0 else { return nil }
            milliseconds = min(milliseconds, left)
            remainingMilliseconds = left - milliseconds
        }
        if var stage = steady.popLast() {
            stage.steps -= 1
            if stage.steps > 0 { steady.append(stage) }
        } else {
            nextMilliseconds = min(nextMilliseconds * 2, capMilliseconds)
        }
        return .milliseconds(milliseconds)
    }
}
