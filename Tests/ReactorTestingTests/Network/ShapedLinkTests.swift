import RTCBase
import Testing

@testable import ReactorTesting

/// One direction of a path in virtual time.
@Suite("ShapedLink")
struct ShapedLinkTests {
    /// What happens to `count` datagrams of `size` bytes, one every `interval` milliseconds: their fates, and when each came out.
    private struct Run: Hashable {
        var fates: [ShapedLink.Fate] = []
        var arrivals: [Arrival] = []

        struct Arrival: Hashable {
            var number: Int
            var milliseconds: Double
        }

        init(_ link: inout ShapedLink, count: Int, size: Int = 1000, interval: Double = 1, start: Double = 0) {
            for number in 0..<count {
                let now = Self.time(start + Double(number) * interval)
                receive(&link, until: now)
                var datagram = [UInt8](repeating: 0, count: size)
                datagram[0] = UInt8(truncatingIfNeeded: number)
                datagram[1] = UInt8(truncatingIfNeeded: number >> 8)
                let fate = link.send(datagram.span.bytes, now: now)
                fates.append(fate)
                if fate == .passes { arrivals.append(Arrival(number: number, milliseconds: Self.milliseconds(now))) }
            }
            receive(&link, until: Self.time(1e6))
        }

        private mutating func receive(_ link: inout ShapedLink, until end: MonotonicTime) {
            var datagram: [UInt8] = []
            while let deadline = link.nextDeadline(), deadline <= end, link.receive(now: deadline, into: &datagram) {
                arrivals.append(Arrival(number: Int(datagram[0]) | Int(datagram[1]) << 8, milliseconds: Self.milliseconds(deadline)))
            }
        }

        func count(_ fate: ShapedLink.Fate) -> Int { fates.count { $0 == fate } }

        /// Milliseconds between sending and arriving.
        func delays(interval: Double = 1) -> [Double] { arrivals.map { $0.milliseconds - Double($0.number) * interval } }

