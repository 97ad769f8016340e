// One remote video stream, from RTP packets to frames in decode order. In: packets of the media SSRC and unwrapped
// retransmissions (RFC 4588), time, the round trip. Out: frames, NACKs, key-frame requests. Packets wait in sequence
// order; a gap at the head holds back everything after it, because without it nothing there can be decoded, and ends in
// one of four ways: the packet comes, a later frame that does not need it is complete, a key frame arrives, or the bound
// by time or count is reached. While it lasts the gap is asked for about once per round trip, and when that failed four
// times a key frame is asked for as well. Left out: playout timing; a frame leaves as soon as it may be decoded.

package import RTCBase
package import RTCWire

/// Receive side of one video section.
package struct ReceiveStream: Sendable {
    let section: Int
    let usesNACK: Bool
    let usesFrameMetadata: Bool
    /// The source followed now; nil before its first packet.
    package private(set) var ssrc: UInt32?
    var retransmissionSSRC: UInt32?
    var codec: VideoCodec?
    /// Sources followed earlier; their stragglers are dropped.
    var retired: [UInt32] = []
    var lastArrival: MonotonicTime?
    /// Packets are wanted (the track is not paused).
    var isReceiving = true
    /// The highest sequence number seen, unwrapped.
    var highest: Int64?
    /// The number that would confirm a jump of the sequence (RFC 3550 A.1).
    var resyncCandidate: UInt16?

    var buffer = ReorderBuffer()
    var assembler = FrameAssembler()
    var chain = DecodeChain()
    var nacks = NackTracker()
    var statistics = ReceiveStatistics(clockRate: 90_000)
    var requester: KeyFrameRequester

    /// When to look again at the gap at the head; nil when nothing is missing.
    var wait: Wait?
    /// The newest number that starts a key frame: while it waits to be completed no other one is asked for.
    var newestKeyFrame: Int64 = -1
    /// Requests for the packet after the highest one, when a frame stays without its end (tail loss).
    var tail = TailProbe()
    /// The decoder asked for a key frame: nothing but one ends the request.
    var isKeyFrameForced = false
    /// A frame is counted as dropped once, whatever number of packets it had.
    var lastDroppedTimestamp: UInt32?
    var counts = ReceiveStreamStatistics()
    /// Reused for every request.
    var requestList: [UInt16] = []

    struct Wait: Sendable {
        var deadline: MonotonicTime
        /// The repair takes so long that a key frame was asked for.
        var isOverdue: Bool
    }

    struct TailProbe: Sendable {
        var number: Int64 = -1
        var tries = 0
        var due: MonotonicTime?
    }

    package init(section: Int, negotiated: NegotiatedSection, usesFrameMetadata: Bool) {
        self.section = section
        self.usesFrameMetadata = usesFrameMetadata
        usesNACK = negotiated.usesNACK
        requester = KeyFrameRequester(usesPLI: negotiated.usesPLI, usesFIR: negotiated.usesFIR)
        requestList.reserveCapacity(NackTracker.maxPerRequest)
    }

    /// An original packet of the section, any SSRC.
    package mutating func handleMedia(
        _ packet: RawSpan, header: RTPHeader, codec: VideoCodec, now: MonotonicTime, context: inout ReceiveContext,
        into out: inout EngineOutputs
    ) {
        guard follow(header, now: now, context: &context, into: &out) else { return }
        lastArrival = now
        self.codec = codec
        guard let number = place(header.sequenceNumber, isRetransmission: false, now: now, context: &context) else { return }
        statistics.receive(number: number, timestamp: header.timestamp, byteCount: packet.byteCount, arrival: now)
        accept(
            number, payload: packet.extracting(header.payloadRange), header: header, codec: codec, isRetransmission: false, now: now,
            context: &context, into: &out)
    }

    /// A packet with one of the section's retransmission payload types; `codec` is that of the payload type it repairs.
    package mutating func handleRetransmission(
        _ packet: RawSpan, header: RTPHeader, codec: VideoCodec, now: MonotonicTime, context: inout ReceiveContext,
        into out: inout EngineOutputs
    ) {
        guard let original = Retransmission.originalSequenceNumber(packet: packet, header: header) else {
            // Probes of the path: empty, or all padding.
            context.drops.count(header.payloadCount == 0 ? .paddingOnly : .malformedRetransmission)
            return
        }
        guard ssrc != nil, !retired.contains(header.ssrc), header.ssrc != ssrc else { return context.drops.count(.unknownStream) }
        retransmissionSSRC = header.ssrc
        counts.retransmittedReceived &+= 1
        guard let number = place(original, isRetransmission: true, now: now, context: &context) else { return }
        let range = (header.payloadOffset + Retransmission.headerCount)..<(header.payloadOffset + header.payloadCount)
        accept(
            number, payload: packet.extracting(range), header: header, codec: codec, isRetransmission: true, now: now,
            context: &context, into: &out)
    }

    package mutating func handleSenderReport(_ report: SenderReport, now: MonotonicTime) {
        statistics.receiveSenderReport(ntp: report.ntp, arrival: now)
    }

    /// Makes `header`'s source the one to follow, if it may be.
    private mutating func follow(
        _ header: RTPHeader, now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs
    ) -> Bool {
        if header.ssrc == ssrc { return true }
        guard header.payloadCount > 0 else {
            // Padding does not make a stream (RTP-01).
            context.drops.count(.paddingOnly)
            return false
        }
        if let old = ssrc {
            // A source that was left before may come back only when the present one is silent.
            let isSilent = lastArrival.map { now.nanoseconds(since: $0) > Self.silence } ?? true
            guard isSilent || !retired.contains(header.ssrc) else {
                context.drops.count(.unknownStream)
                return false
            }
            retired.removeAll { $0 == header.ssrc }
            if retired.count >= Self.maxRetired { retired.removeFirst(2) }
            retired.append(old)
            if let retransmissionSSRC { retired.append(retransmissionSSRC) }
            restart()
            statistics = ReceiveStatistics(clockRate: 90_000)
        }
        ssrc = header.ssrc
        out.events.append(.firstPacket(section: section, ssrc: header.ssrc))
        return true
    }

    /// The unwrapped number of a packet; nil when it lies so far off that it is not used.
    private mutating func place(
        _ sequence: UInt16, isRetransmission: Bool, now: MonotonicTime, context: inout ReceiveContext
    ) -> Int64? {
        guard let highest else {
            guard !isRetransmission else {
                context.drops.count(.unknownStream)
                return nil
            }
            let first = Int64(sequence) + SequenceUnwrapperOffset.value
            self.highest = first
            return first
        }
        let distance = Int64(SequenceNumber.distance(sequence, after: UInt16(truncatingIfNeeded: highest)))
        if isRetransmission {
            guard distance > -ReorderBuffer.capacity, distance <= Self.maxRetransmissionLead else {
                context.drops.count(.latePacket)
                return nil
            }
        } else if distance > Self.maxJump || distance < -ReorderBuffer.capacity {
            // RFC 3550 A.1: one packet far away may be a stray, two in a row are a new start (RTP-10).
            guard sequence == resyncCandidate else {
                resyncCandidate = sequence &+ 1
                context.drops.count(.latePacket)
                return nil
            }
            let number = highest + 1 + Int64(sequence &- UInt16(truncatingIfNeeded: highest) &- 1)
            restart()
            statistics = ReceiveStatistics(clockRate: 90_000)
            self.highest = number
            return number
        }
        let number = highest + distance
        if distance > 0 {
            noteGap((highest + 1)..<number, now: now)
            self.highest = number
        }
        return number
    }

    private mutating func noteGap(_ numbers: Range<Int64>, now: MonotonicTime) {
        guard !numbers.isEmpty, isReceiving else { return }
        // So much is missing that repairing it would take longer than a key frame.
        guard numbers.count <= Self.maxRepairableGap, nacks.noteGap(numbers, now: now) else {
            nacks.removeAll()
            buffer.advance(to: numbers.upperBound)
            chain.noteLoss()
            requester.need(now: now)
            return
        }
    }

    private mutating func accept(
        _ number: Int64, payload: RawSpan, header: RTPHeader, codec: VideoCodec, isRetransmission: Bool, now: MonotonicTime,
        context: inout ReceiveContext, into out: inout EngineOutputs
    ) {
        resyncCandidate = isRetransmission ? resyncCandidate : nil
        guard isReceiving else { return }
        switch nacks.noteArrival(number, isRetransmission: isRetransmission, roundTrip: context.roundTrip.nanoseconds, now: now) {
        case .repaired(.some(let sample)): context.roundTrip.addSample(nanoseconds: sample)
        default: break
        }
        while let missing = bufferOverflow(adding: number) { giveUp(missing, now: now, context: &context) }
        // The first packets of the stream were swapped, or the very first ones were lost and come again.
        if let head = buffer.head, number < head, !buffer.hasAdvanced { nacks.noteBeginning((number + 1)..<head, now: now) }
        let info = payload.byteCount > 0 ? PayloadInfo(codec: codec, payload: payload) : nil
        let kind: BufferedPacket.Kind
        if let info {
            kind = .media(info)
        } else {
            kind = payload.byteCount == 0 ? .filler : .broken
            context.drops.count(payload.byteCount == 0 ? .paddingOnly : .malformedPayload)
        }
        let insertion = buffer.insert(
            number, timestamp: header.timestamp, isMarked: header.marker, arrival: now, kind: kind, payload: payload)
        switch insertion {
        case .stored:
            if isRetransmission { statistics.receiveRepaired(number: number, byteCount: payload.byteCount) }
            if let info, info.isKeyFrame, info.isFrameStart { newestKeyFrame = max(newestKeyFrame, number) }
            drain(now: now, context: &context, into: &out)
        case .duplicate: context.drops.count(.duplicatePacket)
        case .late, .beyondWindow: context.drops.count(.latePacket)
        case .oversize: context.drops.count(.oversizePacket)
        }
        sendDue(now: now, context: &context, into: &out)
    }

    /// The number at which to give up so that `number` fits; nil when it fits.
    func bufferOverflow(adding number: Int64) -> Int64? {
        guard let head = buffer.head, number - head >= ReorderBuffer.capacity else { return nil }
        return head
    }

    /// Forgets packets and references; the next packet starts anew and only a key frame is of use.
    mutating func restart() {
        buffer.reset()
        assembler = FrameAssembler()
        chain.reset()
        nacks.removeAll()
        wait = nil
        tail = TailProbe()
        highest = nil
        resyncCandidate = nil
        retransmissionSSRC = nil
        newestKeyFrame = -1
    }

    /// RFC 3550 A.1, MAX_DROPOUT.
    private static let maxJump: Int64 = 3000
    /// A gap that is a third of a second of a busy stream: the burst of repairs would take longer than a key frame.
    private static let maxRepairableGap = 256
    /// A retransmission may be of a packet newer than any other that came, but not by much.
    private static let maxRetransmissionLead: Int64 = 128
    /// A source that says nothing for this long may be replaced by one that was left before.
    private static let silence: Int64 = 1_000_000_000
    private static let maxRetired = 16
}
