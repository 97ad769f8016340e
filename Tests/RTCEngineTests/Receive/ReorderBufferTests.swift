import RTCBase
import RTCEngine
import Testing

@Suite("ReorderBuffer")
struct ReorderBufferTests {
    private func insert(_ buffer: inout ReorderBuffer, _ number: Int64, count: Int = 4) -> ReorderBuffer.Insertion {
        let payload: [UInt8] = [0x10] + (0..<count).map { UInt8(truncatingIfNeeded: Int(number) + $0) }
        guard let info = PayloadInfo(codec: .vp8, payload: payload.span.bytes) else { return .oversize }
        return buffer.insert(number, timestamp: 1, isMarked: false, arrival: start, kind: .media(info), payload: payload.span.bytes)
    }

    @Test("numbers are kept until consumed; duplicates, late ones and those beyond the window are told apart")
    func insertion() {
        var buffer = ReorderBuffer()
        #expect(insert(&buffer, 100) == .stored)
        #expect(insert(&buffer, 103) == .stored)
        #expect(insert(&buffer, 103) == .duplicate)
        #expect(buffer.head == 100 && buffer.end == 104)
        #expect(buffer.packet(101) == nil)
        buffer.advance(to: 102)
        #expect(insert(&buffer, 101) == .late)
        #expect(insert(&buffer, 102 + ReorderBuffer.capacity) == .beyondWindow)
        #expect(insert(&buffer, 101 + ReorderBuffer.capacity) == .stored)
        #expect(buffer.packet(103) != nil)
    }

    @Test("the ring grows with what waits, the memory follows and is given back after a stall")
    func memory() {
        var buffer = ReorderBuffer()
        for number in 0..<ReorderBuffer.capacity { #expect(insert(&buffer, 5000 + number) == .stored) }
        #expect(buffer.storedPackets == 1024)
        #expect(buffer.memorySlabs == 1024 / PacketStore.slotsPerSlab)
        let frame = MediaBytes(capacity: 16)
        #expect(buffer.append(5900, to: frame))
        #expect(frame.withBytes { $0.copy() } == (0..<4).map { UInt8(truncatingIfNeeded: 5900 + $0) })
        buffer.advance(to: 5000 + ReorderBuffer.capacity)
        #expect(buffer.storedPackets == 0)
        #expect(buffer.memorySlabs == 8)
        for number in 0..<10_000 as Range<Int64> {
            #expect(insert(&buffer, 7000 + number) == .stored)
            buffer.advance(to: 7001 + number)
        }
        #expect(buffer.memorySlabs == 8)
    }

    @Test("a payload larger than a slot is refused")
    func oversize() {
        var buffer = ReorderBuffer()
        #expect(insert(&buffer, 1, count: PacketStore.slotBytes) == .stored)
        #expect(insert(&buffer, 2, count: PacketStore.slotBytes + 1) == .oversize)
    }
}
