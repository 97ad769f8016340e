import Glibc
import RTCBase
import RTCTransport
import Synchronization
import Testing

@Suite("Network executor")
struct NetworkExecutorTests {
    /// An actor on the network thread, as `PeerConnection` is.
    private actor OnNetwork {
        nonisolated let executor: NetworkExecutor
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
        private var log: [Int] = []

        init(_ executor: NetworkExecutor) { self.executor = executor }

        func append(_ value: Int) {
            #expect(executor.isOnThread)
            log.append(value)
        }
        func values() -> [Int] { log }
    }

    @Test("closures of one thread run in the order they were given, on the network thread")
    func order() async {
        let executor = NetworkExecutor(name: "order")
        let seen = Mutex<[Int]>([])
        await withCheckedContinuation { continuation in
            for i in 0..<1000 {
                executor.execute {
                    #expect(executor.isOnThread)
                    seen.withLock { $0.append(i) }
                }
            }
            executor.execute { continuation.resume() }
        }
        #expect(seen.withLock { $0 } == Array(0..<1000))
        #expect(!executor.isOnThread)
    }

    @Test("closures enqueued by the thread itself run after what was there before")
    func orderFromInside() async {
        let executor = NetworkExecutor(name: "inside")
        let seen = Mutex<[String]>([])
        await withCheckedContinuation { continuation in
            executor.execute {
                executor.execute {
                    seen.withLock { $0.append("inner") }
                    continuation.resume()
                }
                seen.withLock { $0.append("outer") }
            }
        }
        #expect(seen.withLock { $0 } == ["outer", "inner"])
    }

    @Test("nothing is lost when many threads enqueue")
    func manyThreads() async {
        let executor = NetworkExecutor(name: "many")
        let actor = OnNetwork(executor)
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask { @concurrent in
                    for i in 0..<250 { await actor.append(task * 250 + i) }
                }
            }
        }
        let values = await actor.values()
        #expect(values.sorted() == Array(0..<2000))
    }

    @Test("a sleeping thread is woken by each of many single enqueues")
    func wakeUps() async {
        let executor = NetworkExecutor(name: "wake")
        for _ in 0..<500 {
            await withCheckedContinuation { continuation in executor.execute { continuation.resume() } }
        }
    }

    @Test("a C callback's place, the network thread, may enter the actor with assumeIsolated")
    func assumeIsolated() async {
        let executor = NetworkExecutor(name: "assume")
        let actor = OnNetwork(executor)
        await withCheckedContinuation { continuation in
            executor.execute {
                actor.assumeIsolated { $0.append(7) }
                continuation.resume()
            }
        }
        #expect(await actor.values() == [7])
        #expect(executor.isIsolatingCurrentContext() == false)
    }

    @Test("timers fire in the order of their deadlines, once, and can be set again from inside")
    func timers() async {
        let executor = NetworkExecutor(name: "timers")
        let timers = TimerBox()
        let order = await withCheckedContinuation { (continuation: CheckedContinuation<[String], Never>) in
            executor.execute {
                let now = executor.now
                let seen = Mutex<[String]>([])
                let late = executor.makeTimer {
                    seen.withLock { $0.append("late") }
                    continuation.resume(returning: seen.withLock { $0 })
                }
                var rounds = 0
                let again = executor.makeTimer {
                    rounds += 1
                    seen.withLock { $0.append("again \(rounds)") }
                    if rounds < 3 { timers.all[1].set(deadline: executor.now.adding(milliseconds: 1)) }
                    if rounds == 3 { late.set(deadline: executor.now) }
                }
                let disarmed = executor.makeTimer { seen.withLock { $0.append("disarmed") } }
                let cancelled = executor.makeTimer { seen.withLock { $0.append("cancelled") } }
                timers.all = [late, again, disarmed, cancelled]
                disarmed.set(deadline: now)
                disarmed.set(deadline: nil)
                cancelled.set(deadline: now)
                cancelled.cancel()
                again.set(deadline: now.adding(milliseconds: 2))
            }
        }
        #expect(order == ["again 1", "again 2", "again 3", "late"])
        executor.execute { timers.all.removeAll() }
    }

    @Test("a timer never fires before its deadline")
    func notEarly() async {
        let executor = NetworkExecutor(name: "early")
        let timers = TimerBox()
        for nanoseconds in [1_000_001, 2_345_678, 999] as [Int64] {
            let early = await withCheckedContinuation { (continuation: CheckedContinuation<Int64, Never>) in
                executor.execute {
                    let deadline = executor.now.adding(nanoseconds: nanoseconds)
                    let timer = executor.makeTimer { continuation.resume(returning: executor.now.nanoseconds(since: deadline)) }
                    timers.all = [timer]
                    timer.set(deadline: deadline)
                }
            }
            #expect(early >= 0)
        }
    }

    @Test("a timer that is let go of, also from its own callback, releases its closure")
    func timerRelease() async {
        final class Token: Sendable {}
        let executor = NetworkExecutor(name: "release")
        let timers = TimerBox()
        weak let weakToken: Token? = await withCheckedContinuation { continuation in
            executor.execute {
                let token = Token()
                let timer = executor.makeTimer {
                    timers.all.removeAll()
                    continuation.resume(returning: token)
                }
                timers.all = [timer]
                timer.set(deadline: executor.now)
            }
        }
        await withCheckedContinuation { continuation in executor.execute { continuation.resume() } }
        #expect(weakToken == nil)
    }

    @Test("work that keeps enqueuing work does not keep timers and sockets from running")
    func noStarvation() async {
        let executor = NetworkExecutor(name: "starve")
        let stop = Atomic(false)
        let timers = TimerBox()
        @Sendable func again() { if !stop.load(ordering: .relaxed) { executor.execute(again) } }
        await withCheckedContinuation { continuation in
            executor.execute {
                let timer = executor.makeTimer { continuation.resume() }
                timers.all = [timer]
                timer.set(deadline: executor.now.adding(milliseconds: 1))
                again()
            }
        }
        stop.store(true, ordering: .relaxed)
    }
}

/// Keeps timers of a test alive. Sendable because only closures on the one network thread touch it.
private final class TimerBox: @unchecked Sendable {
    var all: [NetworkTimer] = []
}
