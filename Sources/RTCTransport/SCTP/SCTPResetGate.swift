// Holds back a peer's stream reset until the data before it has come (part of `SCTPAssociation`).
//
// In: packets from the peer, packets to the peer. Out: what to give to the library now, and a held request when its time has
// come. RFC 6525 §4.1 and §5.2.2, RFC 9260 §3.3.
//
// A request to reset names the last TSN sent before it. When some of that data is still missing, usrsctp 0.9.5 answers "in
// progress" and means to carry the reset out later, but looks again only while it handles a further DATA chunk, with the
// acknowledgement point from before that chunk. After the repair of the last lost chunk of a closing channel there is no
// further one: the reset never happens and the channel never closes (DC-12). A request that comes too early is therefore kept
// here, apart from the rest of its packet, until we have acknowledged the data it names.

package struct SCTPResetGate {
    package struct Verdict: Equatable {
        /// What the library gets now: nil for the packet as it came.
        package var replacement: [UInt8]?
    }

    /// The newest TSN up to which everything has come, as our own packets say.
    private var acknowledged: UInt32?
    private var hasAcknowledged = false
    /// A request that waits, as a packet of its own, and the TSN it waits for. The newest replaces an older one: a peer has one
    /// request in flight and repeats it.
    private var held: (packet: [UInt8], lastTSN: UInt32)?
    private let checksum: ([UInt8]) -> UInt32

    /// - Parameter checksum: CRC32C of a packet whose checksum field is zero, in host order of the field's four bytes.
    package init(checksum: @escaping ([UInt8]) -> UInt32) { self.checksum = checksum }

    /// A held request whose data has come.
    package mutating func takeReady() -> [UInt8]? {
        guard let held, let acknowledged, !SCTPResetGate.isAfter(held.lastTSN, acknowledged) else { return nil }
        self.held = nil
        return held.packet
    }

    package mutating func noteSent(_ packet: UnsafeRawBufferPointer) {
        SCTPResetGate.forEachChunk(packet) { type, range in
            guard type == 3, range.count >= 8 else { return }
            let tsn = SCTPResetGate.word(packet, range.lowerBound + 4)
            if let known = acknowledged, hasAcknowledged, !SCTPResetGate.isAfter(tsn, known) { return }
            acknowledged = tsn
            hasAcknowledged = true
        }
    }

    /// Looks at a packet from the peer. Packets without an early request pass untouched.
    package mutating func noteReceived(_ packet: UnsafeRawBufferPointer) -> Verdict {
        var early: (range: Range<Int>, lastTSN: UInt32)?
        SCTPResetGate.forEachChunk(packet) { type, range in
            switch type {
            case 1, 2:
                // INIT, INIT ACK: the first TSN to come.
                if !hasAcknowledged, range.count >= 20 { acknowledged = SCTPResetGate.word(packet, range.lowerBound + 16) &- 1 }
            case 130:
                guard early == nil, let acknowledged, let lastTSN = SCTPResetGate.requestedTSN(packet, range) else { return }
                if SCTPResetGate.isAfter(lastTSN, acknowledged) { early = (range, lastTSN) }
            default: break
            }
        }
        guard let early, isIntact(packet) else { return Verdict(replacement: nil) }
        let header = Array(packet[..<SCTPResetGate.headerCount])
        held = (seal(header + packet[early.range]), early.lastTSN)
        let rest = Array(packet[SCTPResetGate.headerCount..<early.range.lowerBound]) + packet[early.range.upperBound...]
        return Verdict(replacement: rest.isEmpty ? [] : seal(header + rest))
    }

    // MARK: Packets

    /// The last TSN named by an outgoing reset request (parameter 13) of a RE-CONFIG chunk.
    private static func requestedTSN(_ packet: UnsafeRawBufferPointer, _ chunk: Range<Int>) -> UInt32? {
        var offset = chunk.lowerBound + 4
        while offset + 4 <= chunk.upperBound {
            let type = Int(packet[offset]) << 8 | Int(packet[offset + 1])
            let length = Int(packet[offset + 2]) << 8 | Int(packet[offset + 3])
            guard length >= 4, offset + length <= chunk.upperBound else { return nil }
            if type == 13 { return length >= 16 ? word(packet, offset + 12) : nil }
            offset += (length + 3) & ~3
        }
        return nil
    }

    /// Whole chunks with their padding; stops at the first that is cut.
    private static func forEachChunk(_ packet: UnsafeRawBufferPointer, _ body: (UInt8, Range<Int>) -> Void) {
        var offset = headerCount
        while offset + 4 <= packet.count {
            let length = Int(packet[offset + 2]) << 8 | Int(packet[offset + 3])
            guard length >= 4, offset + length <= packet.count else { return }
            let end = min(offset + (length + 3) & ~3, packet.count)
            body(packet[offset], offset..<end)
            offset = end
        }
    }

    private static func word(_ packet: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    private static func isAfter(_ a: UInt32, _ b: UInt32) -> Bool { Int32(bitPattern: a &- b) > 0 }

    /// A damaged packet must not get a good checksum by being cut apart; the library refuses it as it is.
    private func isIntact(_ packet: UnsafeRawBufferPointer) -> Bool { seal(Array(packet)).elementsEqual(packet) }

    private func seal(_ packet: [UInt8]) -> [UInt8] {
        var bytes = packet
        bytes.replaceSubrange(8..<12, with: [0, 0, 0, 0])
        let crc = checksum(bytes)
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: crc, toByteOffset: 8, as: UInt32.self) }
        return bytes
    }

    private static let headerCount = 12
}
