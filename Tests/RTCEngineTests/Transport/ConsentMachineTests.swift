import RTCBase
import RTCEngine
import RTCSimulation
import RTCWire
import Testing

@Suite("ICE-07 consent freshness")
struct ConsentMachineTests {
    /// A peer behind a path, in virtual time: answers arrive `delayMilliseconds` after a check that is not lost.
    private struct Path {
        var machine: ConsentMachine
        var random: SplitMix64
        var now = MonotonicTime(milliseconds: 1_000_000)
        var checks: [(transaction: STUNTransaction, time: MonotonicTime)] = []
        var expiredAt: MonotonicTime?
        private var answers: [(transaction: STUNTransaction, time: MonotonicTime)] = []

        init(seed: UInt64 = 1, settings: ConsentMachine.Settings = ConsentMachine.Settings()) {
            machine = ConsentMachine(settings: settings)
            random = SplitMix64(seed: seed)
            machine.onSelectedPair(now: now, using: &random)
        }

        /// Runs until `end`, which is relative to the start; `delay` says for each check, by its number from 0, when its answer
        /// comes, or nil.
        mutating func run(milliseconds: Int64, delay: (Int) -> Int64?) {
            let end = now.adding(milliseconds: milliseconds)
            while true {
                let next = [machine.nextDeadline, answers.map(\.time).min()].compactMap(\.self).min()
                guard let next, next <= end else { break }
                now = max(now, next)
                for answer in answers.filter({ $0.time <= now }) { machine.handleAnswer(answer.transaction, now: now) }
                answers.removeAll { $0.time <= now }
                switch machine.handleTimeout(now: now, using: &random) {
                case .none: break
                case .expired: expiredAt = now
                case .check(let transaction):
                    if let milliseconds = delay(checks.count) { answers.append((transaction, now.adding(milliseconds: milliseconds))) }
                    checks.append((transaction, now))
                }
            }
            now = end
        }

        var intervals: [Double] { zip(checks, checks.dropFirst()).map { $1.time.milliseconds(since: $0.time) } }
    }

    @Test("ICE-07 checks start 4 to 6 s apart, measured from start to start, spread over the whole range, answered or not")
    func interval() {
        for seed in UInt64(1)...20 {
            var path = Path(seed: seed)
            let begin = path.now
            // Answers take up to 3 s, and one in four never comes.
            path.run(milliseconds: 600_000) { $0 % 4 == 3 ? nil : Int64($0 % 4) * 1500 }
            #expect(path.expiredAt == nil, "seed \(seed)")
            #expect((4000...6000).contains(path.checks.first?.time.milliseconds(since: begin) ?? 0), "seed \(seed)")
            #expect(path.intervals.allSatisfy { (4000...6000).contains($0) }, "seed \(seed)")
            #expect((path.intervals.min() ?? 0) < 4400 && (path.intervals.max() ?? 0) > 5600, "seed \(seed)")
            #expect(Set(path.checks.map(\.transaction)).count == path.checks.count, "each check has a new transaction")
        }
    }

    @Test("ICE-07 one lost check, and any number of single ones, are harmless")
    func singleLosses() {
        var path = Path()
        path.run(milliseconds: 3_600_000) { $0 == 0 || $0 % 2 == 1 ? nil : 40 }
        #expect(path.expiredAt == nil && path.checks.count > 600)
        #expect(path.machine.checksSent == path.checks.count)
    }

    @Test("ICE-07 one answer in 30 s is enough, and it may be to an earlier check than the last")
    func rareAnswers() {
        var path = Path()
        path.run(milliseconds: 3_600_000) { $0 % 4 == 0 ? 9_000 : nil }
        #expect(path.expiredAt == nil)
    }

