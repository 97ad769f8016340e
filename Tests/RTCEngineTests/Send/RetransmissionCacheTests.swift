import RTCBase
import RTCEngine
import Testing

@Suite("RetransmissionCache")
struct RetransmissionCacheTests {
    private var store = PacketStore()
    private var cache = RetransmissionCache()

    private mutating func insert(_ number: Int64, at time: MonotonicTime, bytes: Int = 10) {
        let payload = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes)
        cache.insert(
            RetransmissionCache.Entry(
                slot: store.store(payload.span.bytes), payloadCount: bytes, timestamp: UInt32(number), marker: false, payloadType: 96,
                sentAt: time, transportNumber: 0, hadMID: false), number: number, store: &store)
    }

    @Test("SRTP-04 the newest 1024 packets can be sent again, older ones not; the memory comes back")
    mutating func count() {
        for number in 70_000..<73_000 as Range<Int64> { insert(number, at: start) }
        #expect(cache.count == 1024 && store.usedSlots == 1024)
        #expect(cache.find(73_000 - 1024, now: start)?.timestamp == UInt32(71_976))
        #expect(cache.find(73_000 - 1025, now: start) == nil)
        #expect(cache.find(73_000, now: start) == nil)
        cache.removeAll(store: &store)
        #expect(cache.isEmpty && store.usedSlots == 0)
    }

    @Test("a packet is kept for a second")
    mutating func age() {
        for index in 0..<200 as Range<Int64> { insert(65_536 + index, at: start.adding(milliseconds: index * 10)) }
        let now = start.adding(milliseconds: 1990)
        #expect(cache.find(65_536 + 99, now: now) != nil)
        #expect(cache.find(65_536 + 98, now: now) == nil)
        #expect(store.usedSlots == 101)
        #expect(cache.find(65_536 + 199, now: now.adding(milliseconds: 1001)) == nil)
    }

    @Test("RTP-08 numbers on the wire are found across the wrap, gaps are gaps")
    mutating func unwrap() {
        for number in [131_070, 131_071, 131_073] as [Int64] { insert(number, at: start) }
        #expect(cache.unwrap(65_535) == 131_071)
        #expect(cache.unwrap(1) == 131_073)
        #expect(cache.find(cache.unwrap(0), now: start) == nil)
        // Not sent yet: taken for a very old one.
        #expect(cache.find(cache.unwrap(2), now: start) == nil)
    }

    @Test("a probe is filled with the largest of the newest packets")
    mutating func largest() {
        insert(65_536, at: start, bytes: 1000)
        for number in 65_537..<65_550 as Range<Int64> { insert(number, at: start, bytes: number == 65_540 ? 800 : 100) }
        #expect(cache.largestRecent(now: start) == 65_536)
        for number in 65_550..<65_554 as Range<Int64> { insert(number, at: start) }
        #expect(cache.largestRecent(now: start) == 65_540)
    }
}
