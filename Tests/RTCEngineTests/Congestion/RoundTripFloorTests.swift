import RTCBase
import RTCEngine
import Testing

@Suite("RoundTripFloor")
struct RoundTripFloorTests {
    @Test("the shortest of the last half minute")
    func shortest() {
        var floor = RoundTripFloor()
        #expect(floor.nanoseconds == nil)
        floor.add(50, now: MonotonicTime(milliseconds: 0))
        floor.add(80, now: MonotonicTime(milliseconds: 1_000))
        floor.add(-1, now: MonotonicTime(milliseconds: 1_100))
        #expect(floor.nanoseconds == 50)
        floor.add(90, now: MonotonicTime(milliseconds: 16_000))
        #expect(floor.nanoseconds == 50)
        floor.add(95, now: MonotonicTime(milliseconds: 32_000))
        #expect(floor.nanoseconds == 90)
    }
}
