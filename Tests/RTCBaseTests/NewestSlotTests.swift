import RTCBase
import Synchronization
import Testing

@Suite struct NewestSlotTests {
    @Test("the newest element wins and the replaced one is counted") func newestWins() {
        let slot = NewestSlot<Int>()
        #expect(slot.put(1))
        #expect(slot.put(2))
        guard case .element(2) = slot.take() else { return #expect(Bool(false), "expected the newest") }
        guard case .empty = slot.take() else { return #expect(Bool(false), "expected nothing") }
        #expect(slot.replacedCount == 1)
    }

    @Test("a slot is occupied while an element waits, not while a consumer does") func occupied() async {
        let slot = NewestSlot<Int>()
        #expect(!slot.isOccupied)
        slot.put(1)
        #expect(slot.isOccupied)
        #expect(await slot.next() == 1)
        #expect(!slot.isOccupied)
        slot.put(2)
        slot.finish()
        #expect(slot.isOccupied)
        #expect(await slot.next() == 2)
        #expect(!slot.isOccupied)
    }

    @Test("the last element survives the end, and nothing is accepted after it") func finishKeepsLast() async {
        let slot = NewestSlot<Int>()
        slot.put(7)
        slot.finish()
        #expect(!slot.put(8))
        #expect(await slot.next() == 7)
        #expect(await slot.next() == nil)
    }

    @Test("a waiting consumer is woken by an element, by the end and by cancellation", .timeLimit(.minutes(1)))
    func waking() async {
        let slot = NewestSlot<Int>()
        let first = Task { await slot.next() }
        await Task.yield()
        slot.put(1)
        #expect(await first.value == 1)

        let cancelled = Task { await slot.next() }
        await Task.yield()
        cancelled.cancel()
        #expect(await cancelled.value == nil)

        let ended = Task { await slot.next() }
        await Task.yield()
        slot.finish()
        #expect(await ended.value == nil)
    }

    @Test("300 000 elements past a slow consumer: order kept, exact accounting, the last one arrives", .timeLimit(.minutes(1)))
    func accounting() async {
        let slot = NewestSlot<Int>()
        let total = 300_000
        let producer = Task.detached {
            for i in 1...total { slot.put(i) }
            slot.finish()
        }
        var last = 0
        var taken = 0
        while let value = await slot.next() {
            #expect(value > last)
            last = value
            taken += 1
        }
        await producer.value
        #expect(last == total)
        #expect(taken + Int(slot.replacedCount) == total)
    }

    @Test("every element is released, taken or not") func releases() async {
        final class Tracked: Sendable {
            static let live = Atomic<Int>(0)
            init() { Self.live.add(1, ordering: .relaxed) }
            deinit { Self.live.subtract(1, ordering: .relaxed) }
        }
        do {
            let slot = NewestSlot<Tracked>()
            for _ in 0..<10 { slot.put(Tracked()) }
            _ = slot.take()
            slot.put(Tracked())
        }
        #expect(Tracked.live.load(ordering: .relaxed) == 0)
    }
}

@Suite struct BacklogQueueTests {
    @Test("T-29 a blocked consumer finds every element up to the bound; beyond it the oldest goes and is counted") func bound() async {
        let queue = BacklogQueue<Int>(capacity: 4)
        for i in 0..<6 { queue.put(i) }
        #expect(queue.droppedCount == 2)
        var seen: [Int] = []
        for _ in 0..<4 { if let value = await queue.next() { seen.append(value) } }
        #expect(seen == [2, 3, 4, 5])
        queue.finish()
        #expect(await queue.next() == nil)
    }

    @Test("a waiting consumer is woken by an element and by cancellation", .timeLimit(.minutes(1))) func waking() async {
        let queue = BacklogQueue<Int>(capacity: 2)
        let waiting = Task { await queue.next() }
        await Task.yield()
        queue.put(3)
        #expect(await waiting.value == 3)
        let cancelled = Task { await queue.next() }
        await Task.yield()
        cancelled.cancel()
        #expect(await cancelled.value == nil)
    }
}

@Suite struct BroadcasterTests {
    @Test("SW-01 cancelled and released subscribers are forgotten; memory stays flat while events flow", .timeLimit(.minutes(1)))
    func subscribersGo() async {
        let hub = Broadcaster<Int>()
        for i in 0..<1000 {
            let stream = hub.makeStream(bufferingNewest: 4)
            let task = Task { for await _ in stream {} }
            hub.send(i)
            task.cancel()
            await task.value
        }
        #expect(hub.subscriberCount == 0)
    }

    @Test("each subscriber has its own bound and sees one order") func bounds() async {
        let hub = Broadcaster<Int>()
        let wide = hub.makeStream(bufferingNewest: 10)
        let narrow = hub.makeStream(bufferingNewest: 2)
        for i in 0..<5 { hub.send(i) }
        hub.finish()
        var a: [Int] = []
        for await value in wide { a.append(value) }
        var b: [Int] = []
        for await value in narrow { b.append(value) }
        #expect(a == [0, 1, 2, 3, 4])
        #expect(b == [3, 4])
        #expect(hub.droppedCount == 3)
    }
}