        static func time(_ milliseconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 5_000_000_000 + Int64(milliseconds * 1e6)) }
        static func milliseconds(_ time: MonotonicTime) -> Double { (Double(time.nanoseconds) - 5e9) / 1e6 }
    }

    private static func run(_ conditions: NetworkConditions, count: Int, stream: UInt64 = 0, size: Int = 1000, interval: Double = 1) -> Run
    {
        var link = ShapedLink(conditions, stream: stream)
        return Run(&link, count: count, size: size, interval: interval)
    }

    @Test("Perfect conditions keep nothing of a datagram")
    func perfect() {
        let run = Self.run(.perfect, count: 100)
        #expect(run.count(.passes) == 100 && run.delays().allSatisfy { $0 == 0 })
    }

    @Test("The same seed decides the same; another seed, connection or direction does not")
    func seeds() {
        let conditions = NetworkConditions(
            loss: 0.2, delay: .milliseconds(5), jitter: .milliseconds(9), reorder: 0.1, duplicate: 0.1, seed: 9)
        let first = Self.run(conditions, count: 500)
        #expect(first == Self.run(conditions, count: 500))
        #expect(first.fates != Self.run(conditions, count: 500, stream: 1).fates)
        var other = conditions
        other.seed = 10
        #expect(first.fates != Self.run(other, count: 500).fates)
    }

    @Test("Loss is as likely as told")
    func loss() {
        let run = Self.run(NetworkConditions(loss: 0.05), count: 20_000, interval: 0.1)
        #expect((900...1100).contains(run.count(.lost)))
        #expect(run.arrivals.count == 20_000 - run.count(.lost))
    }

    @Test("Delay comes to everything, jitter up to its limit and without overtaking")
    func delay() {
        #expect(Self.run(NetworkConditions(delay: .milliseconds(40)), count: 50).delays().allSatisfy { $0 == 40 })
        let run = Self.run(NetworkConditions(delay: .milliseconds(40), jitter: .milliseconds(20)), count: 1000)
        let delays = run.delays()
        #expect(delays.allSatisfy { $0 >= 40 && $0 <= 60 } && (delays.max() ?? 0) - (delays.min() ?? 0) > 10)
        #expect(run.arrivals.map(\.number) == Array(0..<1000))
    }

    @Test("Reordering lets others overtake, duplication brings some twice")
    func strays() {
        let reordered = Self.run(NetworkConditions(reorder: 0.1), count: 1000).arrivals.map(\.number)
        #expect(reordered.sorted() == Array(0..<1000))
        #expect((60...140).contains(zip(reordered, reordered.dropFirst()).count { $0 > $1 }))
        let doubled = Self.run(NetworkConditions(duplicate: 0.1), count: 1000).arrivals
        #expect((1060...1140).contains(doubled.count) && Set(doubled.map(\.number)).count == 1000)
    }

    @Test("The rate holds, what finds no room in the queue is dropped at the tail")
    func rate() {
        // 8 Mbit/s offered to 1 Mbit/s: 8 ms for each, eight in the queue.
        let run = Self.run(NetworkConditions(bitsPerSecond: 1_000_000, queueBytes: 8000), count: 1000)
        #expect(run.count(.overflowed) > 800 && run.count(.lost) == 0)
        #expect(run.arrivals.count == run.count(.waits))
        #expect(zip(run.arrivals, run.arrivals.dropFirst()).allSatisfy { $1.milliseconds - $0.milliseconds >= 7.999 })
        #expect(run.delays().allSatisfy { $0 <= 64.001 } && run.delays().contains { $0 > 56 })
        #expect(Self.run(NetworkConditions(bitsPerSecond: 0), count: 10).arrivals.isEmpty)
        #expect(Self.run(NetworkConditions(bitsPerSecond: -5, queueBytes: -5), count: 10).count(.overflowed) == 10)
    }

    @Test("Outages count from the first datagram under the conditions")
    func outages() {
        let conditions = NetworkConditions(outages: [.milliseconds(10)..<(.milliseconds(20)), .milliseconds(50)..<(.milliseconds(55))])
        var link = ShapedLink(conditions, stream: 0)
        let run = Run(&link, count: 100, start: 300)
        #expect(run.fates.indices.filter { run.fates[$0] == .cutOff } == Array(10..<20) + Array(50..<55))
        link.set(conditions, now: Run.time(1000))
        #expect(Run(&link, count: 30, start: 1000).count(.cutOff) == 10)
    }

    @Test("What waits for a slow rate goes at the new one, in order, none lost by chance")
    func rateChange() {
        var link = ShapedLink(NetworkConditions(loss: 1), stream: 0)
        link.set(NetworkConditions(bitsPerSecond: 8000), now: Run.time(0))
        for number in 0..<20 { _ = link.send([UInt8(number), 0].span.bytes, now: Run.time(0)) }
        for number in 20..<40 { _ = link.send(([UInt8(number)] + [UInt8](repeating: 0, count: 999)).span.bytes, now: Run.time(0)) }
        #expect((link.nextDeadline()?.nanoseconds ?? 0) > Run.time(1).nanoseconds)
        #expect(link.set(NetworkConditions(loss: 1, delay: .milliseconds(3)), now: Run.time(5)) == 0)
        var datagram: [UInt8] = []
        var numbers: [Int] = []
        while link.receive(now: Run.time(8), into: &datagram) { numbers.append(Int(datagram[0])) }
        // Two datagrams of two bytes had left before: nobody had fetched them.
        #expect(numbers == Array(0..<40))
        #expect(link.send([UInt8(1)].span.bytes, now: Run.time(9)) == .lost)
    }

    @Test("A new delay does not let datagrams overtake those on their way")
    func delayChange() {
        var link = ShapedLink(NetworkConditions(delay: .seconds(1)), stream: 0)
        #expect(link.send([UInt8(1)].span.bytes, now: Run.time(0)) == .waits)
        link.set(.perfect, now: Run.time(1))
        #expect(link.send([UInt8(2)].span.bytes, now: Run.time(2)) == .waits)
        var datagram: [UInt8] = []
        #expect(!link.receive(now: Run.time(999), into: &datagram))
        for number in 1...2 {
            let isThere = link.receive(now: Run.time(1000), into: &datagram)
            #expect(isThere && datagram == [UInt8(number)])
        }
        #expect(link.send([UInt8(3)].span.bytes, now: Run.time(1001)) == .passes)
    }

    @Test("What is on its way is bounded; numbers that make no sense do no harm")
    func bounds() {
        let far = Self.run(NetworkConditions(delay: .seconds(1_000_000_000_000)), count: 9000, interval: 0.01)
        #expect(far.count(.waits) == 8192 && far.count(.overflowed) == 808)
        #expect(far.delays(interval: 0.01).allSatisfy { $0 < 60_001 })
        let odd = NetworkConditions(
            loss: .nan, delay: .seconds(-5), jitter: .seconds(-5), reorder: -.infinity, duplicate: .nan, bitsPerSecond: .max,
            queueBytes: .max, seed: .max)
        #expect(Self.run(odd, count: 100).arrivals.count == 100)
        #expect(NetworkConditions(loss: .nan, delay: .seconds(-5)).passesEverything)
    }
}
