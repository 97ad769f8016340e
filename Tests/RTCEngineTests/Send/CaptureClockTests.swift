import RTCBase
import RTCEngine
import Testing

@Suite("CaptureClock")
struct CaptureClockTests {
    private func ticks(_ time: MonotonicTime) -> UInt32 { UInt32(truncatingIfNeeded: time.nanoseconds / 100_000 * 9) }

    @Test("captures on the monotonic clock tell exactly, however long the encoder took")
    func monotonic() {
        var clock = CaptureClock(ticksPerSecond: 90_000)
        for index in 0..<50 as Range<Int64> {
            let capture = start.adding(milliseconds: index * 33)
            clock.noteCapture(ticks(capture), now: capture.adding(milliseconds: 5 + index % 20), shared: nil)
        }
        #expect(clock.offset == 0)
        let tick = clock.tick(before: start.adding(nanoseconds: 12_345))
        #expect(tick.timestamp == ticks(start) &+ 1)
        #expect(tick.time == start.adding(nanoseconds: 11_111))
    }

    @Test("a clock of the app's own gets an offset, and another stream on it the same")
    func foreign() {
        var first = CaptureClock(ticksPerSecond: 90_000)
        var second = CaptureClock(ticksPerSecond: 90_000)
        let base: UInt32 = .max - 1000
        first.noteCapture(base, now: start.adding(milliseconds: 20), shared: nil)
        second.noteCapture(base &+ 3000, now: start.adding(milliseconds: 80), shared: first.offset)
        #expect(first.offset == second.offset && first.offset != 0)
        // A jump of that clock is followed.
        first.noteCapture(base &+ 900_000, now: start.adding(milliseconds: 120), shared: first.offset)
        #expect(first.offset != second.offset)
    }

    @Test("audio: the packet with the least delay tells, drift is followed")
    func audio() {
        var clock = CaptureClock(ticksPerSecond: 48_000)
        var samples: UInt32 = 0
        for index in 0..<500 as Range<Int64> {
            samples &+= 960
            let delay: Int64 = [9, 0, 4, 15][Int(index % 4)]
            clock.noteSamples(until: samples, now: start.adding(milliseconds: 20 * (index + 1) + delay))
        }
        let end = start.adding(milliseconds: 20 * 500)
        #expect(abs(Int32(bitPattern: clock.tick(before: end).timestamp &- samples)) < 8)
        // The counter stood still for a second.
        clock.noteSamples(until: samples &+ 960, now: end.adding(milliseconds: 1020))
        #expect(clock.tick(before: end.adding(milliseconds: 1020)).timestamp == samples &+ 960)
    }
}
