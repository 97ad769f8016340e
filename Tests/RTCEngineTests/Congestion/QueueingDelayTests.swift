import RTCEngine
import Testing

@Suite("QueueingDelay")
struct QueueingDelayTests {
    private var queue = QueueingDelay()

    private mutating func add(_ milliseconds: Double, at time: Int, heap: Bool = false) {
        let arrival = Int64(time) * 1_000_000
        let delay = Int64(milliseconds * 1e6)
        let firstSend = heap ? arrival - delay - 50_000_000 : arrival - delay
        queue.add(
            ArrivalGroup(
                firstSend: firstSend, lastSend: arrival - delay, firstArrival: arrival, lastArrival: arrival, delay: delay, byteCount: 1_000
            ))
    }

    @Test("single delays are no queue, a standing one is")
    mutating func floor() {
        for index in 0..<20 { add(index % 3 == 0 ? 30 : 60, at: index * 20) }
        #expect(queue.floorMilliseconds == 0)
        for index in 20..<30 { add(index % 3 == 0 ? 55 : 90, at: index * 20) }
        #expect(queue.floorMilliseconds == 25)
        #expect(queue.base == 30_000_000)
    }

    @Test("the quick floor sees three groups")
    mutating func quick() {
        for index in 0..<20 { add(30, at: index * 20) }
        for index in 20..<23 { add(130, at: index * 20) }
        #expect(queue.quickFloorMilliseconds == 100)
        #expect(queue.floorMilliseconds == 0)
    }

    @Test("a heap is believed less: a frame's time of its delay may be waiting for the receiver")
    mutating func heaps() {
        for index in 0..<10 { add(30, at: index * 20) }
        for index in 10..<30 { add(60, at: index * 20, heap: true) }
        #expect(queue.floorMilliseconds == 0)
        for index in 30..<50 { add(130, at: index * 20, heap: true) }
        #expect(queue.floorMilliseconds > 50)
    }

    @Test("a longer path is the base after a minute, or at once when told")
    mutating func base() {
        add(30, at: 0)
        for index in 1..<500 { add(80, at: index * 20) }
        #expect(queue.floorMilliseconds == 50)
        for index in 500..<3_500 { add(80, at: index * 20) }
        #expect(queue.floorMilliseconds == 0)
        for index in 3_500..<3_600 { add(120, at: index * 20) }
        #expect(queue.floorMilliseconds == 40)
        queue.rebase()
        #expect(queue.floorMilliseconds == 0)
    }

    @Test("senseless times trap nothing")
    mutating func extremes() {
        for value in [Int64.min, .max, 0, .max, .min] {
            queue.add(ArrivalGroup(firstSend: 0, lastSend: value, firstArrival: value, lastArrival: value, delay: value, byteCount: 1))
            queue.rebase()
            #expect(queue.floorMilliseconds >= 0)
        }
    }
}
