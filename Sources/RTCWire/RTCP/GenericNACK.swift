package import RTCBase

/// NACK: sequence numbers to send again, packed as a number and a mask of the 16 that follow it (RFC 4585 §6.2.1).
package struct GenericNACK: Hashable, Sendable {
    package var senderSSRC: UInt32
    package var mediaSSRC: UInt32
    /// Packed best when in ascending order on the circle; any order is written as it stands.
    package var sequenceNumbers: [UInt16]

    package init(senderSSRC: UInt32, mediaSSRC: UInt32, sequenceNumbers: [UInt16]) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
        self.sequenceNumbers = sequenceNumbers
    }

    /// Pairs that the length word can count next to the two SSRCs.
    private static let maxPairs = 65_533

    init(body: RawSpan) throws(WireError) {
        guard body.byteCount >= 8 else { throw .truncated }
        guard body.byteCount % 4 == 0 else { throw .badLength }
        senderSSRC = body.uint32(at: 0)
        mediaSSRC = body.uint32(at: 4)
        sequenceNumbers = []
        for offset in stride(from: 8, to: body.byteCount, by: 4) {
            let first = body.uint16(at: offset)
            let mask = body.uint16(at: offset + 2)
            sequenceNumbers.append(first)
            for bit in 0..<16 as Range<UInt16> where mask & (1 << bit) != 0 { sequenceNumbers.append(first &+ bit &+ 1) }
        }
    }

    package func write(into writer: inout ByteWriter) {
        let start = RTCPHead.open(RTCPType.transportSpecificFeedback, format: 1, into: &writer)
        writer.write(senderSSRC)
        writer.write(mediaSSRC)
        var index = sequenceNumbers.startIndex
        var pairs = 0
        while index < sequenceNumbers.endIndex, pairs < Self.maxPairs {
            let first = sequenceNumbers[index]
            var mask: UInt16 = 0
            var last: UInt16 = 0
            index += 1
            // Only what comes later on the circle joins the pair, so that reading gives back the same order.
            while index < sequenceNumbers.endIndex {
                let distance = sequenceNumbers[index] &- first
                guard distance > last, distance <= 16 else { break }
                mask |= 1 << (distance - 1)
                last = distance
                index += 1
            }
            writer.write(first)
            writer.write(mask)
            pairs += 1
        }
        RTCPHead.close(start, in: &writer)
    }
}
