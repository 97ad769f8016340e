// One sending stream: frames or Opus packets of one section become RTP packets of one SSRC, and of a second one for
// repeats (RFC 4588). In: encoded media, requests and reports of the peer, time. Out: payloads for the pacer's queue, RTP
// packets when it is their turn. Numbers are given at egress, so that a frame dropped while waiting leaves no gap that the
// peer would ask for. Left out: when packets leave (`Pacer`), how much may leave (`CongestionController`).

package import RTCBase
import RTCWire

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
    let rtxPayloadTypes: [UInt8: UInt8]
    let vp8PayloadType: UInt8?
    let vp9PayloadType: UInt8?
    let opusPayloadType: UInt8?
    let appendsTrailers: Bool
    let sourceDescription: SourceDescription
    let timestampOffset: UInt32
    let maxPayloadBytes: Int

    /// Published.
    package private(set) var isActive = false
    /// What the encoder can use; negative while the stream gets nothing.
    var ceiling = Int64.max
    /// What it was told to make; nil before it was told.
    var toldRate: Int64?
    var isCongested = false
    /// Nothing can be decoded before a key frame comes from the encoder.
    var waitsForKeyFrame = true

    var limiter = KeyFrameLimiter()
    var clock: CaptureClock
    var counts = SendStreamStatistics()
    var cache = RetransmissionCache()
    /// All bytes of repeats.
    var repairMeter = RateMeter()
    var mediaMeter: RateMeter

    /// Of the next packet; its low 16 bits are on the wire. Begins in the lower half, as RFC 3711 §3.3.1 advises.
    var nextNumber: Int64
    var nextRTXNumber: UInt16
    var lastTimestamp: UInt32 = 0
    /// No frame is half sent: padding may go out under the media's own SSRC.
    var isBetweenFrames = false
    /// A report about the stream came, so the peer knows which section it is.
    var isKnownToPeer = false
    /// When the last packet of the newest key frame left.
    var keyFrameLeftAt: MonotonicTime?
    /// The first packet of the newest key frame that left.
    var keyFrameNumber: Int64 = 0
    var vp8: VP8Packetizer
    var vp9: VP9Packetizer
    var cut = PacketizedFrame()
    /// A frame with its trailer.
    var framed = ByteWriter()
    /// For sender reports: all packets of the SSRC, and their payload octets without header or padding (RFC 3550 §6.4.1).
    var packetCount: UInt32 = 0
    var octetCount: UInt32 = 0

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

    mutating func drop(_ reason: DropReason, context: inout SendContext) -> Bool {
        context.drops.count(reason)
        counts.framesDropped &+= 1
        needKeyFrame()
        return false
    }

    mutating func packetize(_ frame: EncodedFrame) {
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

    mutating func packetize(_ bytes: RawSpan, _ frame: EncodedFrame) {
        switch frame.codec {
        case .vp8: vp8.packetize(bytes, into: &cut)
        case .vp9:
            let size = frame.isKeyFrame ? VP9Descriptor.keyFrameSize(bytes) : nil
            vp9.packetize(
                bytes, isKeyFrame: frame.isKeyFrame, size: size.map { (UInt16(clamping: $0.width), UInt16(clamping: $0.height)) },
                into: &cut)
        }
    }

    /// With SRTP's tag; below what any path carries after IPv6 and UDP.
    package static let maxDatagramBytes = 1200
    /// AES-GCM (RFC 7714 §12.1).
    static let maxTagBytes = 16
    static let longMemory: Int64 = 8_192
    static let maxFrameBytes = 4_000_000
    /// Until it was measured: Opus at 32 kbit/s with its headers.
    static let assumedAudioRate: Int64 = 48_000
}
