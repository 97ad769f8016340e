import RTCBase
import RTCSimulation
import Testing

@Suite("LinkCapacity")
struct LinkCapacityTests {
    private static let start = MonotonicTime(milliseconds: 5_000)

    private static func at(_ milliseconds: Int64) -> MonotonicTime { start.adding(milliseconds: milliseconds) }

    /// When datagrams of 1000 bytes leave that are all there at the start.
    private func departures(_ capacity: LinkCapacity, count: Int, sentAt milliseconds: Int64 = 0) -> [Double] {
        var conditions = LinkConditions()
        conditions.capacity = capacity
        conditions.queueBytes = 1 << 30
        var link = SimulatedLink(conditions, seed: 1)
        for _ in 0..<count { link.send([UInt8](repeating: 0, count: 1_000), now: Self.at(milliseconds)) }
        var result: [Double] = []
        while let next = link.nextDeadline() {
            result.append(next.milliseconds(since: Self.start))
            _ = link.receive(now: next)
        }
        return result
    }

    @Test("a step changes the rate for what already waits")
    func steps() {
        let capacity = LinkCapacity.steps([
            .init(time: Self.at(0), bitsPerSecond: 8_000_000), .init(time: Self.at(2), bitsPerSecond: 800_000),
            .init(time: Self.at(7), bitsPerSecond: 8_000_000),
        ])
        // Two at full rate, half of one by the end of the slow span, its rest and the others at full rate.
        #expect(departures(capacity, count: 4) == [1, 2, 7.5, 8.5])
        #expect(departures(capacity, count: 1, sentAt: 100) == [101])
    }

    @Test("rate 0 keeps datagrams waiting, and for ever when nothing follows")
    func stall() {
        let pause = LinkCapacity.steps([
            .init(time: Self.at(0), bitsPerSecond: 8_000_000), .init(time: Self.at(1), bitsPerSecond: 0),
            .init(time: Self.at(50), bitsPerSecond: 8_000_000),
        ])
        #expect(departures(pause, count: 3) == [1, 51, 52])
        let end = LinkCapacity.steps([
            .init(time: Self.at(0), bitsPerSecond: 8_000_000), .init(time: Self.at(1), bitsPerSecond: 0),
        ])
        #expect(departures(end, count: 3) == [1])
        #expect(departures(.constant(bitsPerSecond: 0), count: 3).isEmpty)
    }

    @Test("tells how much fits into a span")
    func bits() throws {
        let steps = LinkCapacity.steps([
            .init(time: Self.at(0), bitsPerSecond: 1_000_000), .init(time: Self.at(1_000), bitsPerSecond: 3_000_000),
        ])
        #expect(steps.bits(from: Self.at(500), to: Self.at(2_000)) == 3_500_000)
        #expect(steps.bits(from: Self.at(-1_000), to: Self.at(0)) == 1_000_000)
        #expect(LinkCapacity.constant(bitsPerSecond: 1_000).bits(from: Self.at(0), to: Self.at(500)) == 500)
        #expect(LinkCapacity.unlimited.bits(from: Self.at(0), to: Self.at(1)) == .infinity)
        let trace = LinkCapacity.trace(try DeliveryTrace(milliseconds: [1, 2, 3, 10]), start: Self.at(0))
        #expect(trace.bits(from: Self.at(2), to: Self.at(10)) == 2 * 12_000)
        #expect(trace.bits(from: Self.at(0), to: Self.at(101)) == 10 * 4 * 12_000)
    }

    @Test("an opportunity takes 1500 bytes of what is there in time, and the trace repeats")
    func trace() throws {
        let trace = LinkCapacity.trace(try DeliveryTrace(milliseconds: [1, 2, 10]), start: Self.at(0))
        // 1500 bytes at 1, the other 500 of the second and 1000 of the third at 2, ...
        #expect(departures(trace, count: 6) == [1, 2, 2, 10, 11, 11])
        #expect(departures(trace, count: 1, sentAt: 3) == [10])
        #expect(departures(trace, count: 2, sentAt: 20) == [20, 21])
    }
}
