import RTCEngine
import Testing

@Suite("ArrivalGroups")
struct ArrivalGroupsTests {
    private let millisecond: Int64 = 1_000_000

    /// Groups of packets given as send and arrival times in milliseconds.
    private func groups(_ packets: [(send: Double, arrival: Double)]) -> [ArrivalGroup] {
        var groups = ArrivalGroups()
        return packets.compactMap { groups.add(send: Int64($0.send * 1e6), arrival: Int64($0.arrival * 1e6), byteCount: 1_000) }
    }

    @Test("packets of one burst are one group, with the least delay among them")
    func burst() {
        let result = groups([(0, 50), (1, 52), (2, 54), (33, 83), (34, 85), (66, 116)])
        #expect(result.map(\.byteCount) == [3_000, 2_000])
        #expect(result.map(\.delay) == [50 * millisecond, 50 * millisecond])
        #expect(result[0].lastArrival == 54 * millisecond)
        #expect(!result[0].isHeap)
    }

    @Test("a heap of arrivals is one group, and only its last packet tells the delay")
    func heap() {
        // The receiver was held off from 60 to 200 ms.
        let result = groups([(0, 50), (33, 200), (66, 200), (100, 200.5), (140, 201), (250, 300), (300, 350)])
        #expect(result.count == 3)
        #expect(result[1].delay == 61 * millisecond)
        #expect(result[1].isHeap)
    }

    @Test("a queue that drains for longer is no heap")
    func draining() {
        // 20 ms apart when sent, 4 ms apart behind a queue.
        let result = groups((0..<20).map { (Double($0) * 20, 500 + Double($0) * 4) })
        #expect(result.count > 4)
        #expect(result.allSatisfy { !$0.isHeap })
    }

    @Test("a packet that was overtaken belongs to no group")
    func reordering() {
        let result = groups([(0, 50), (33, 83), (20, 84), (66, 116), (100, 150)])
        #expect(result.map(\.byteCount) == [1_000, 1_000, 1_000])
    }

    @Test("senseless times trap nothing")
    func extremes() {
        var groups = ArrivalGroups()
        for value in [Int64.min, .max, 0, -1, .max, .min, 1] {
            _ = groups.add(send: value, arrival: value, byteCount: 1)
            _ = groups.add(send: 0, arrival: value, byteCount: 1)
            _ = groups.add(send: value, arrival: 0, byteCount: 1)
        }
    }
}
