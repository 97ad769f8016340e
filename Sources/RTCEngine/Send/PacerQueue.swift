// What waits to leave: packets to be sent again, before all media, and per video stream the packets of its frames, in order.
// In: payload slots and requests. Out: the next one by priority. Audio is never here, it leaves at once; padding is made
// when nothing else waits. A stream that waits too long loses whole frames, oldest first, up to a key frame: what follows a
// dropped frame cannot be decoded, so sending it would only take room.

package import RTCBase

/// The queues of one connection. Streams are known by their index among those that may send.
package struct PacerQueue: Sendable {
    /// One video packet without its header.
    package struct Packet: Sendable {
        package var slot: PacketStore.Slot
        package var payloadCount: Int
        package var timestamp: UInt32
        package var payloadType: UInt8
        package var isFrameStart: Bool
        /// The RTP marker.
        package var isFrameEnd: Bool
        package var isKeyFrame: Bool
        package var queuedAt: MonotonicTime

        package init(
            slot: PacketStore.Slot, payloadCount: Int, timestamp: UInt32, payloadType: UInt8, isFrameStart: Bool, isFrameEnd: Bool,
            isKeyFrame: Bool, queuedAt: MonotonicTime
        ) {
            self.slot = slot
            self.payloadCount = payloadCount
            self.timestamp = timestamp
            self.payloadType = payloadType
            self.isFrameStart = isFrameStart
            self.isFrameEnd = isFrameEnd
            self.isKeyFrame = isKeyFrame
            self.queuedAt = queuedAt
        }
    }

    /// A request to send a packet once more.
    package struct Repair: Hashable, Sendable {
        package var stream: Int
        package var number: Int64

        package init(stream: Int, number: Int64) {
            self.stream = stream
            self.number = number
        }
    }

    /// What a cut took away.
    package struct Cut: Hashable, Sendable {
        package var frames = 0
        /// A frame of which a part had left was among them.
        package var hasSplitFrame = false
        /// What comes next needs what was dropped.
        package var needsKeyFrame = false

        package init(frames: Int = 0, hasSplitFrame: Bool = false, needsKeyFrame: Bool = false) {
            self.frames = frames
            self.hasSplitFrame = hasSplitFrame
            self.needsKeyFrame = needsKeyFrame
        }
    }

    private var lanes: [Lane]
    private var repairs = BoundedQueue<Repair>(capacity: maxRepairs)

    package init(streamCount: Int) { lanes = Array(repeating: Lane(), count: streamCount) }

    package var isEmpty: Bool { repairs.isEmpty && lanes.allSatisfy { $0.count == 0 } }
    package var repairCount: Int { repairs.count }
    package func packetCount(_ stream: Int) -> Int { lanes[stream].count }
    package func byteCount(_ stream: Int) -> Int { lanes[stream].bytes }
    package func keyFrameCount(_ stream: Int) -> Int { lanes[stream].keyFrames }
    /// When the packet that waits longest was queued.
    package func oldest(_ stream: Int) -> MonotonicTime? { lanes[stream].first?.queuedAt }

    package func hasRoom(for packets: Int, stream: Int) -> Bool { lanes[stream].count + packets <= Self.maxPackets }

    /// The caller has asked for room.
    package mutating func append(_ packet: Packet, stream: Int) {
        if lanes[stream].count == 0 {
            // Time without packets gives no claim on more than a fair share later.
            let least = lanes.lazy.filter { $0.count > 0 }.map(\.served).min()
            if let least { lanes[stream].served = max(lanes[stream].served, least) }
        }
        lanes[stream].append(packet)
    }

    /// False when too many wait already.
    package mutating func append(_ repair: Repair) -> Bool { repairs.append(repair) }
    package mutating func popRepair() -> Repair? { repairs.popFirst() }

    /// The stream whose turn it is: of those that have packets the one that has sent least.
    package var nextStream: Int? {
        var best: Int?
        for index in lanes.indices where lanes[index].count > 0 {
            if let other = best, lanes[other].served <= lanes[index].served { continue }
            best = index
        }
        return best
    }

    package mutating func popFirst(_ stream: Int) -> Packet? { lanes[stream].popFirst() }

    /// Drops whole frames from the front: up to the newest key frame that has not begun to leave. Without one everything
    /// goes but a key frame at the front, which is finished because nothing else would get further.
    package mutating func cut(_ stream: Int, store: inout PacketStore) -> Cut {
        var cut = Cut()
        let lane = lanes[stream]
        guard lane.count > 0 else { return cut }
        let isKeyInFront = lane.first?.isKeyFrame ?? false
        let keyFrame = lane.lastKeyFrameStart
        if let keyFrame, keyFrame > 0 {
            cut.hasSplitFrame = !(lane.first?.isFrameStart ?? true)
            for _ in 0..<keyFrame { drop(stream, &cut, store: &store) }
            return cut
        }
        var kept = 0
        if isKeyInFront {
            while kept < lane.count, !lane[kept].isFrameEnd { kept += 1 }
            kept = min(kept + 1, lane.count)
        } else {
            cut.hasSplitFrame = !(lane.first?.isFrameStart ?? true)
        }
        while lanes[stream].count > kept {
            guard let packet = lanes[stream].popLast() else { break }
            store.release(packet.slot)
            if packet.isFrameEnd { cut.frames += 1 }
        }
        cut.needsKeyFrame = cut.frames > 0
        return cut
    }

    /// Everything of a stream that ended.
    package mutating func removeAll(_ stream: Int, store: inout PacketStore) {
        while let packet = lanes[stream].popFirst() { store.release(packet.slot) }
        for _ in 0..<repairs.count {
            guard let repair = repairs.popFirst() else { break }
            if repair.stream != stream { _ = repairs.append(repair) }
        }
    }

    private mutating func drop(_ stream: Int, _ cut: inout Cut, store: inout PacketStore) {
        guard let packet = lanes[stream].popFirst() else { return }
        // Was not served after all.
        lanes[stream].served -= Int64(packet.payloadCount)
        store.release(packet.slot)
        if packet.isFrameEnd { cut.frames += 1 }
    }

    /// Of one stream: 2 s of 20 Mbit/s.
    package static let maxPackets = 4096
    /// As many as the cache holds.
    private static let maxRepairs = 1024
}

