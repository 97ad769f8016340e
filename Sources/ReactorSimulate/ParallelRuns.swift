import RTCSimulation

/// Runs on as many cores as asked for; results come in the order of the runs.
enum ParallelRuns {
    static func run(
        count: Int, jobs: Int, scenario: @escaping @Sendable (Int) -> Scenario, handle: (Outcome) -> Void
    ) async {
        await withTaskGroup(of: (Int, Outcome).self) { group in
            var next = 0
            var handled = 0
            var waiting: [Int: Outcome] = [:]
            func start() {
                guard next < count else { return }
                let index = next
                next += 1
                group.addTask { (index, Outcome(scenario(index))) }
            }
            for _ in 0..<jobs { start() }
            while let (index, outcome) = await group.next() {
                start()
                waiting[index] = outcome
                while let ready = waiting.removeValue(forKey: handled) {
                    handle(ready)
                    handled += 1
                }
            }
        }
    }
}
