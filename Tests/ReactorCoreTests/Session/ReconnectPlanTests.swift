import Testing

@testable import ReactorCore

@Suite struct ReconnectPlanTests {
    private static let second: Int64 = 1_000_000_000

    private func plan(_ attempts: Int, initial: Int64 = 100, max: Int64 = 1000) -> ReconnectPlan {
        ReconnectPlan(maxAttempts: attempts, initialDelay: initial, maxDelay: max)
    }

    @Test("C9.9 waits double up to the longest, and the last attempt is the last")
    func delays() {
        var plan = plan(6)
        var delays = [plan.lost(published: [], now: 0, random: 0)]
        while plan.begin() { delays.append(plan.failed(isRecoverable: true, random: 0)) }
        #expect(delays == [100, 200, 400, 800, 1000, 1000, nil])
        #expect(plan.phase == .idle)
    }

    @Test("C9.9 a random part of up to a quarter is taken off, whatever the number given")
    func random() {
        for (random, expected) in [(0.5, 88), (1, 75), (7, 75), (-1, 100)] as [(Double, Int64)] {
            var plan = plan(1)
            let result1 = plan.lost(published: [], now: 0, random: random)
            #expect(result1 == expected)
        }
    }

    @Test("X-21 nothing overflows: huge and negative delays, many attempts")
    func extremes() {
        var plan = plan(100, initial: .max, max: .max)
        let result2 = plan.lost(published: [], now: 0, random: 0)
        #expect(result2 == .max)
        for _ in 0..<99 {
            let result3 = plan.begin()
            #expect(result3)
            let result4 = plan.failed(isRecoverable: true, random: 0)
            #expect(result4 == .max)
        }
        var hasty = ReconnectPlan(maxAttempts: 50, initialDelay: -5, maxDelay: -7)
        let result5 = hasty.lost(published: [], now: 0, random: 0)
        #expect(result5 == 0)
        var none = ReconnectPlan(maxAttempts: -1, initialDelay: 1, maxDelay: 1)
        let result6 = none.lost(published: [], now: 0, random: 0)
        #expect(result6 == nil)
    }

    @Test("C9.9 what cannot be repaired is not tried again")
    func final() {
        var plan = plan(5)
        _ = plan.lost(published: ["a"], now: 0, random: 0)
        let result7 = plan.begin()
        #expect(result7)
        let result8 = plan.failed(isRecoverable: false, random: 0)
        #expect(result8 == nil)
        let begins = plan.begin()
        #expect(plan.phase == .idle && !begins)
    }

    @Test("C9.9 tracks published at the loss come back once, also when it took several losses")
    func published() {
        var plan = plan(5)
        _ = plan.lost(published: ["webcam", "mic"], now: 0, random: 0)
        let result9 = plan.begin()
        #expect(result9)
        _ = plan.failed(isRecoverable: true, random: 0)
        let result10 = plan.begin()
        #expect(result10)
        let result11 = plan.succeeded(now: Self.second)
        #expect(result11 == ["mic", "webcam"])
        // Lost again when one of them was published.
        plan.settled("mic")
        _ = plan.lost(published: ["mic"], now: 2 * Self.second, random: 0)
        let result12 = plan.begin()
        #expect(result12)
        let result13 = plan.succeeded(now: 3 * Self.second)
        #expect(result13 == ["mic", "webcam"])
        plan.settled("mic")
        plan.settled("webcam")
        _ = plan.lost(published: [], now: 20 * Self.second, random: 0)
        let result14 = plan.begin()
        #expect(result14)
        let result15 = plan.succeeded(now: 21 * Self.second)
        #expect(result15 == [])
    }

    @Test("C9.9 a connection that does not hold uses up attempts; one that held ten seconds starts anew")
    func flapping() {
        var plan = plan(3)
        var delays: [Int64?] = [plan.lost(published: [], now: 0, random: 0)]
        for step in 1...3 {
            let result16 = plan.begin()
            #expect(result16)
            _ = plan.succeeded(now: Int64(step) * Self.second)
            delays.append(plan.lost(published: [], now: Int64(step) * Self.second + 1, random: 0))
        }
        #expect(delays == [100, 200, 400, nil])
        var steady = self.plan(1)
        for step in 0..<5 {
            let result17 = steady.lost(published: [], now: Int64(step) * 20 * Self.second, random: 0)
            #expect(result17 == 100)
            let result18 = steady.begin()
            #expect(result18)
            _ = steady.succeeded(now: Int64(step) * 20 * Self.second)
        }
    }

    @Test("C2 the app's own calls end it: an attempt that was waited for does not begin, one that runs has no follower")
    func stopped() {
        var waiting = plan(5)
        _ = waiting.lost(published: [], now: 0, random: 0)
        waiting.stop()
        let result19 = waiting.begin()
        #expect(!result19)
        var running = plan(5)
        _ = running.lost(published: ["a"], now: 0, random: 0)
        let result20 = running.begin()
        #expect(result20)
        #expect(running.phase == .attempting)
        running.stop()
        let result21 = running.failed(isRecoverable: true, random: 0)
        #expect(result21 == nil)
        let result22 = running.succeeded(now: 0)
        #expect(result22.isEmpty)
    }
}
