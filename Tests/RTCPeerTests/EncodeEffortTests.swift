import RTCBase
import Testing

@testable import RTCPeer

@Suite("EncodeEffort")
struct EncodeEffortTests {
    private struct Player {
        var effort = EncodeEffort()
        var now = MonotonicTime(milliseconds: 0)
        var changes = 0

        /// Pictures at 30 per second that take so many milliseconds.
        mutating func play(seconds: Double, milliseconds: (EncodeEffort) -> Double) {
            for _ in 0..<Int(seconds * 30) {
                let before = effort.isReduced
                effort.onEncoded(nanoseconds: Int64(milliseconds(effort) * 1e6), available: 33_333_333, now: now)
                if effort.isReduced != before { changes += 1 }
                now = now.adding(nanoseconds: 33_333_333)
            }
        }
    }

    @Test("an encoder that keeps up is left alone, single late pictures too")
    func keepsUp() {
        var player = Player()
        for _ in 0..<60 {
            player.play(seconds: 0.5) { _ in 12 }
            player.effort.onEncoded(nanoseconds: 150_000_000, available: 33_333_333, now: player.now)
        }
        #expect(!player.effort.isReduced)
    }

    @Test("one that takes longer than there is saves time within two seconds, and goes back when there is time to spare")
    func busy() {
        var player = Player()
        player.play(seconds: 2) { _ in 40 }
        #expect(player.effort.isReduced)
        player.play(seconds: 8) { _ in 8 }
        #expect(player.effort.isReduced)
        player.play(seconds: 5) { _ in 8 }
        #expect(!player.effort.isReduced)
        #expect(player.changes == 2)
    }

    @Test("two thirds of the time is too much already: the machine has no room left for anything else")
    func crowded() {
        var player = Player()
        player.play(seconds: 5) { _ in 19 }
        #expect(!player.effort.isReduced)
        player.play(seconds: 5) { _ in 22.5 }
        #expect(player.effort.isReduced)
    }

    @Test("a machine that is just quick enough for the reduced effort does not swing")
    func noSwing() {
        var player = Player()
        player.play(seconds: 600) { $0.isReduced ? 20 : 35 }
        #expect(player.changes == 1)
        // Nor one that seems idle at it: the way back is tried less and less often.
        player.play(seconds: 1200) { $0.isReduced ? 8 : 35 }
        #expect(player.changes < 20)
    }
}
