import Testing

@testable import ReactorCore

@Suite struct BackoffTests {
    private func delays(_ backoff: Backoff) -> (milliseconds: [Int], attempts: Int) {
        var backoff = backoff
        var result: [Int] = []
        while let delay = backoff.nextDelay(), result.count < 1000 {
            result.append(Int(delay.components.attoseconds / 1_000_000_000_000_000) + Int(delay.components.seconds) * 1000)
        }
        return (result, backoff.attempts)
    }

    @Test("session poll: 0.2 s doubling up to 10 s, 20 attempts")
    func session() {
        let (milliseconds, attempts) = delays(.sessionPoll)
        #expect(milliseconds.prefix(7) == [200, 400, 800, 1600, 3200, 6400, 10_000])
        #expect(milliseconds.dropFirst(6).allSatisfy { $0 == 10_000 })
        #expect(milliseconds.count == 19)
        #expect(attempts == 20)
    }

    @Test("answer poll starts quickly and keeps its patience of 12.6 s")
    func answer() {
        let (milliseconds, _) = delays(.answerPoll)
        #expect(milliseconds.reduce(0, +) == 12_600)
        #expect(milliseconds.prefix(26).allSatisfy { $0 <= 20 })
        #expect((350...450).contains(milliseconds.filter { $0 == 15 }.reduce(0, +)))
        #expect(milliseconds.allSatisfy { $0 <= 2_000 })
        #expect(milliseconds.count < 120)
    }

    @Test("answer poll asks soon after the 3 s for which a runtime waits for its ICE servers")
    func answerAfterGathering() {
        var elapsed = 0
        for delay in delays(.answerPoll).milliseconds {
            if (450..<3_950).contains(elapsed) { #expect(delay == 50) }
            elapsed += delay
        }
    }

    @Test("the closing window is waited out for two seconds at most")
    func closing() {
        #expect(delays(.localClosing).milliseconds.reduce(0, +) == 2_000)
    }
}
