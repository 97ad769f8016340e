#if canImport(Glibc)
    import Glibc
    import RTCTransport
    import Testing

    @testable import RTCPeer

    @Suite("WorkerThread", .timeLimit(.minutes(1)))
    struct WorkerThreadTests {
        /// How the system treats a thread.
        private struct Scheduling: Sendable, Equatable {
            var policy: Int32
            var priority: Int32
            var nice: Int32

            /// Of the calling thread.
            static var now: Scheduling {
                var parameters = sched_param()
                sched_getparam(0, &parameters)
                // The flag that children are reset is told with the policy.
                return Scheduling(
                    policy: sched_getscheduler(0) & 0xFF, priority: parameters.sched_priority,
                    nice: getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))
            }
        }

        /// A worker's scheduling, whether the system gave it its urgency, and the scheduling of an ordinary worker started by it.
        private func run(_ urgency: ThreadUrgency?) async -> (own: Scheduling, isAllowed: Bool, child: Scheduling) {
            await withCheckedContinuation { continuation in
                let started = WorkerThread.start(name: "parent", urgency: urgency) {
                    let own = Scheduling.now
                    let isAllowed = urgency?.take() ?? true
                    let started = WorkerThread.start(name: "child") {
                        continuation.resume(returning: (own, isAllowed, Scheduling.now))
                    }
                    #expect(started)
                }
                #expect(started)
            }
        }

        @Test("a worker takes its urgency where the system allows it, and what it starts is ordinary", arguments: ThreadUrgency.allCases)
        func urgency(_ urgency: ThreadUrgency) async {
            let ordinary = await run(nil)
            let hurried = await run(urgency)
            #expect(ordinary.own == ordinary.child)
            #expect(hurried.child.policy == SCHED_OTHER && hurried.child.priority == 0 && hurried.child.nice >= 0)
            guard hurried.isAllowed else {
                #expect(hurried.own == ordinary.own)
                return
            }
            switch urgency {
            case .video: #expect(hurried.own == Scheduling(policy: SCHED_OTHER, priority: 0, nice: -10))
            case .audio, .network:
                #expect(hurried.own.policy == SCHED_RR)
                #expect(hurried.own.priority == sched_get_priority_min(SCHED_RR) + urgency.rawValue - 1)
            }
        }
    }
#endif
