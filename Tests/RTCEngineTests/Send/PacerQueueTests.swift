import RTCBase
import RTCEngine
import Testing

@Suite("PacerQueue")
struct PacerQueueTests {
    private var store = PacketStore()
    private var queue = PacerQueue(streamCount: 2)

    private mutating func add(_ packets: Int, bytes: Int = 1000, isKeyFrame: Bool = false, stream: Int = 0, at time: MonotonicTime = start)
    {
        for index in 0..<packets {
            let payload = [UInt8](repeating: 0, count: bytes)
            guard let slot = store.store(payload.span.bytes) else { return }
            queue.append(
                PacerQueue.Packet(
                    slot: slot, payloadCount: bytes, timestamp: 0, payloadType: 96, isFrameStart: index == 0,
                    isFrameEnd: index == packets - 1, isKeyFrame: isKeyFrame, queuedAt: time), stream: stream)
        }
    }

    @Test("streams take turns by bytes, and idle time gives none of them more")
    mutating func turns() {
        add(10, bytes: 1000, stream: 0)
        for _ in 0..<5 {
            #expect(queue.nextStream == 0)
            _ = queue.popFirst(0)
        }
        add(10, bytes: 500, stream: 1)
        var order: [Int] = []
        while let stream = queue.nextStream {
            order.append(stream)
            _ = queue.popFirst(stream)
        }
        #expect(order.count == 15)
        #expect(order.prefix(9).count { $0 == 1 } == 6)
        #expect(queue.isEmpty && queue.byteCount(0) == 0 && queue.byteCount(1) == 0)
    }

    @Test("a cut drops whole frames up to the newest key frame")
    mutating func cutToKeyFrame() {
        add(3)
        add(2)
        add(4, isKeyFrame: true)
        add(1)
        let cut = queue.cut(0, store: &store)
        #expect(cut == PacerQueue.Cut(frames: 2, hasSplitFrame: false, needsKeyFrame: false))
        #expect(queue.packetCount(0) == 5 && queue.byteCount(0) == 5000 && queue.keyFrameCount(0) == 1)
        #expect(store.usedSlots == 5)
    }

    @Test("without a key frame everything goes, a frame of which a part has left too")
    mutating func cutAll() {
        add(3)
        add(2)
        _ = queue.popFirst(0).map { store.release($0.slot) }
        let cut = queue.cut(0, store: &store)
        #expect(cut == PacerQueue.Cut(frames: 2, hasSplitFrame: true, needsKeyFrame: true))
        #expect(queue.isEmpty && store.usedSlots == 0)
    }

    @Test("a key frame at the front is finished; what follows it goes")
    mutating func keepsKeyFrame() {
        add(3, isKeyFrame: true)
        add(2)
        add(2)
        _ = queue.popFirst(0).map { store.release($0.slot) }
        let cut = queue.cut(0, store: &store)
        #expect(cut == PacerQueue.Cut(frames: 2, hasSplitFrame: false, needsKeyFrame: true))
        #expect(queue.packetCount(0) == 2 && store.usedSlots == 2)
        // Nothing is left to drop.
        let again = queue.cut(0, store: &store)
        #expect(again == PacerQueue.Cut())
    }

    @Test("a stream that ends leaves nothing, the other keeps its repeats")
    mutating func removeAll() {
        add(3, stream: 0)
        add(2, stream: 1)
        for number in 0..<4 as Range<Int64> { _ = queue.append(PacerQueue.Repair(stream: Int(number % 2), number: number)) }
        queue.removeAll(0, store: &store)
        #expect(queue.packetCount(0) == 0 && queue.packetCount(1) == 2 && store.usedSlots == 2)
        let left = [queue.popRepair(), queue.popRepair(), queue.popRepair()]
        #expect(left == [PacerQueue.Repair(stream: 1, number: 1), PacerQueue.Repair(stream: 1, number: 3), nil])
    }

    @Test("both queues are bounded")
    mutating func bounds() {
        add(PacerQueue.maxPackets, bytes: 1)
        #expect(!queue.hasRoom(for: 1, stream: 0) && queue.hasRoom(for: PacerQueue.maxPackets, stream: 1))
        let accepted = (0..<1030 as Range<Int64>).map { queue.append(PacerQueue.Repair(stream: 0, number: $0)) }
        #expect(accepted.count { $0 } == 1024 && queue.repairCount == 1024)
    }
}
