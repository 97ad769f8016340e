// One remote video stream, from RTP packets to frames in decode order. In: packets of the media SSRC and unwrapped
// retransmissions (RFC 4588), time, the round trip. Out: frames, NACKs, key-frame requests. Packets wait in sequence
// order; a gap at the head holds back everything after it, because without it nothing there can be decoded, and ends in
// one of four ways: the packet comes, a later frame that does not need it is complete, a key frame arrives, or the bound
// by time or count is reached. While it lasts the gap is asked for about once per round trip, and when that failed three
// times a key frame is asked for as well. Left out: playout timing; a frame leaves as soon as it may be decoded.

package import RTCBase
package import RTCWire

/// Receive side of one video section.
package struct ReceiveStream: Sendable {
    private let section: Int
    private let usesNACK: Bool
    private let usesFrameMetadata: Bool
    /// The source followed now; nil before its first packet.
    package private(set) var ssrc: UInt32?
    private var retransmissionSSRC: UInt32?
    private var codec: VideoCodec?
    /// Sources followed earlier; their stragglers are dropped.
    private var retired: [UInt32] = []
    private var lastArrival: MonotonicTime?
    /// Packets are wanted (the track is not paused).
    private var isReceiving = true
    /// The highest sequence number seen, unwrapped.
    private var highest: Int64?
    /// The number that would confirm a jump of the sequence (RFC 3550 A.1).
    private var resyncCandidate: UInt16?

    private var buffer = ReorderBuffer()
    private var assembler = FrameAssembler()
    private var chain = DecodeChain()
    private var nacks = NackTracker()
    private var statistics = ReceiveStatistics(clockRate: 90_000)
    private var requester: KeyFrameRequester

    /// What the wait at the head is for, and when to look again; nil when nothing is missing.
    private var wait: Wait?
    /// The newest number that starts a key frame: while it waits to be completed no other one is asked for.
    private var newestKeyFrame: Int64 = -1
    /// Requests for the packet after the highest one, when a frame stays without its end (tail loss).
    private var tail = TailProbe()
    /// The decoder asked for a key frame: nothing but one ends the request.
    private var isKeyFrameForced = false
    /// A frame is counted as dropped once, whatever number of packets it had.
    private var lastDroppedTimestamp: UInt32?
    private var counts = ReceiveStreamStatistics()
    /// Reused for every request.
    private var requestList: [UInt16] = []

    private struct Wait: Sendable {
        var missing: Int64
        var deadline: MonotonicTime
        /// The repair takes so long that a key frame was asked for.
        var isOverdue: Bool
    }

    private struct TailProbe: Sendable {
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

    // MARK: Packets

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
        if let head = buffer.head, number < head, !buffer.hasAdvanced, nacks.isEmpty {
            // The first packets of the stream were swapped.
            _ = nacks.noteGap((number + 1)..<head, now: now)
        }
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

    // MARK: Frames

    /// Takes whatever can be taken from the head of the buffer.
    private mutating func drain(now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs) {
        while true {
            switch assembler.next(in: buffer) {
            case .idle:
                wait = nil
                updateTail(now: now)
                return
            case .useless(let count):
                guard !mayStillBegin(now: now) else { return }
                skipUseless(count, now: now, context: &context)
            case .frame(let numbers): finish(numbers, now: now, context: &context, into: &out)
            case .blocked(let missing):
                tail.due = nil
                guard resolve(missing, now: now, context: &context) else { return }
            }
        }
    }

    /// The first packet of the stream does not begin a frame: the one before it may only have been overtaken.
    private mutating func mayStillBegin(now: MonotonicTime) -> Bool {
        guard !buffer.hasAdvanced, let head = buffer.head, let first = buffer.packet(head), !first.isFiller else { return false }
        let deadline = first.arrival.adding(nanoseconds: Self.startGrace)
        guard now < deadline else { return false }
        wait = Wait(missing: head - 1, deadline: deadline, isOverdue: false)
        return true
    }

    /// Decides about the gap at the head; true when the head has moved past it.
    private mutating func resolve(_ missing: Int64, now: MonotonicTime, context: inout ReceiveContext) -> Bool {
        let limits = context.roundTrip
        // Without retransmission only reordering can bring it.
        let patience = usesNACK ? limits.patience : Self.reorderPatience
        guard let noticed = nacks.noticed(missing), now.nanoseconds(since: noticed) < patience else {
            giveUp(missing, now: now, context: &context)
            return true
        }
        let age = now.nanoseconds(since: noticed)
        let grace = max(Self.skipGrace, nacks.reorderDelay * 2)
        var deadline = noticed.adding(nanoseconds: patience)
        let chain = chain
        if let start = FrameAssembler.firstComplete(in: buffer, after: missing, where: { chain.canDecode($0, afterLoss: true) }) {
            if age >= grace {
                moveHead(to: start, now: now, context: &context)
                return true
            }
            deadline = min(deadline, noticed.adding(nanoseconds: grace))
        }
        let isOverdue = age >= limits.keyFrameRequestAge
        if isOverdue { requester.need(now: now) } else { deadline = min(deadline, noticed.adding(nanoseconds: limits.keyFrameRequestAge)) }
        wait = Wait(missing: missing, deadline: deadline, isOverdue: isOverdue)
        return false
    }

    /// The gap is a loss: on to the next frame that begins after it.
    private mutating func giveUp(_ missing: Int64, now: MonotonicTime, context: inout ReceiveContext) {
        moveHead(to: FrameAssembler.nextStart(in: buffer, after: missing), now: now, context: &context)
    }

    /// Leaves out everything before `start`.
    private mutating func moveHead(to start: Int64, now: MonotonicTime, context: inout ReceiveContext) {
        guard let head = buffer.head else { return }
        var dropped: PayloadInfo?
        for number in head..<min(start, buffer.end) {
            guard let packet = buffer.packet(number), !packet.isFiller else { continue }
            if dropped == nil { dropped = packet.info }
            countDropped(packet.timestamp, .incompleteFrame, context: &context)
        }
        let next = buffer.packet(start)?.info
        // A frame that nobody refers to is no loss for the decoder.
        if !isHarmless(dropped, before: next) {
            let goesOn = next.map { chain.canDecode($0, afterLoss: true) || chain.isOnlyUpperLayer($0) } ?? false
            if !goesOn { requester.need(now: now) }
            chain.noteLoss()
        }
        buffer.advance(to: start)
        nacks.discard(before: start)
        wait = nil
    }

    private func isHarmless(_ dropped: PayloadInfo?, before next: PayloadInfo?) -> Bool {
        guard let dropped, let next else { return false }
        return chain.isOnlyDiscardable(dropped, before: next)
    }

    private mutating func skipUseless(_ count: Int64, now: MonotonicTime, context: inout ReceiveContext) {
        guard let head = buffer.head else { return }
        var isLoss = false
        for number in head..<(head + count) {
            guard let packet = buffer.packet(number), !packet.isFiller else { continue }
            countDropped(packet.timestamp, .incompleteFrame, context: &context)
            isLoss = true
        }
        buffer.advance(to: head + count)
        guard isLoss else { return }
        chain.noteLoss()
        requester.need(now: now)
    }

    /// A whole frame lies at the head.
    private mutating func finish(
        _ numbers: Range<Int64>, now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs
    ) {
        defer { buffer.advance(to: numbers.upperBound) }
        guard let first = buffer.packet(numbers.lowerBound), let info = first.info, let ssrc else { return }
        guard chain.canDecode(info) else {
            countDropped(first.timestamp, .waitingForKeyFrame, context: &context)
            if !chain.isOnlyUpperLayer(info) { requester.need(now: now) }
            chain.noteLoss()
            return
        }
        var total = 0
        var firstArrival = first.arrival
        for number in numbers {
            guard let packet = buffer.packet(number), case .payload(_, _, let count) = packet.content else { continue }
            total += count
            firstArrival = min(firstArrival, packet.arrival)
        }
        let bytes = context.pool.take(capacity: Self.blockBytes(for: total))
        for number in numbers { _ = buffer.append(number, to: bytes) }
        var metadata: FrameMetadata?
        if usesFrameMetadata, let trailer = FrameTrailer.parse(bytes) {
            metadata = trailer.metadata
            bytes.setCount(max(0, bytes.count - trailer.byteCount))
        }
        chain.deliver(info)
        // A key frame answers every request; another frame tells that what was missing was repaired.
        if info.isKeyFrame || !isKeyFrameForced { requester.satisfied() }
        if info.isKeyFrame {
            counts.keyFrames &+= 1
            isKeyFrameForced = false
        }
        guard bytes.count > 0 else { return context.drops.count(.incompleteFrame) }
        counts.framesAssembled &+= 1
        out.frames.append(
            (
                section,
                EncodedFrame(
                    codec: info.codec, bytes: bytes, isKeyFrame: info.isKeyFrame, rtpTimestamp: first.timestamp, ssrc: ssrc,
                    metadata: metadata, firstPacketTime: firstArrival, completeTime: now)
            ))
    }

    /// Coarse sizes, so that any block of the pool serves any frame of a stream and a frame that is the largest so far
    /// rarely needs a new one. Pages that no frame reaches are never resident.
    private static func blockBytes(for count: Int) -> Int {
        guard count > smallestBlockBytes else { return smallestBlockBytes }
        return 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)
    }

    private mutating func countDropped(_ timestamp: UInt32, _ reason: DropReason, context: inout ReceiveContext) {
        guard timestamp != lastDroppedTimestamp else { return }
        lastDroppedTimestamp = timestamp
        counts.framesDropped &+= 1
        context.drops.count(reason)
    }

    /// The number at which to give up so that `number` fits; nil when it fits.
    private func bufferOverflow(adding number: Int64) -> Int64? {
        guard let head = buffer.head, number - head >= ReorderBuffer.capacity else { return nil }
        return head
    }

    /// Forgets packets and references; the next packet starts anew and only a key frame is of use.
    private mutating func restart() {
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

    // MARK: Feedback

    /// A decoder cannot go on without a key frame.
    package mutating func requestKeyFrame(now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs) {
        guard isReceiving, ssrc != nil else { return }
        isKeyFrameForced = true
        requester.need(now: now)
        sendDue(now: now, context: &context, into: &out)
    }

    /// While the track is paused nothing is stored, assembled or asked for.
    package mutating func setReceiving(_ on: Bool) {
        guard on != isReceiving else { return }
        isReceiving = on
        let (number, retransmission) = (highest, retransmissionSSRC)
        restart()
        highest = number
        retransmissionSSRC = retransmission
        isKeyFrameForced = false
        requester.satisfied()
    }

    /// The earliest moment at which `handleTimeout` has something to do.
    package func nextDeadline(roundTrip: RoundTripEstimator) -> MonotonicTime? {
        guard isReceiving, ssrc != nil else { return nil }
        var deadline = wait?.deadline
        if usesNACK {
            deadline = earlier(deadline, nacks.nextDeadline)
            deadline = earlier(deadline, tail.due)
        }
        if !awaitsKeyFrame { deadline = earlier(deadline, requester.nextDeadline(roundTrip: roundTrip.nanoseconds)) }
        return deadline
    }

    package mutating func handleTimeout(now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs) {
        guard isReceiving, ssrc != nil else { return }
        if let wait, wait.deadline <= now { drain(now: now, context: &context, into: &out) }
        sendDue(now: now, context: &context, into: &out)
    }

    package mutating func makeReportBlock(now: MonotonicTime) -> ReportBlock? {
        guard let ssrc, statistics.hasReceived else { return nil }
        return statistics.makeReportBlock(ssrc: ssrc, now: now)
    }

    package var snapshot: ReceiveStreamStatistics {
        var result = counts
        result.ssrc = ssrc
        result.codec = codec
        result.packetsReceived = statistics.packetsReceived
        result.bytesReceived = statistics.bytes
        result.packetsLost = statistics.packetsLost
        result.jitterSeconds = statistics.jitterSeconds
        return result
    }

    /// A key frame is on its way in, and not overdue: another request would only double it.
    private var awaitsKeyFrame: Bool {
        guard let head = buffer.head else { return false }
        return newestKeyFrame >= head && !(wait?.isOverdue ?? false)
    }

    /// When the rest of the last frame does not come, nothing newer may follow for long (a model that has gone idle), so
    /// the packet after the highest one is asked for without proof that it exists.
    private mutating func updateTail(now: MonotonicTime) {
        guard usesNACK, assembler.isInsideFrame, let highest else { return tail.due = nil }
        guard tail.number != highest + 1 else { return }
        tail = TailProbe(number: highest + 1, tries: 0, due: now.adding(nanoseconds: Self.tailDelay))
    }

    private mutating func sendDue(now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs) {
        guard let ssrc else { return }
        if usesNACK { sendRequests(for: ssrc, now: now, context: &context, into: &out) }
        guard !awaitsKeyFrame,
            let request = requester.takeRequest(now: now, roundTrip: context.roundTrip.nanoseconds)
        else { return }
        let sender = context.localSSRC
        switch request {
        case .pictureLoss:
            counts.plisSent &+= 1
            out.appendRTCP { PictureLossIndication(senderSSRC: sender, mediaSSRC: ssrc).write(into: &$0) }
        case .fullIntra(let sequence):
            counts.firsSent &+= 1
            out.appendRTCP { FullIntraRequest(senderSSRC: sender, entries: [.init(ssrc: ssrc, sequence: sequence)]).write(into: &$0) }
        }
    }

    private mutating func sendRequests(
        for ssrc: UInt32, now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs
    ) {
        let interval = context.roundTrip.repeatInterval
        repeat {
            requestList.removeAll(keepingCapacity: true)
            nacks.takeDue(now: now, interval: interval, into: &requestList)
            if let due = tail.due, due <= now, requestList.count < NackTracker.maxPerRequest {
                requestList.append(UInt16(truncatingIfNeeded: tail.number))
                tail.tries += 1
                tail.due = tail.tries < Self.maxTailTries ? now.adding(nanoseconds: interval) : nil
            }
            guard !requestList.isEmpty else { return }
            counts.nacksSent &+= 1
            let request = GenericNACK(senderSSRC: context.localSSRC, mediaSSRC: ssrc, sequenceNumbers: requestList)
            out.appendRTCP { request.write(into: &$0) }
        } while requestList.count == NackTracker.maxPerRequest
    }

    /// RFC 3550 A.1, MAX_DROPOUT.
    private static let maxJump: Int64 = 3000
    /// A gap that is a third of a second of a busy stream: the burst of repairs would take longer than a key frame.
    private static let maxRepairableGap = 256
    /// A retransmission may be of a packet newer than any other that came, but not by much.
    private static let maxRetransmissionLead: Int64 = 128
    /// Before a later frame replaces one that is only late; in nanoseconds, as the others.
    private static let skipGrace: Int64 = 10_000_000
    private static let startGrace: Int64 = 20_000_000
    private static let reorderPatience: Int64 = 80_000_000
    private static let silence: Int64 = 1_000_000_000
    private static let tailDelay: Int64 = 25_000_000
    private static let maxTailTries = 4
    private static let maxRetired = 16
    /// A frame of 15 Mbit/s at 30 frames per second.
    private static let smallestBlockBytes = 65_536
}

/// What all receive streams of a connection share during a call.
package struct ReceiveContext: Sendable {
    /// The SSRC that our RTCP speaks for.
    package let localSSRC: UInt32
    package let pool: FrameBufferPool
    package var roundTrip = RoundTripEstimator()
    package var drops = DropCounters()

    package init(localSSRC: UInt32, pool: FrameBufferPool) {
        self.localSSRC = localSSRC
        self.pool = pool
    }
}

/// The earlier of two deadlines, nil being never.
func earlier(_ a: MonotonicTime?, _ b: MonotonicTime?) -> MonotonicTime? {
    guard let a else { return b }
    guard let b else { return a }
    return min(a, b)
}
