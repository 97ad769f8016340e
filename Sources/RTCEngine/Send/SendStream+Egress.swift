// A stream's packets as they leave: header, extensions and numbers are written at the last moment, straight into the output.
// RFC 3550 §5.1, RFC 8285, RFC 4588 §4.

package import RTCBase
package import RTCWire

extension SendStream {
    /// Writes the next queued packet; its bytes on the wire.
    package mutating func write(
        _ packet: PacerQueue.Packet, now: MonotonicTime, context: inout SendContext, into out: inout EngineOutputs
    ) -> Int {
        let start = out.rtp.count
        let number = nextNumber
        nextNumber += 1
        let entry = RetransmissionCache.Entry(
            slot: packet.slot, payloadCount: packet.payloadCount, timestamp: packet.timestamp, marker: packet.isFrameEnd,
            payloadType: packet.payloadType, sentAt: now, transportNumber: context.takeTransportNumber(extensions),
            hadMID: !isKnownToPeer)
        writeOriginal(entry, number: number, store: context.store, into: &out.rtp)
        cache.insert(entry, number: number, store: &context.store)
        lastTimestamp = packet.timestamp
        isBetweenFrames = packet.isFrameEnd
        if packet.isKeyFrame, packet.isFrameStart { keyFrameNumber = number }
        if packet.isFrameEnd {
            counts.framesSent &+= 1
            if packet.isKeyFrame {
                counts.keyFramesSent &+= 1
                keyFrameLeftAt = now
            }
        }
        return finishMedia(start, payloadCount: packet.payloadCount, now: now, into: &out)
    }

    /// Writes one Opus packet; nil when it cannot be sent.
    package mutating func writeAudio(
        _ payload: RawSpan, timestamp: UInt32, now: MonotonicTime, context: inout SendContext, into out: inout EngineOutputs
    ) -> Int? {
        guard isActive, let opusPayloadType, payload.byteCount > 0 else {
            context.drops.count(.unknownStream)
            return nil
        }
        guard payload.byteCount <= maxPayloadBytes else {
            context.drops.count(.oversizePacket)
            return nil
        }
        let duration = OpusPacket.durationSamples(payload) ?? 0
        clock.noteSamples(until: timestamp &+ UInt32(truncatingIfNeeded: duration), now: now)
        let start = out.rtp.count
        let header = RTPHeader(
            // The first packet after silence would carry the marker (RFC 7587 §4.1 leaves it to us); there is no silence
            // suppression, so only the very first one does.
            marker: packetCount == 0, payloadType: opusPayloadType, sequenceNumber: UInt16(truncatingIfNeeded: nextNumber),
            timestamp: timestamp &+ timestampOffset, ssrc: ssrc)
        nextNumber += 1
        let transport = context.takeTransportNumber(extensions)
        writeHeader(header, withMID: !isKnownToPeer, transportNumber: transport, sentAt: now, into: &out.rtp)
        out.rtp.write(payload)
        lastTimestamp = header.timestamp
        return finishMedia(start, payloadCount: payload.byteCount, now: now, into: &out)
    }

    /// Writes a packet once more: under the RTX SSRC with a number of its own when that was negotiated (RFC 4588), else
    /// with the very same bytes, because SRTP must not use one index for two different packets (SRTP-04).
    package mutating func writeRepair(
        _ number: Int64, now: MonotonicTime, context: inout SendContext, into out: inout EngineOutputs
    ) -> Int? {
        guard isActive, let entry = cache.find(number, now: now) else { return nil }
        cache.update(number) {
            $0.isQueued = false
            $0.repeatedAt = now
        }
        let start = out.rtp.count
        writeAgain(entry, number: number, now: now, context: &context, into: &out.rtp)
        let count = out.rtp.count - start
        out.rtpPackets.append(start..<out.rtp.count)
        counts.retransmittedPackets &+= 1
        counts.retransmittedBytes &+= UInt64(count)
        repairMeter.add(byteCount: count, now: now)
        return count
    }

    /// Writes a packet that carries nothing new: a recent one again when there is RTX, else padding. Nil when neither is
    /// possible now.
    package mutating func writePadding(
        now: MonotonicTime, context: inout SendContext, into out: inout EngineOutputs
    ) -> Int? {
        guard isActive, packetCount > 0, kind == .video else { return nil }
        let start = out.rtp.count
        if rtxSSRC != nil {
            guard let number = cache.largestRecent(now: now), let entry = cache.find(number, now: now) else { return nil }
            writeAgain(entry, number: number, now: now, context: &context, into: &out.rtp)
        } else {
            guard isBetweenFrames, let payloadType = counts.codec == .vp8 ? vp8PayloadType : vp9PayloadType else { return nil }
            let number = nextNumber
            nextNumber += 1
            let entry = RetransmissionCache.Entry(
                slot: nil, payloadCount: 0, paddingCount: 255, timestamp: lastTimestamp, marker: false, payloadType: payloadType,
                sentAt: now, transportNumber: context.takeTransportNumber(extensions), hadMID: !isKnownToPeer)
            writeOriginal(entry, number: number, store: context.store, into: &out.rtp)
            cache.insert(entry, number: number, store: &context.store)
            packetCount &+= 1
        }
        let count = out.rtp.count - start
        out.rtpPackets.append(start..<out.rtp.count)
        counts.paddingPackets &+= 1
        counts.paddingBytes &+= UInt64(count)
        return count
    }

