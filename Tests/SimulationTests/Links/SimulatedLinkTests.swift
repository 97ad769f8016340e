import RTCBase
import RTCSimulation
import Testing

@Suite("SimulatedLink")
struct SimulatedLinkTests {
    private static let start = MonotonicTime(milliseconds: 5_000)

    /// Sends `count` numbered datagrams one millisecond apart and takes what arrives, with arrival times.
    private func run(_ link: inout SimulatedLink, count: Int) -> [(number: Int, milliseconds: Double)] {
        var arrivals: [(Int, Double)] = []
        for millisecond in 0..<count + 2_000 {
            let now = Self.start.adding(milliseconds: Int64(millisecond))
            if millisecond < count { link.send([UInt8(millisecond >> 8), UInt8(millisecond & 0xFF)], now: now) }
            while let datagram = link.receive(now: now) {
                arrivals.append((Int(datagram[0]) << 8 | Int(datagram[1]), now.milliseconds(since: Self.start)))
            }
        }
        return arrivals
    }

    @Test("one seed is one run, another seed another")
    func determinism() {
        let conditions = LinkConditions(loss: 0.1, delayMilliseconds: 20, jitterMilliseconds: 10, reordering: 0.05, duplication: 0.02)
        var runs = [UInt64(7), 7, 8].map { seed in
            var link = SimulatedLink(conditions, seed: seed)
            return run(&link, count: 500).map(\.number)
        }
        #expect(runs.removeFirst() == runs[0])
        #expect(runs[0] != runs[1])
    }

    @Test("a clean link delivers everything once, in order, after the delay")
    func clean() {
        var link = SimulatedLink(LinkConditions(delayMilliseconds: 50), seed: 1)
        let arrivals = run(&link, count: 300)
        #expect(arrivals.map(\.number) == Array(0..<300))
        #expect(arrivals.allSatisfy { $0.milliseconds == Double($0.number) + 50 })
    }

    @Test("loss takes its share and jitter alone never reorders", arguments: [0.02, 0.1, 0.3])
    func loss(_ loss: Double) {
        var link = SimulatedLink(LinkConditions(loss: loss, delayMilliseconds: 5, jitterMilliseconds: 30), seed: 42)
        let numbers = run(&link, count: 10_000).map(\.number)
        #expect(abs(1 - Double(numbers.count) / 10_000 - loss) < 0.02)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
        #expect(link.lostCount + numbers.count == 10_000)
    }

    @Test("burst loss loses in a row")
    func bursts() {
        var conditions = LinkConditions()
        conditions.burstLoss = BurstLoss(enter: 0.01, leave: 0.2)
        var link = SimulatedLink(conditions, seed: 3)
        let numbers = run(&link, count: 10_000).map(\.number)
        let gaps = zip(numbers, numbers.dropFirst()).map { $1 - $0 - 1 }.filter { $0 > 0 }
        #expect(Double(gaps.reduce(0, +)) / Double(gaps.count) > 3)
    }

    @Test("reordering and duplicates happen as often as asked")
    func disorder() {
        var link = SimulatedLink(LinkConditions(delayMilliseconds: 5, reordering: 0.1, duplication: 0.05), seed: 9)
        let numbers = run(&link, count: 10_000).map(\.number)
        #expect(abs(numbers.count - 10_500) < 150)
        #expect(zip(numbers, numbers.dropFirst()).contains { $0 > $1 })
        #expect(Set(numbers).count == 10_000)
    }

    @Test("a rate spaces datagrams out and a full queue loses the newest")
    func rate() {
        var conditions = LinkConditions()
        conditions.rateBitsPerSecond = 8_000_000  // 1 byte per microsecond
        conditions.queueBytes = 10_000
        var link = SimulatedLink(conditions, seed: 1)
        for number in 0..<20 { link.send([UInt8](repeating: UInt8(number), count: 1_000), now: Self.start) }
        #expect(link.overflowCount == 10)
        var arrivals: [Double] = []
        for millisecond in 0..<100 {
            let now = Self.start.adding(milliseconds: Int64(millisecond))
            while link.receive(now: now) != nil { arrivals.append(now.milliseconds(since: Self.start)) }
        }
        #expect(arrivals == (1...10).map(Double.init))
    }

    @Test("an outage loses what is sent within it and nothing else")
    func outage() {
        var conditions = LinkConditions(delayMilliseconds: 10)
        conditions.outages = [Self.start.adding(milliseconds: 100)..<Self.start.adding(milliseconds: 200)]
        var link = SimulatedLink(conditions, seed: 1)
        let numbers = run(&link, count: 300).map(\.number)
        #expect(numbers == Array(0..<100) + Array(200..<300))
    }

    @Test("a queue bounded in time loses what would wait longer, and tells how long the rest waited")
    func queueInTime() {
        var conditions = LinkConditions()
        conditions.rateBitsPerSecond = 8_000_000
        conditions.queueMilliseconds = 5
        conditions.overheadBytes = 100
        var link = SimulatedLink(conditions, seed: 1)
        for number in 0..<20 { link.send([UInt8](repeating: UInt8(number), count: 900), now: Self.start) }
        #expect(link.overflowCount == 15)
        #expect(link.queueingDelay.count == 5)
        #expect(link.maxWaitNanoseconds == 5_000_000)
        #expect(link.maxWaitingBytes == 5_000)
        #expect(link.queueingDelay.milliseconds(percentile: 50) == 3.25)
    }

    @Test("what chance loses has taken its share of the capacity")
    func lossBehindTheQueue() {
        var conditions = LinkConditions(loss: 0.5)
        conditions.rateBitsPerSecond = 8_000_000
        var link = SimulatedLink(conditions, seed: 1)
        for _ in 0..<60 { link.send([UInt8](repeating: 0, count: 1_000), now: Self.start) }
        var arrivals: [Double] = []
        while let next = link.nextDeadline() {
            arrivals.append(next.milliseconds(since: Self.start))
            _ = link.receive(now: next)
        }
        #expect(arrivals.count < 45 && arrivals.count > 15)
        #expect(arrivals.last ?? 0 > 55)
    }

    @Test("tags and bytes come with their datagram, also with the memory of datagrams before")
    func tags() {
        var link = SimulatedLink(LinkConditions(delayMilliseconds: 1, reordering: 0.3, duplication: 0.3), seed: 5)
        var arrival = SimulatedLink.Arrival()
        var seen: Set<Int> = []
        for number in 0..<1_000 {
            let now = Self.start.adding(milliseconds: Int64(number))
            link.send([UInt8](repeating: UInt8(number & 0xFF), count: 1 + number % 90), tag: number, now: now)
            while link.receive(now: now, into: &arrival) {
                #expect(arrival.bytes == [UInt8](repeating: UInt8(arrival.tag & 0xFF), count: 1 + arrival.tag % 90))
                seen.insert(arrival.tag)
            }
        }
        #expect(seen.count > 980)
    }
}
