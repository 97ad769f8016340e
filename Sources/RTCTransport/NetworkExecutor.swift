// The network thread: one thread iterating a GLib main context, which is at the same time a Swift serial executor.
//
// In: jobs of actors bound to this executor, closures from any thread, timers and the sources that libnice attaches to the
// context. Out: all of it run on the one thread, jobs and closures in the order they were enqueued. An actor on this
// executor may be entered from a C callback with `assumeIsolated`. The thread lives as long as the process.

private import CNice
private import Glibc
package import RTCBase
private import Synchronization

/// Runs actor jobs, closures, timers and transport callbacks on the network thread.
package final class NetworkExecutor: SerialExecutor {
    /// The one network thread of the process; started by the first use.
    package static let shared = NetworkExecutor(name: "reactor-net")

    private enum Work {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private struct State {
        /// What is to run next, in order.
        var pending: [Work] = []
        /// The thread is blocked in the main context or about to be; the next enqueue has to wake it.
        var isSleeping = false
    }

    private let state = Mutex(State())
    /// Counts enqueues. Says what the lock says already, in a form that the thread sanitizer sees: what was written before an
    /// enqueue is seen by the work. (The slow path of `Mutex` on Linux is not instrumented.)
    private let enqueued = Atomic<UInt64>(0)
    private let thread = Atomic<pthread_t>(0)
    /// GLib locks the context itself; the pointer never changes and is never freed.
    nonisolated(unsafe) let context: OpaquePointer

    /// Starts a network thread of its own. Everything but tests uses `shared`.
    package init(name: String) {
        context = rnice_context_new()
        start(name: name)
    }

    // MARK: Executor

    package func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    package func isIsolatingCurrentContext() -> Bool? { isOnThread }

    package func checkIsolated() { precondition(isOnThread, "Expected to be on the network thread") }

    // MARK: Closures, time, timers

    /// Whether the caller is on this executor's thread.
    package var isOnThread: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    /// Runs `body` on the network thread, after everything enqueued before it. Any thread.
    package func execute(_ body: @escaping @Sendable () -> Void) { add(.closure(body)) }

    /// The clock of all deadlines: CLOCK_MONOTONIC.
    package static func now() -> MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    package var now: MonotonicTime { Self.now() }

    /// A disarmed timer that calls `fire` on the network thread. Network thread only.
    package func makeTimer(_ fire: @escaping () -> Void) -> NetworkTimer { NetworkTimer(context: context, fire: fire) }

    // MARK: Thread

    private func add(_ work: Work) {
        let mustWake = state.withLock { state in
            state.pending.append(work)
            enqueued.add(1, ordering: .acquiringAndReleasing)
            defer { state.isSleeping = false }
            return state.isSleeping
        }
        // On the network thread itself the queue is looked at again before the next blocking wait.
        if mustWake, !isOnThread { rnice_context_wake(context) }
    }

    private func start(name: String) {
        // The thread keeps the executor alive for as long as it runs, that is forever.
        let box = Unmanaged.passRetained(ThreadStart(executor: self, name: name))
        var id = pthread_t()
        let result = pthread_create(&id, nil, runNetworkThread, box.toOpaque())
        precondition(result == 0, "pthread_create: \(result)")
        pthread_detach(id)
    }

    fileprivate func run() {
        thread.store(pthread_self(), ordering: .relaxed)
        rnice_context_acquire(context)
        var batch: [Work] = []
        while true {
            // One batch at a time, then the context: work that enqueues more work must not starve the sockets.
            state.withLock { state in
                swap(&batch, &state.pending)
                _ = enqueued.load(ordering: .acquiring)
            }
            for work in batch {
                switch work {
                case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                case .closure(let body): body()
                }
            }
            batch.removeAll(keepingCapacity: true)
            let isEmpty = state.withLock { state in
                state.isSleeping = state.pending.isEmpty
                return state.isSleeping
            }
            rnice_context_iterate(context, isEmpty ? 1 : 0)
        }
    }
}

/// A one-shot timer on the network thread that can be set again; used on the network thread only.
///
/// Letting go of the timer cancels it.
package final class NetworkTimer {
    /// What GLib holds: kept alive by the source until it is destroyed and a running call has returned.
    fileprivate final class Callback {
        var fire: (() -> Void)?
        init(fire: @escaping () -> Void) { self.fire = fire }
    }

    private let timer: OpaquePointer
    private let callback: Callback

    fileprivate init(context: OpaquePointer, fire: @escaping () -> Void) {
        callback = Callback(fire: fire)
        timer = rnice_timer_new(context, timerFired, Unmanaged.passRetained(callback).toOpaque(), timerReleased)
    }

    deinit { rnice_timer_free(timer) }

    /// Fires once at or shortly after `deadline`, at once when that has passed; `nil` disarms.
    package func set(deadline: MonotonicTime?) {
        guard let deadline else { return rnice_timer_set(timer, -1) }
        // Rounded up: a timer that fires a little early would find nothing to do and be set to the same time again.
        let microseconds = deadline.nanoseconds / 1000 + (deadline.nanoseconds % 1000 > 0 ? 1 : 0)
        rnice_timer_set(timer, max(0, microseconds))
    }

    /// Disarms for good and lets go of the closure.
    package func cancel() {
        rnice_timer_set(timer, -1)
        callback.fire = nil
    }
}

// C callbacks are free functions: a closure made in an isolated context would carry a check of that isolation with it.

private func timerFired(_ user: UnsafeMutableRawPointer?) {
    guard let user else { return }
    Unmanaged<NetworkTimer.Callback>.fromOpaque(user).takeUnretainedValue().fire?()
}

private func timerReleased(_ user: UnsafeMutableRawPointer?) {
    guard let user else { return }
    Unmanaged<NetworkTimer.Callback>.fromOpaque(user).release()
}

/// What a new network thread is told; it takes the reference over.
private final class ThreadStart: Sendable {
    let executor: NetworkExecutor
    let name: String
    init(executor: NetworkExecutor, name: String) {
        self.executor = executor
        self.name = name
    }
}

private func runNetworkThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    rnice_name_thread(start.name)
    ThreadUrgency.network.take()
    start.executor.run()
    return nil
}

/// Names the calling thread for debuggers and `top`; the kernel keeps 15 characters.
package enum ThreadName {
    package static func set(_ name: String) { rnice_name_thread(String(name.prefix(15))) }
}
