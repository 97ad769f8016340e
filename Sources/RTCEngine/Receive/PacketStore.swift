// Memory for payloads that wait: received ones for the rest of their frame, sent ones for their turn and for being asked
// for again. In: payload bytes, copied once. Out: the same bytes, appended to a frame or a packet. Slots of one size in
// slabs that are made when needed and reused, newest first; a stream without loss lives in one or two slabs, a stalled one
// grows to what the bound of the buffer it serves allows.

package import RTCBase

/// Fixed-size slots for payload bytes, grown in slabs.
package struct PacketStore: Sendable {
    /// A slot's place; meaningful only to the store that gave it.
    package typealias Slot = Int32

    private var slabs: [[UInt8]] = []
    /// Free slots; the last one is used next, so memory that is warm is used again.
    private var free: [Slot] = []

    package init() {}

    package var slabCount: Int { slabs.count }
    package var usedSlots: Int { slabs.count * Self.slotsPerSlab - free.count }

    /// Copies `payload` into a slot. Nil when it does not fit.
    package mutating func store(_ payload: RawSpan) -> Slot? {
        guard payload.byteCount <= Self.slotBytes else { return nil }
        if free.isEmpty { grow() }
        guard let slot = free.popLast() else { return nil }
        let start = Int(slot) % Self.slotsPerSlab * Self.slotBytes
        slabs[Int(slot) / Self.slotsPerSlab].withUnsafeMutableBytes { slab in
            payload.withUnsafeBytes { source in
                guard source.count > 0 else { return }
                UnsafeMutableRawBufferPointer(rebasing: slab[start..<(start + source.count)]).copyMemory(from: source)
            }
        }
        return slot
    }

    package mutating func release(_ slot: Slot) {
        free.append(slot)
        // A stall left many slabs behind and is over.
        if slabs.count > Self.keptSlabs, free.count == slabs.count * Self.slotsPerSlab { shrink() }
    }

    /// Appends a slot's first `count` bytes to a frame. False when the frame has no room.
    package func append(_ slot: Slot, count: Int, to frame: MediaBytes) -> Bool {
        let start = Int(slot) % Self.slotsPerSlab * Self.slotBytes
        return slabs[Int(slot) / Self.slotsPerSlab].withUnsafeBytes { slab in
            frame.append(UnsafeRawBufferPointer(rebasing: slab[start..<(start + count)]).bytes)
        }
    }

    /// The same, into a packet to send.
    package func append(_ slot: Slot, count: Int, to writer: inout ByteWriter) {
        let start = Int(slot) % Self.slotsPerSlab * Self.slotBytes
        slabs[Int(slot) / Self.slotsPerSlab].withUnsafeBytes { slab in
            writer.write(UnsafeRawBufferPointer(rebasing: slab[start..<(start + count)]).bytes)
        }
    }

    private mutating func grow() {
        let first = Slot(slabs.count * Self.slotsPerSlab)
        slabs.append([UInt8](repeating: 0, count: Self.slotsPerSlab * Self.slotBytes))
        free.reserveCapacity(slabs.count * Self.slotsPerSlab)
        for slot in (first..<(first + Slot(Self.slotsPerSlab))).reversed() { free.append(slot) }
    }

    private mutating func shrink() {
        slabs.removeLast(slabs.count - Self.keptSlabs)
        free.removeAll(keepingCapacity: true)
        for slot in (0..<Slot(slabs.count * Self.slotsPerSlab)).reversed() { free.append(slot) }
    }

    /// No payload of an Ethernet path is longer.
    package static let slotBytes = 1500
    package static let slotsPerSlab = 32
    private static let keptSlabs = 8
}
