import RTCBase
import RTCSimulation
import Testing

@Suite("VirtualClock")
struct VirtualClockTests {
    @Test("goes to the earliest deadline, never backwards, never beyond the limit, never stands still")
    func advance() {
        var clock = VirtualClock(startingAt: MonotonicTime(milliseconds: 100))
        let limit = MonotonicTime(milliseconds: 200)
        clock.advance(to: [nil, MonotonicTime(milliseconds: 150), MonotonicTime(milliseconds: 120)], limit: limit)
        #expect(clock.now == MonotonicTime(milliseconds: 120))
        clock.advance(to: [MonotonicTime(milliseconds: 1)], limit: limit)
        #expect(clock.now == MonotonicTime(milliseconds: 120).adding(nanoseconds: 1))
        clock.advance(to: [nil], limit: limit)
        #expect(clock.now == limit)
        clock.advance(to: MonotonicTime(milliseconds: 1))
        #expect(clock.now == limit)
    }
}
