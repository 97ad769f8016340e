package import RTCBase

/// Transport-wide feedback: which packets came, and when (draft-holmer-rmcat-transport-wide-cc-extensions §3.1).
package struct TransportFeedback: Hashable, Sendable {
    package var senderSSRC: UInt32
    package var mediaSSRC: UInt32
    package var baseSequenceNumber: UInt16
    /// 24 bits, signed, units of 64 ms.
    package var referenceTime64ms: Int32
    package var feedbackCount: UInt8
    /// One status for each number from the base on; at most 65535 are written.
    package var packets: [PacketStatus]

    package init(
        senderSSRC: UInt32, mediaSSRC: UInt32, baseSequenceNumber: UInt16, referenceTime64ms: Int32, feedbackCount: UInt8,
        packets: [PacketStatus]
    ) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
        self.baseSequenceNumber = baseSequenceNumber
        self.referenceTime64ms = referenceTime64ms
        self.feedbackCount = feedbackCount
        self.packets = packets
    }

    /// The count field has 16 bits.
    package static let maxStatusCount = 65_535
    private static let headCount = 20

    init(body: RawSpan, statusBudget: inout Int) throws(WireError) {
        guard body.byteCount >= 16 else { throw .truncated }
        let count = Int(body.uint16(at: 10))
        guard count <= statusBudget else { throw .tooLarge }
        statusBudget -= count
        let timeAndCount = body.uint32(at: 12)
        self.init(
            senderSSRC: body.uint32(at: 0), mediaSSRC: body.uint32(at: 4), baseSequenceNumber: body.uint16(at: 8),
            referenceTime64ms: Int32(bitPattern: timeAndCount) >> 8, feedbackCount: UInt8(truncatingIfNeeded: timeAndCount), packets: [])
        var reader = ByteReader(body)
        try reader.skip(16)
        var symbols: [FeedbackSymbol] = []
        while symbols.count < count {
            try FeedbackSymbol.readChunk(try reader.readUInt16(), count: count, into: &symbols)
        }
        packets.reserveCapacity(count)
        for symbol in symbols {
            switch symbol {
            case .notReceived: packets.append(.notReceived)
            case .smallDelta: packets.append(.received(delta250us: Int16(try reader.readUInt8())))
            case .largeDelta: packets.append(.received(delta250us: Int16(bitPattern: try reader.readUInt16())))
            }
        }
    }

    package func write(into writer: inout ByteWriter) {
        let statuses = packets.prefix(Self.maxStatusCount)
        let start = RTCPHead.open(RTCPType.transportSpecificFeedback, format: 15, into: &writer)
        writer.write(senderSSRC)
        writer.write(mediaSSRC)
        writer.write(baseSequenceNumber)
        writer.write(UInt16(statuses.count))
        writer.writeUInt24(UInt32(bitPattern: referenceTime64ms) & 0xFF_FFFF)
        writer.write(feedbackCount)
        var chunk = FeedbackChunkPacker()
        for status in statuses {
            let symbol = FeedbackSymbol(status)
            if !chunk.canAdd(symbol) { writer.write(chunk.takeFull()) }
            chunk.add(symbol)
        }
        while !chunk.isEmpty { writer.write(chunk.takeRest()) }
        for case .received(let delta) in statuses {
            if let small = UInt8(exactly: delta) { writer.write(small) } else { writer.write(UInt16(bitPattern: delta)) }
        }
        let padding = (4 - (writer.count - start) % 4) % 4
        if padding > 0 {
            for _ in 1..<padding { writer.write(0 as UInt8) }
            writer.write(UInt8(padding))
        }
        RTCPHead.close(start, hasPadding: padding > 0, in: &writer)
    }

    /// Parts of at most `maxBytes` each that together say the same (trap CC-03). Every part starts from a reference
    /// time of its own, and `feedbackCount` goes up by one from part to part.
    package func split(maxBytes: Int = 1200) -> [TransportFeedback] {
        let limit = max(maxBytes, 64)
        var parts: [TransportFeedback] = []
        var part = emptyPart(at: 0, index: 0)
        var chunk = FeedbackChunkPacker()
        var used = Self.headCount
        // In 250 µs since the time origin of the reference time.
        var time = Int64(referenceTime64ms) * 256
        var partHasTime = false
        for (index, status) in packets.prefix(Self.maxStatusCount).enumerated() {
            // The worst case for one more status: two bytes of delta and two open chunks, then padding.
            if used + 2 + 4 + 3 > limit {
                parts.append(part)
                part = emptyPart(at: index, index: parts.count)
                chunk = FeedbackChunkPacker()
                used = Self.headCount
                partHasTime = false
            }
            var own = status
            if case .received(let delta) = status {
                time += Int64(delta)
                if !partHasTime {
                    partHasTime = true
                    // The first part keeps its reference; the others take the last multiple of 64 ms.
                    if !parts.isEmpty {
                        part.referenceTime64ms = Int32(truncatingIfNeeded: time >> 8)
                        own = .received(delta250us: Int16(time & 0xFF))
                    }
                }
            }
            let symbol = FeedbackSymbol(own)
            if !chunk.canAdd(symbol) {
                _ = chunk.takeFull()
                used += 2
            }
            chunk.add(symbol)
            used += symbol.deltaCount
            part.packets.append(own)
        }
        parts.append(part)
        return parts
    }

    private func emptyPart(at index: Int, index part: Int) -> TransportFeedback {
        TransportFeedback(
            senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, baseSequenceNumber: baseSequenceNumber &+ UInt16(truncatingIfNeeded: index),
            referenceTime64ms: referenceTime64ms, feedbackCount: feedbackCount &+ UInt8(truncatingIfNeeded: part), packets: [])
    }
}

/// What transport-wide feedback says about one packet.
package enum PacketStatus: Hashable, Sendable {
    case notReceived
    /// Time since the previous received packet of the same feedback, since the reference time for the first one.
    case received(delta250us: Int16)
}
