// One sending stream: frames or Opus packets of one section become RTP packets of one SSRC, and of a second one for
// repeats (RFC 4588). In: encoded media, requests and reports of the peer, time. Out: payloads for the pacer's queue, RTP
// packets when it is their turn. Numbers are given at egress, so that a frame dropped while waiting leaves no gap that the
// peer would ask for. Left out: when packets leave (`Pacer`), how much may leave (`CongestionController`).

package import RTCBase
package import RTCWire

/// What all sending streams of a connection share during a call.
package struct SendContext: Sendable {
    /// Payloads that wait or may be asked for again.
    package var store = PacketStore()
    package var drops = DropCounters()
    /// The transport-wide number of the next packet; the wire carries its low 16 bits.
    package var nextTransportNumber: Int64 = 1
    /// From receiver reports; nil before the first.
    package var roundTripNanoseconds: Int64?

    package init() {}
}

/// Send side of one section.
package struct SendStream: Sendable {
    package let section: Int
    package let kind: MediaKind
    package let ssrc: UInt32
    package let rtxSSRC: UInt32?
    let extensions: SenderExtensions
    /// By payload type: what it is repeated with.
    private let rtxPayloadTypes: [UInt8: UInt8]
    private let vp8PayloadType: UInt8?
    private let vp9PayloadType: UInt8?
    private let opusPayloadType: UInt8?
    private let appendsTrailers: Bool
    let sourceDescription: SourceDescription
    private let timestampOffset: UInt32
    private let maxPayloadBytes: Int

    /// Published.
    package private(set) var isActive = false
    /// What the encoder can use; negative while the stream gets nothing.
    var ceiling = Int64.max
    /// What it was told to make; nil before it was told.
    var toldRate: Int64?
    var isCongested = false
    /// Nothing can be decoded before a key frame comes from the encoder.
    private(set) var waitsForKeyFrame = true

    var limiter = KeyFrameLimiter()
    var clock: CaptureClock
    var counts = SendStreamStatistics()
    var cache = RetransmissionCache()
    /// All bytes of repeats.
    var repairMeter = RateMeter()
    var mediaMeter: RateMeter

    /// Of the next packet; its low 16 bits are on the wire. Begins in the lower half, as RFC 3711 §3.3.1 advises.
    private var nextNumber: Int64
    private var nextRTXNumber: UInt16
    private var lastTimestamp: UInt32 = 0
    /// No frame is half sent: padding may go out under the media's own SSRC.
    private var isBetweenFrames = false
    /// A report about the stream came, so the peer knows which section it is.
    private var isKnownToPeer = false
    /// When the last packet of the newest key frame left.
    private(set) var keyFrameLeftAt: MonotonicTime?
    /// The first packet of the newest key frame that left.
    private var keyFrameNumber: Int64 = 0
    private var vp8: VP8Packetizer
    private var vp9: VP9Packetizer
    private var cut = PacketizedFrame()
    /// A frame with its trailer.
    private var framed = ByteWriter()
    /// For sender reports: all packets of the SSRC, and their payload octets without header or padding (RFC 3550 §6.4.1).
    private var packetCount: UInt32 = 0
    private var octetCount: UInt32 = 0

    /// Nil for a section that may not send.
    package init?(
        section: Int, negotiated: NegotiatedSection, usesFrameMetadata: Bool, cname: String, using generator: inout SeededGenerator
    ) {
        guard negotiated.accepted, negotiated.sends else { return nil }
        self.section = section
        kind = negotiated.kind
        ssrc = negotiated.localSSRC ?? UInt32.random(in: 1 ... .max, using: &generator)
        func payloadType(_ codec: VideoCodec) -> UInt8? {
            if let preferred = negotiated.preferredPayloadType, negotiated.videoCodecs[preferred] == codec { return preferred }
            return negotiated.videoCodecs.filter { $0.value == codec }.keys.min()
        }
        vp8PayloadType = payloadType(.vp8)
        vp9PayloadType = payloadType(.vp9)
        opusPayloadType =
            negotiated.preferredPayloadType.flatMap { negotiated.opusPayloadTypes.contains($0) ? $0 : nil }
            ?? negotiated.opusPayloadTypes.min()
        var rtxPayloadTypes: [UInt8: UInt8] = [:]
        for (rtx, repaired) in negotiated.rtxPayloadTypes where rtx < 128 {
            rtxPayloadTypes[repaired] = min(rtx, rtxPayloadTypes[repaired] ?? rtx)
        }
        self.rtxPayloadTypes = rtxPayloadTypes
        let fallbackRTX = UInt32.random(in: 1 ... .max, using: &generator)
        rtxSSRC = rtxPayloadTypes.isEmpty ? nil : negotiated.localRTXSSRC ?? fallbackRTX
        var ids = negotiated.extensionIDs
        if !negotiated.usesTransportFeedback { ids.transportSequenceNumber = 0 }
        extensions = SenderExtensions(ids: ids, mid: negotiated.mid)
        appendsTrailers = usesFrameMetadata
        sourceDescription = SourceDescription(ssrc: ssrc, cname: cname)
        timestampOffset = UInt32.random(in: 0 ... .max, using: &generator)
        nextNumber = Int64.random(in: 0...0x7FFF, using: &generator) + SequenceUnwrapperOffset.value
        nextRTXNumber = UInt16.random(in: 0...0x7FFF, using: &generator)
        clock = CaptureClock(ticksPerSecond: negotiated.kind == .video ? 90_000 : OpusPacket.clockRate)
        mediaMeter = RateMeter(initial: Bitrate(bitsPerSecond: negotiated.kind == .audio ? Self.assumedAudioRate : 0))
        // Header, extensions, the number of a repeat and the authentication tag have room in every packet.
        let overhead = RTPHeader.fixedCount + extensions.byteCount(withMID: true) + Retransmission.headerCount + Self.maxTagBytes
        maxPayloadBytes = min(PacketizedFrame.defaultMaxPayloadBytes, Self.maxDatagramBytes - overhead)
        let firstPicture = UInt16.random(in: 0...0x7FFF, using: &generator)
        vp8 = VP8Packetizer(maxPayloadBytes: maxPayloadBytes, firstPictureID: firstPicture)
        vp9 = VP9Packetizer(maxPayloadBytes: maxPayloadBytes, firstPictureID: firstPicture)
        counts.ssrc = ssrc
        counts.retransmissionSSRC = rtxSSRC
    }

    package mutating func start() {
        guard !isActive else { return }
        isActive = true
        waitsForKeyFrame = true
        toldRate = nil
        keyFrameLeftAt = nil
        limiter.reset()
    }

    /// Nothing of the stream may be sent any more; the caller empties its queue.
    package mutating func stop(context: inout SendContext) {
        isActive = false
        isCongested = false
        cache.removeAll(store: &context.store)
        if !isBetweenFrames, packetCount > 0 { nextNumber += 1 }
        isBetweenFrames = true
    }

    // MARK: Frames

    /// Cuts a frame into the queue. False when it cannot be used.
    package mutating func enqueue(
        _ frame: EncodedFrame, stream: Int, shared: inout UInt32?, now: MonotonicTime, queue: inout PacerQueue,
        context: inout SendContext
    ) -> Bool {
        guard isActive, let payloadType = frame.codec == .vp8 ? vp8PayloadType : vp9PayloadType else {
            context.drops.count(.unknownStream)
            return false
        }
        guard frame.bytes.count > 0, frame.bytes.count <= Self.maxFrameBytes else {
            return drop(.oversizeFrame, context: &context)
        }
        guard frame.isKeyFrame || !waitsForKeyFrame else { return drop(.waitingForKeyFrame, context: &context) }
        packetize(frame)
        guard queue.hasRoom(for: cut.payloads.count, stream: stream) else { return drop(.oversizeFrame, context: &context) }
        clock.noteCapture(frame.rtpTimestamp, now: now, shared: shared)
        shared = clock.offset
        counts.codec = frame.codec
        if frame.isKeyFrame {
            waitsForKeyFrame = false
            limiter.noteKeyFrame(now: now)
        }
        let last = cut.payloads.count - 1
        for index in cut.payloads.indices {
            let range = cut.payloads[index]
            guard let slot = cut.withPayload(range, { context.store.store($0) }) else { continue }
            queue.append(
                PacerQueue.Packet(
                    slot: slot, payloadCount: range.count, timestamp: frame.rtpTimestamp &+ timestampOffset, payloadType: payloadType,
                    isFrameStart: index == 0, isFrameEnd: index == last, isKeyFrame: frame.isKeyFrame, queuedAt: now), stream: stream)
        }
        return true
    }

    /// Frames were dropped from the queue.
    package mutating func noteCut(_ cut: PacerQueue.Cut) {
        counts.framesDropped &+= UInt64(cut.frames)
        // A frame of which the beginning left must not look whole: a missing number shows the gap.
        if cut.hasSplitFrame {
            nextNumber += 1
            isBetweenFrames = true
        }
        if cut.needsKeyFrame { needKeyFrame() }
    }

    package mutating func needKeyFrame() {
        waitsForKeyFrame = true
        limiter.request()
    }

    private mutating func drop(_ reason: DropReason, context: inout SendContext) -> Bool {
        context.drops.count(reason)
        counts.framesDropped &+= 1
        needKeyFrame()
        return false
    }

    private mutating func packetize(_ frame: EncodedFrame) {
        if appendsTrailers, let metadata = frame.metadata {
            // Taken out and put back: its memory is used again.
            var whole = ByteWriter()
            swap(&whole, &framed)
            whole.removeAll()
            frame.bytes.withBytes { whole.write($0) }
            FrameTrailer.write(metadata, into: &whole)
            packetize(whole.bytes.span.bytes, frame)
            swap(&whole, &framed)
        } else {
            frame.bytes.withBytes { packetize($0, frame) }
        }
    }

    private mutating func packetize(_ bytes: RawSpan, _ frame: EncodedFrame) {
        switch frame.codec {
        case .vp8: vp8.packetize(bytes, into: &cut)
        case .vp9:
            let size = frame.isKeyFrame ? VP9Descriptor.keyFrameSize(bytes) : nil
            vp9.packetize(
                bytes, isKeyFrame: frame.isKeyFrame, size: size.map { (UInt16(clamping: $0.width), UInt16(clamping: $0.height)) },
                into: &cut)
        }
    }

    // MARK: Egress

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

    /// With SRTP's tag; below what any path carries after IPv6 and UDP.
    package static let maxDatagramBytes = 1200
    /// AES-GCM (RFC 7714 §12.1).
    private static let maxTagBytes = 16
    private static let longMemory: Int64 = 8_192
    private static let maxFrameBytes = 4_000_000
    /// Until it was measured: Opus at 32 kbit/s with its headers.
    private static let assumedAudioRate: Int64 = 48_000
}

extension SendContext {
    /// The number of the packet now being written; 0 and unused when the stream carries none.
    mutating func takeTransportNumber(_ extensions: SenderExtensions) -> UInt16 {
        guard extensions.usesTransportNumber else { return 0 }
        defer { nextTransportNumber += 1 }
        return UInt16(truncatingIfNeeded: nextTransportNumber)
    }
}
