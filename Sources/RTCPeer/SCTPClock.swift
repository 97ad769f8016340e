internal import RTCBase
internal import RTCTransport

/// Lets the timers of SCTP run: one timer for all connections of the process, which tick together anyway.
final class SCTPClock {
    // Used on the network thread only.
    nonisolated(unsafe) static let shared = SCTPClock()

    private var timer: NetworkTimer?
    private var isRunning = false

    /// An association exists. The clock stops by itself when none does any more.
    func start(_ executor: NetworkExecutor) {
        guard !isRunning else { return }
        if timer == nil { timer = executor.makeTimer { [unowned self] in fired(executor) } }
        arm()
    }

    private func arm() {
        let deadline = SCTPStack.shared.nextDeadline
        isRunning = deadline != nil
        timer?.set(deadline: deadline)
    }

    private func fired(_ executor: NetworkExecutor) {
        let now = executor.now
        if let deadline = SCTPStack.shared.nextDeadline, deadline <= now { SCTPStack.shared.tick(now: now) }
        arm()
    }
}
