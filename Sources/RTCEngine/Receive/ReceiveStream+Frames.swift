// Second part of `ReceiveStream`: from packets in the buffer to frames, and what becomes of a gap. In: a buffer that
// changed, or a deadline. Out: frames in decode order, needs for key frames. See `ReceiveStream.swift` for the whole.

import RTCBase
import RTCWire

extension ReceiveStream {
    /// Takes whatever can be taken from the head of the buffer.
    mutating func drain(now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs) {
        while true {
            switch assembler.next(in: buffer) {
            case .idle:
                wait = nil
                updateTail(now: now)
                return
            case .useless(let count):
                guard !mayStillBegin(now: now, context: context) else { return }
                skipUseless(count, now: now, context: &context)
            case .torso(let count): moveHead(to: (buffer.head ?? 0) + count, now: now, context: &context)
            case .frame(let numbers): finish(numbers, now: now, context: &context, into: &out)
            case .blocked(let missing):
                tail.due = nil
                guard resolve(missing, now: now, context: &context) else { return }
            }
        }
    }

    /// The first packet of the stream does not begin a frame: the one before it may have been overtaken, or lost. It is
    /// asked for when it may belong to the key frame that a stream begins with: a new one would cost far more, and the
    /// sender may not be willing to make it so soon after.
    mutating func mayStillBegin(now: MonotonicTime, context: ReceiveContext) -> Bool {
        guard !buffer.hasAdvanced, let head = buffer.head, let first = buffer.packet(head), let info = first.info else { return false }
        let isRepairable = usesNACK && counts.framesAssembled == 0 && (info.isKeyFrame || info.codec == .vp8)
        let patience = isRepairable ? max(Self.startGrace, context.roundTrip.repeatInterval * 5 / 2) : Self.startGrace
        let deadline = first.arrival.adding(nanoseconds: patience)
        guard now < deadline else { return false }
        if isRepairable { nacks.noteBeginning((head - 1)..<head, now: now) }
        wait = Wait(deadline: deadline, isOverdue: false)
        return true
    }

    /// Decides about the gap at the head; true when the head has moved past it.
    mutating func resolve(_ missing: Int64, now: MonotonicTime, context: inout ReceiveContext) -> Bool {
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
        wait = Wait(deadline: deadline, isOverdue: isOverdue)
        return false
    }

    /// The gap is a loss: on to the next frame that begins after it.
    mutating func giveUp(_ missing: Int64, now: MonotonicTime, context: inout ReceiveContext) {
        moveHead(to: FrameAssembler.nextStart(in: buffer, after: missing), now: now, context: &context)
    }

    /// Leaves out everything before `start`.
    mutating func moveHead(to start: Int64, now: MonotonicTime, context: inout ReceiveContext) {
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

    func isHarmless(_ dropped: PayloadInfo?, before next: PayloadInfo?) -> Bool {
        guard let dropped, let next else { return false }
        return chain.isOnlyDiscardable(dropped, before: next)
    }

    mutating func skipUseless(_ count: Int64, now: MonotonicTime, context: inout ReceiveContext) {
        guard let head = buffer.head else { return }
        var isLoss = false
        for number in head..<(head + count) {
            guard let packet = buffer.packet(number), !packet.isFiller else { continue }
            countDropped(packet.timestamp, .incompleteFrame, context: &context)
            isLoss = true
        }
        buffer.advance(to: head + count)
        nacks.discard(before: head + count)
        guard isLoss else { return }
        chain.noteLoss()
        requester.need(now: now)
    }

    /// A whole frame lies at the head.
    mutating func finish(
        _ numbers: Range<Int64>, now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs
    ) {
        defer { buffer.advance(to: numbers.upperBound) }
        guard let first = buffer.packet(numbers.lowerBound), let info = first.info, let ssrc else { return }
        guard chain.canDecode(info) else {
            countDropped(first.timestamp, .waitingForKeyFrame, context: &context)
            if !chain.isOnlyUpperLayer(info) { requester.need(now: now) }
            chain.noteUndecodable(info)
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

    mutating func countDropped(_ timestamp: UInt32, _ reason: DropReason, context: inout ReceiveContext) {
        guard timestamp != lastDroppedTimestamp else { return }
        lastDroppedTimestamp = timestamp
        counts.framesDropped &+= 1
        context.drops.count(reason)
    }

    // In nanoseconds.
    /// Before a later frame replaces one that is only late.
    private static let skipGrace: Int64 = 10_000_000
    /// For packets overtaken by the first one of the stream.
    private static let startGrace: Int64 = 20_000_000
    /// For a late packet when retransmission was not negotiated.
    private static let reorderPatience: Int64 = 80_000_000

    /// Coarse sizes, so that any block of the pool serves any frame of a stream and a frame that is the largest so far
    /// rarely needs a new one. Pages that no frame reaches are never resident.
    private static func blockBytes(for count: Int) -> Int {
        guard count > smallestBlockBytes else { return smallestBlockBytes }
        return 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)
    }

    /// A frame of 15 Mbit/s at 30 frames per second.
    private static let smallestBlockBytes = 65_536
}
