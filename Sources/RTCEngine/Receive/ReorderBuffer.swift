// Packets of one video stream between the network and the assembler, in sequence order. In: packets with unwrapped
// numbers. Out: packets at and after `head`, the first number not yet consumed. The bound by count is here (1024
// numbers from the head); the bound by time is a decision of `ReceiveStream`, which knows the round trip, and is carried
// out here by `advance`. Left out: what a frame is.

package import RTCBase

/// One packet that waits; its payload lies in the buffer's store.
package struct BufferedPacket: Sendable {
    /// What is put in.
    package enum Kind: Sendable {
        case filler
        case broken
        case media(PayloadInfo)
    }

    package enum Content: Sendable {
        /// Takes up a sequence number and carries nothing (padding, RTP-01).
        case filler
        /// A payload whose descriptor could not be read: its frame cannot be completed.
        case broken
        case payload(PayloadInfo, slot: PacketStore.Slot, count: Int)
    }

    package var timestamp: UInt32
    package var isMarked: Bool
    package var arrival: MonotonicTime
    package var content: Content

    package var info: PayloadInfo? {
        if case .payload(let info, _, _) = content { info } else { nil }
    }
    package var isFiller: Bool {
        if case .filler = content { true } else { false }
    }
    package var isFrameStart: Bool { info?.isFrameStart ?? false }
}

/// A window of sequence numbers, `[head, end)`, some of them present.
package struct ReorderBuffer: Sendable {
    package enum Insertion: Hashable, Sendable { case stored, duplicate, late, beyondWindow, oversize }

    /// The next number to consume; nil before the first packet.
    package private(set) var head: Int64?
    /// One after the highest number present; `head` when empty.
    package private(set) var end: Int64 = 0
    /// Something was consumed or given up: an older packet than `head` is late, not early.
    package private(set) var hasAdvanced = false
    /// Ring indexed by number; grows by doubling up to the capacity.
    private var ring: [BufferedPacket?] = Array(repeating: nil, count: 64)
    private var store = PacketStore()

    package init() {}

    package var isEmpty: Bool { end == (head ?? 0) }
    package var memorySlabs: Int { store.slabCount }
    package var storedPackets: Int { store.usedSlots }

    package func packet(_ number: Int64) -> BufferedPacket? {
        guard let head, number >= head, number < end else { return nil }
        return ring[Int(number) & (ring.count - 1)]
    }

    /// Takes a packet; what follows the descriptor in `payload` is copied.
    package mutating func insert(
        _ number: Int64, timestamp: UInt32, isMarked: Bool, arrival: MonotonicTime, kind: BufferedPacket.Kind, payload: RawSpan
    ) -> Insertion {
        if head == nil {
            head = number
            end = number
        }
        if let first = head, number < first {
            // The very first packets may be swapped on their way.
            guard !hasAdvanced, end - number <= Int64(ring.count), first - number <= Self.earlyWindow else { return .late }
            head = number
        }
        let base = head ?? number
        guard number - base < Self.capacity else { return .beyondWindow }
        if number < end, ring[Int(number) & (ring.count - 1)] != nil { return .duplicate }
        growRing(toHold: number - base + 1, from: base)
        let content: BufferedPacket.Content
        switch kind {
        case .filler: content = .filler
        case .broken: content = .broken
        case .media(let info):
            let data = payload.extracting(info.headerCount..<payload.byteCount)
            guard let slot = store.store(data) else { return .oversize }
            content = .payload(info, slot: slot, count: data.byteCount)
        }
        ring[Int(number) & (ring.count - 1)] = BufferedPacket(
            timestamp: timestamp, isMarked: isMarked, arrival: arrival, content: content)
        end = max(end, number + 1)
        return .stored
    }

    /// Everything before `number` is consumed or given up.
    package mutating func advance(to number: Int64) {
        guard let first = head, number > first else { return }
        hasAdvanced = true
        var index = first
        while index < min(number, end) {
            let place = Int(index) & (ring.count - 1)
            if case .payload(_, let slot, _) = ring[place]?.content { store.release(slot) }
            ring[place] = nil
            index += 1
        }
        head = number
        end = max(end, number)
    }

    /// Appends a packet's bytes to a frame.
    package func append(_ number: Int64, to frame: MediaBytes) -> Bool {
        guard case .payload(_, let slot, let count) = packet(number)?.content else { return true }
        return store.append(slot, count: count, to: frame)
    }

    /// Forgets all packets; the next one starts a new window.
    package mutating func reset() {
        if end > 0 { advance(to: end) }
        head = nil
        end = 0
        hasAdvanced = false
    }

    private mutating func growRing(toHold count: Int64, from base: Int64) {
        guard count > Int64(ring.count) else { return }
        var size = ring.count
        while Int64(size) < count { size *= 2 }
        var larger: [BufferedPacket?] = Array(repeating: nil, count: size)
        for number in base..<max(base, end) { larger[Int(number) & (size - 1)] = ring[Int(number) & (ring.count - 1)] }
        ring = larger
    }

    /// Style guide §5: 1024 packets of video.
    package static let capacity: Int64 = 1024
    private static let earlyWindow: Int64 = 32
}