    @Test("ICE-07 consent expires 30 s after the last valid answer, once, and ends the checks")
    func expiry() {
        var path = Path()
        path.run(milliseconds: 60_000) { _ in 100 }
        let lastAnswer = path.checks.last?.time.adding(milliseconds: 100)
        path.run(milliseconds: 120_000) { _ in nil }
        #expect(path.expiredAt == lastAnswer?.adding(milliseconds: 30_000))
        #expect(path.machine.isExpired && path.machine.nextDeadline == nil)
        let count = path.checks.count
        #expect(path.machine.handleTimeout(now: path.now, using: &path.random) == .none, "told once")
        // RFC 7675 §5.1: a late answer does not bring it back, nor does another pair.
        if let last = path.checks.last { #expect(path.machine.handleAnswer(last.transaction, now: path.now) == false) }
        path.machine.onSelectedPair(now: path.now, using: &path.random)
        path.run(milliseconds: 60_000) { _ in 100 }
        #expect(path.checks.count == count && path.machine.isExpired)
    }

    @Test("ICE-07 without any answer the first 30 s are ICE's own consent")
    func neverAnswered() {
        var path = Path()
        let begin = path.now
        path.run(milliseconds: 60_000) { _ in nil }
        #expect(path.expiredAt == begin.adding(milliseconds: 30_000))
        #expect((5...7).contains(path.checks.count))
    }

    @Test("ICE-07 an answer to no check under way, a second answer to one, and one that is 10 s late are not counted")
    func invalidAnswers() throws {
        var path = Path()
        path.run(milliseconds: 6_000) { _ in nil }
        let first = try #require(path.checks.first)
        #expect(path.machine.handleAnswer(STUNTransaction(high: 1, low: 2), now: path.now) == false)
        #expect(path.machine.handleAnswer(first.transaction, now: path.now) == true)
        #expect(path.machine.handleAnswer(first.transaction, now: path.now) == false)
        #expect(path.machine.answers == 1)
        let expected = path.now.adding(milliseconds: 30_000)
        path.run(milliseconds: 60_000) { _ in 10_001 }
        #expect(path.expiredAt == expected, "none of the late answers moved the end")
    }

    @Test("ICE-07 another selected pair brings consent of its own; answers to checks on the one before no longer count")
    func anotherPair() throws {
        var path = Path()
        path.run(milliseconds: 28_000) { _ in nil }
        let old = try #require(path.checks.last)
        path.machine.onSelectedPair(now: path.now, using: &path.random)
        let begin = path.now
        #expect(path.machine.handleAnswer(old.transaction, now: path.now) == false)
        path.run(milliseconds: 60_000) { _ in nil }
        #expect(path.expiredAt == begin.adding(milliseconds: 30_000))
    }

    @Test("ICE-07 a late timer: the interval counts from the check that left, and an end that has passed is told first")
    func lateTimer() throws {
        var path = Path()
        let due = try #require(path.machine.nextDeadline)
        let late = due.adding(milliseconds: 8_000)
        guard case .check = path.machine.handleTimeout(now: late, using: &path.random) else {
            Issue.record("no check")
            return
        }
        let next = try #require(path.machine.nextDeadline)
        #expect((4000...6000).contains(next.milliseconds(since: late)))
        #expect(path.machine.handleTimeout(now: late.adding(milliseconds: 60_000), using: &path.random) == .expired)
    }

    @Test("stopped means no check and no expiry, until another pair is selected")
    func stopped() {
        var path = Path()
        path.run(milliseconds: 10_000) { _ in 40 }
        let count = path.checks.count
        path.machine.stop()
        #expect(path.machine.nextDeadline == nil && !path.machine.isExpired)
        path.machine.onSelectedPair(now: path.now, using: &path.random)
        path.run(milliseconds: 10_000) { _ in 40 }
        #expect(path.checks.count > count)
    }

    @Test("nothing is due before the first pair")
    func idle() {
        var machine = ConsentMachine()
        var random = SplitMix64(seed: 1)
        #expect(machine.nextDeadline == nil && !machine.isExpired)
        #expect(machine.handleTimeout(now: MonotonicTime(milliseconds: 1), using: &random) == .none)
        #expect(machine.handleAnswer(STUNTransaction(high: 0, low: 0), now: MonotonicTime(milliseconds: 1)) == false)
    }
}