/// The packets of one stream, in a ring that grows to what was needed.
private struct Lane: Sendable {
    private var storage: [PacerQueue.Packet?] = []
    private var head = 0
    private(set) var count = 0
    private(set) var bytes = 0
    private(set) var keyFrames = 0
    /// Bytes handed out so far, for turns among streams.
    var served: Int64 = 0

    var first: PacerQueue.Packet? { count > 0 ? storage[head] : nil }

    /// `position` is below `count`.
    subscript(position: Int) -> PacerQueue.Packet {
        guard let packet = storage[place(position)] else { preconditionFailure("an empty place inside the ring") }
        return packet
    }

    /// Where the newest key frame begins, if its beginning has not left.
    var lastKeyFrameStart: Int? {
        guard keyFrames > 0 else { return nil }
        return (0..<count).last { self[$0].isFrameStart && self[$0].isKeyFrame }
    }

    mutating func append(_ packet: PacerQueue.Packet) {
        if count == storage.count { grow() }
        storage[place(count)] = packet
        count += 1
        bytes += packet.payloadCount
        if packet.isFrameEnd, packet.isKeyFrame { keyFrames += 1 }
    }

    mutating func popFirst() -> PacerQueue.Packet? {
        guard count > 0, let packet = storage[head].take() else { return nil }
        head = place(1)
        count -= 1
        forget(packet)
        served += Int64(packet.payloadCount)
        return packet
    }

    mutating func popLast() -> PacerQueue.Packet? {
        guard count > 0, let packet = storage[place(count - 1)].take() else { return nil }
        count -= 1
        forget(packet)
        return packet
    }

    private mutating func forget(_ packet: PacerQueue.Packet) {
        bytes -= packet.payloadCount
        if packet.isFrameEnd, packet.isKeyFrame { keyFrames -= 1 }
    }

    private func place(_ position: Int) -> Int { (head + position) & (storage.count - 1) }

    private mutating func grow() {
        // Always a power of two.
        var larger = [PacerQueue.Packet?](repeating: nil, count: max(64, 2 * storage.count))
        for position in 0..<count { larger[position] = self[position] }
        storage = larger
        head = 0
    }
}
