/// Outgoing packets that wait for the call into the library to return or for the path to take them again: one block of bytes
/// and a list of lengths, both reused. (Part of `SCTPAssociation`.)
struct PacketArena {
    private var bytes: [UInt8] = []
    private var lengths: [Int] = []
    /// What has been taken from the front already.
    private var takenPackets = 0
    private var takenBytes = 0
    private let capacityPackets: Int

    init(capacityPackets: Int) { self.capacityPackets = capacityPackets }

    var isEmpty: Bool { takenPackets == lengths.count }
    var count: Int { lengths.count - takenPackets }

    /// False when full.
    mutating func append(_ packet: UnsafeRawBufferPointer) -> Bool {
        guard count < capacityPackets else { return false }
        // A long queue that never empties must not grow by what has left it.
        if takenPackets >= capacityPackets {
            bytes.removeFirst(takenBytes)
            lengths.removeFirst(takenPackets)
            takenPackets = 0
            takenBytes = 0
        }
        bytes.append(contentsOf: packet)
        lengths.append(packet.count)
        return true
    }

    /// Offers packets in order until one is refused or none is left.
    mutating func drain(_ send: (UnsafeRawBufferPointer) -> Bool) {
        while takenPackets < lengths.count {
            let length = lengths[takenPackets]
            let wasTaken = bytes.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[takenBytes..<(takenBytes + length)])) }
            guard wasTaken else { return }
            takenPackets += 1
            takenBytes += length
        }
        removeAll()
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        takenPackets = 0
        takenBytes = 0
    }
}
