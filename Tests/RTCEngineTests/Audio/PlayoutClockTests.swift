import RTCBase
import RTCEngine
import RTCSimulation
import Testing

@Suite struct PlayoutClockTests {
    @Test("AUD-08 sixty seconds of late wake-ups give 100 blocks a second, without drift", arguments: [UInt64(1), 2, 3])
    func noDrift(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var now = MonotonicTime(milliseconds: 5)
        let end = now.adding(milliseconds: 60_000)
        var clock = PlayoutClock(start: now)
        var blocks = 0
        while now < end {
            // The system wakes us up to 4 ms late, now and then 80 ms.
            let late = random.next() % 50 == 0 ? 80_000_000 : Int64(random.next() % 4_000_000)
            let wait = clock.waitNanoseconds(now: now)
            if wait > 0 { now = now.adding(nanoseconds: wait + late) }
            blocks += 1
            clock.advance(now: now)
        }
        #expect(abs(blocks - 6_000) <= 9, "seed \(seed)")
    }

    @Test("a process that was suspended does not race through the past") func suspension() {
        var clock = PlayoutClock(start: MonotonicTime(milliseconds: 0))
        let now = MonotonicTime(milliseconds: 30_000)
        clock.advance(now: now)
        #expect(clock.waitNanoseconds(now: now) == PlayoutClock.intervalNanoseconds)
    }

    @Test("the grid moves to where it is wanted, slowly") func approach() {
        var clock = PlayoutClock(start: MonotonicTime(milliseconds: 0))
        var moved: Int64 = 0
        for block in 0..<3_000 as Range<Int64> {
            let before = clock.deadline
            clock.approach(error: 7_000_000 - moved)
            let step = before.nanoseconds(since: clock.deadline)
            #expect((0...20_000).contains(step))
            moved += step
            clock.advance(now: clock.deadline)
            if block == 99 { #expect(moved == 2_000_000) }
        }
        #expect((6_990_000...7_000_000).contains(moved))
    }
}