    /// - Parameter ntpOffset: the wall clock at `MonotonicTime` zero.
    package func senderReport(now: MonotonicTime, ntpOffset: NTPTimestamp, reports: [ReportBlock]) -> SenderReport {
        let tick = clock.tick(before: now)
        return SenderReport(
            ssrc: ssrc, ntp: ntpOffset.adding(nanoseconds: tick.time.nanoseconds), rtpTimestamp: tick.timestamp &+ timestampOffset,
            packetCount: packetCount, octetCount: octetCount, reports: reports)
    }

    package var hasSent: Bool { packetCount > 0 }

    /// A packet that left since the newest key frame began, and not so long ago that the number could mean another.
    func isGone(_ number: Int64) -> Bool { number >= keyFrameNumber && number < nextNumber && nextNumber - number < Self.longMemory }

    private mutating func finishMedia(_ start: Int, payloadCount: Int, now: MonotonicTime, into out: inout EngineOutputs) -> Int {
        let count = out.rtp.count - start
        assert(count <= Self.maxDatagramBytes - Self.maxTagBytes)
        out.rtpPackets.append(start..<out.rtp.count)
        packetCount &+= 1
        octetCount &+= UInt32(truncatingIfNeeded: payloadCount)
        counts.packetsSent &+= 1
        counts.bytesSent &+= UInt64(count)
        mediaMeter.add(byteCount: count, now: now)
        return count
    }

    private func writeOriginal(_ entry: RetransmissionCache.Entry, number: Int64, store: PacketStore, into writer: inout ByteWriter) {
        let header = RTPHeader(
            marker: entry.marker, payloadType: entry.payloadType, sequenceNumber: UInt16(truncatingIfNeeded: number),
            timestamp: entry.timestamp, ssrc: ssrc)
        writeHeader(
            header, withMID: entry.hadMID, transportNumber: entry.transportNumber, sentAt: entry.sentAt,
            hasPadding: entry.paddingCount > 0, into: &writer)
        if let slot = entry.slot { store.append(slot, count: entry.payloadCount, to: &writer) }
        guard entry.paddingCount > 0 else { return }
        for _ in 1..<entry.paddingCount { writer.write(0 as UInt8) }
        writer.write(entry.paddingCount)
    }

    private mutating func writeAgain(
        _ entry: RetransmissionCache.Entry, number: Int64, now: MonotonicTime, context: inout SendContext, into writer: inout ByteWriter
    ) {
        guard let rtxSSRC, let payloadType = rtxPayloadTypes[entry.payloadType], let slot = entry.slot else {
            packetCount &+= 1
            octetCount &+= UInt32(truncatingIfNeeded: entry.payloadCount)
            return writeOriginal(entry, number: number, store: context.store, into: &writer)
        }
        let header = RTPHeader(
            marker: entry.marker, payloadType: payloadType, sequenceNumber: nextRTXNumber, timestamp: entry.timestamp, ssrc: rtxSSRC)
        nextRTXNumber &+= 1
        // Nothing reports on this SSRC, so it says each time what it belongs to.
        let transport = context.takeTransportNumber(extensions)
        writeHeader(header, withMID: true, transportNumber: transport, sentAt: now, into: &writer)
        writer.write(UInt16(truncatingIfNeeded: number))
        context.store.append(slot, count: entry.payloadCount, to: &writer)
    }

    private func writeHeader(
        _ header: RTPHeader, withMID: Bool, transportNumber: UInt16, sentAt: MonotonicTime, hasPadding: Bool = false,
        into writer: inout ByteWriter
    ) {
        header.writeFixed(hasExtensions: extensions.byteCount(withMID: withMID) > 0, hasPadding: hasPadding, into: &writer)
        extensions.write(
            withMID: withMID, absoluteSendTime: SenderExtensions.absoluteSendTime(sentAt), transportNumber: transportNumber,
            into: &writer)
    }

    mutating func noteReport(_ block: ReportBlock) {
        isKnownToPeer = true
        counts.fractionLost = Double(block.fractionLost) / 256
        counts.packetsLost = Int64(block.cumulativeLost)
        let ticks = kind == .video ? 90_000.0 : Double(OpusPacket.clockRate)
        counts.remoteJitterSeconds = Double(block.jitter) / ticks
    }
}

extension SendContext {
    /// The number of the packet now being written; 0 and unused when the stream carries none.
    mutating func takeTransportNumber(_ extensions: SenderExtensions) -> UInt16 {
        guard extensions.usesTransportNumber else { return 0 }
        defer { nextTransportNumber += 1 }
        return UInt16(truncatingIfNeeded: nextTransportNumber)
    }
}
