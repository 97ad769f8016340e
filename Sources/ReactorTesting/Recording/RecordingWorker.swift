internal import Dispatch
internal import RTCPeer
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#endif

/// The one thread that encodes for all recordings of the process, with lower priority than what is live. It starts with the first
/// work and ends when there has been none for a while.
final class RecordingWorker: Sendable {
    static let shared = RecordingWorker()

    private struct State {
        /// Each recorder is in it once at most.
        var waiting: [SessionRecorder] = []
        var isRunning = false
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// Any thread. `recorder.work()` runs soon; false when the system refuses a thread.
    func schedule(_ recorder: SessionRecorder) -> Bool {
        let starts = state.withLock { state in
            state.waiting.append(recorder)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        wake.signal()
        guard starts else { return true }
        if WorkerThread.start(name: "reactor-rec", { [self] in run() }) { return true }
        state.withLock { state in
            state.isRunning = false
            // The others wait for the next one that is scheduled.
            state.waiting.removeAll { $0 === recorder }
        }
        return false
    }

    private func run() {
        Self.lowerPriority()
        while true {
            let isIdle = wake.wait(timeout: .now() + .seconds(Self.idleSeconds)) == .timedOut
            let (work, ends) = state.withLock { state -> ([SessionRecorder], Bool) in
                defer { state.waiting.removeAll(keepingCapacity: true) }
                let ends = isIdle && state.waiting.isEmpty
                if ends { state.isRunning = false }
                return (state.waiting, ends)
            }
            if ends { return }
            for recorder in work { recorder.work() }
        }
    }

    /// The nice value of a thread is its own on Linux.
    private static func lowerPriority() {
        #if canImport(Glibc)
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceValue)
        #endif
    }

    private static let idleSeconds = 2
    private static let niceValue: Int32 = 5
}
