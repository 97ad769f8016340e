internal import Dispatch
internal import RTCPeer
internal import Synchronization

/// The thread on which one track's frame handlers run: a task executor, so that a frame closure is an ordinary task
/// looping over the same sequence an app would use. A handler that blocks blocks this thread alone.
///
/// The thread starts with the first handler and ends when the last reference to this object goes. When the system refuses
/// another thread, a queue that shares threads with others takes its place.
final class DeliveryThread: TaskExecutor {
    /// What the thread itself holds; it must not keep the executor alive.
    private final class Inbox: Sendable {
        struct State {
            var jobs: [UnownedJob] = []
            var isStopped = false
        }
        let state = Mutex(State())
        let wake = DispatchSemaphore(value: 0)
    }

    private let inbox = Inbox()
    private let substitute = Mutex<DispatchQueue?>(nil)

    init(name: String) {
        let inbox = self.inbox
        let isStarted = WorkerThread.start(name: "rx-" + name) { [weak self] in
            while true {
                inbox.wake.wait()
                let (jobs, isStopped) = inbox.state.withLock { state in
                    defer { state.jobs.removeAll(keepingCapacity: true) }
                    return (state.jobs, state.isStopped)
                }
                // A task retains the executor it prefers, so while there are jobs there is an executor.
                if !jobs.isEmpty, let executor = self {
                    for job in jobs { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
                }
                if isStopped { return }
            }
        }
        if !isStarted { substitute.withLock { $0 = DispatchQueue(label: "rx-" + name) } }
    }

    deinit {
        inbox.state.withLock { $0.isStopped = true }
        inbox.wake.signal()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if let queue = substitute.withLock({ $0 }) {
            return queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
        inbox.state.withLock { $0.jobs.append(job) }
        inbox.wake.signal()
    }
}
