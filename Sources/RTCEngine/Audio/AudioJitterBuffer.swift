// The receive end of an audio stream, between router and decoder: packets go in as they arrive, and each pull says
// what to play next. It works on RTP timestamps and real packet durations (AUD-05), and on nothing but the pulls to
// see time pass, so media times never depend on arrival times (SYN-03). A hole is repaired from the next packet's
// in-band FEC when that is there, else concealed, faded out after 100 ms (AUD-07); a timestamp gap without a sequence
// gap is silence the sender left out, not loss (AUD-01; RFC 7587 §3.1.3, §4). Left out: adapting the target delay,
// time stretching, decoding.

package import RTCBase

/// A ring of 128 packets in one block of memory; nothing allocates after `init`.
package struct AudioJitterBuffer: Sendable {
    /// Packets of this stream by sequence number modulo the ring size; `number` says whose place it is.
    private var slots: [Slot]
    /// The payloads, `slotBytes` for each slot.
    private var storage: [UInt8]
    private var phase = Phase.empty
    /// The sequence number and unwrapped timestamp that play next.
    private var nextSequence: Int64 = 0
    private var nextTimestamp: Int64 = 0
    /// The newest sequence number in the ring; older than `nextSequence` when the ring is empty.
    private var newestSequence: Int64 = -1
    private var unwrapper = TimestampUnwrapper()
    /// Samples played since `nextTimestamp` without a packet.
    private var stalledSamples = 0
    /// Samples concealed in a row.
    private var concealedRun = 0
    /// A number far from what is expected; its successor makes it the new truth (RFC 3550 A.1).
    private var suspectSequence: Int64?
    /// The smallest fill level since the window began, to see delay that is never used.
    private var lowestLevel = Int.max
    private var windowSamples = 0
    private let targetSamples: Int

    package private(set) var statistics = AudioJitterStatistics()
    package private(set) var drops = DropCounters()

    /// - Parameter targetDelayMilliseconds: how much is collected before playing begins.
    package init(targetDelayMilliseconds: Int = 40) {
        targetSamples = max(0, targetDelayMilliseconds) * (OpusPacket.clockRate / 1000)
        slots = Array(repeating: Slot(), count: Self.capacityPackets)
        storage = Array(repeating: 0, count: Self.capacityPackets * Self.slotBytes)
    }

    // MARK: In

    /// - Parameters:
    ///   - sequence: unwrapped over the stream's life.
    ///   - timestamp: the RTP timestamp, 48 kHz.
    /// - Returns: false when the packet was not stored; the reason is counted in `drops`.
    @discardableResult
    package mutating func insert(sequence: Int64, timestamp: UInt32, payload: RawSpan) -> Bool {
        guard phase != .paused else { return discard(.audioLate) }
        guard payload.byteCount <= Self.slotBytes else { return discard(.oversizePacket) }
        guard let duration = OpusPacket.durationSamples(payload) else { return discard(.malformedPayload) }
        guard isPlausible(sequence) else { return false }
        if phase != .empty, sequence < nextSequence {
            // Before playing began an older packet may still become the first.
            guard phase == .filling, newestSequence - sequence < Int64(Self.capacityPackets) else { return discard(.audioLate) }
            nextSequence = sequence
        }
        let place = index(sequence)
        guard slots[place].number != sequence else { return discard(.duplicatePacket) }

        slots[place] = Slot(
            number: sequence, timestamp: unwrapper.unwrap(timestamp), durationSamples: duration, byteCount: payload.byteCount)
        let start = place * Self.slotBytes
        storage.withUnsafeMutableBytes { target in
            payload.withUnsafeBytes { source in
                UnsafeMutableRawBufferPointer(rebasing: target[start..<start + source.count]).copyMemory(from: source)
            }
        }
        if phase == .empty {
            phase = .filling
            nextSequence = sequence
            newestSequence = sequence
        }
        newestSequence = max(newestSequence, sequence)
        statistics.packetsReceived &+= 1
        return true
    }

    // MARK: Out

    /// What to play next; it covers at least 2.5 ms and the next call continues behind it. Bytes named by the
    /// answer stay valid until the next insert.
    package mutating func pull() -> AudioDecision {
        switch phase {
        case .empty, .paused:
            return .silence(samples: Self.blockSamples)
        case .filling:
            guard bufferedSamples >= targetSamples || stalledSamples >= targetSamples else {
                stalledSamples += Self.blockSamples
                return .silence(samples: Self.blockSamples)
            }
            phase = .playing
            stalledSamples = 0
            nextTimestamp = oldestSlot()?.timestamp ?? 0
            return play()
        case .playing:
            return play()
        }
    }

    /// Lends the bytes of a decision.
    package func withPayload<R>(_ range: Range<Int>, _ body: (RawSpan) -> R) -> R {
        storage.withUnsafeBytes { body($0.bytes.extracting(range)) }
    }

    /// How much media waits, from the next to play to the end of the newest.
    package var bufferedSamples: Int {
        guard let oldest = oldestSlot(), newestSequence >= nextSequence else { return 0 }
        let newest = slots[index(newestSequence)]
        guard newest.number == newestSequence else { return oldest.durationSamples }
        let start = phase == .playing ? min(nextTimestamp + Int64(stalledSamples), oldest.timestamp) : oldest.timestamp
        return Int(clamping: max(0, newest.timestamp + Int64(newest.durationSamples) - start))
    }

    // MARK: Pause

    /// Empties the buffer and refuses packets, so that old sound never plays after a resume (AUD-11).
    package mutating func pause() {
        flush()
        phase = .paused
    }

    package mutating func resume() {
        if phase == .paused { phase = .empty }
    }

    /// Forgets everything stored; the next packet begins anew.
    package mutating func flush() {
        for place in slots.indices { slots[place].number = Slot.unused }
        if phase != .paused { phase = .empty }
        newestSequence = nextSequence - 1
        unwrapper.reset()
        stalledSamples = 0
        concealedRun = 0
        suspectSequence = nil
        lowestLevel = .max
        windowSamples = 0
    }

    // MARK: Playing

    private mutating func play() -> AudioDecision {
        dropExcess()
        guard let slot = oldestSlot() else { return fill(upTo: Self.blockSamples) }
        let missing = slot.timestamp - nextTimestamp - Int64(stalledSamples)
        // Less than nothing missing: we waited longer than the hole, or the sender's clock was set back.
        guard missing >= Int64(Self.stepSamples), missing <= Int64(Self.maxGapSamples) else { return play(slot) }
        let gap = Int(missing) / Self.stepSamples * Self.stepSamples
        if slot.number == nextSequence {
            let part = min(gap, Self.blockSamples)
            stalledSamples += part
            concealedRun = 0
            return .silence(samples: part)
        }
        // FEC repairs the time right before its packet, at most as long as that packet (RFC 6716 §2.1.7).
        guard gap <= slot.durationSamples else {
            return fill(upTo: min(Self.blockSamples, gap - slot.durationSamples))
        }
        statistics.packetsLost &+= UInt64(max(0, slot.number - nextSequence))
        statistics.repairedSamples &+= UInt64(gap)
        // The hole is closed: what was missing comes too late now.
        nextSequence = slot.number
        nextTimestamp = slot.timestamp
        stalledSamples = 0
        concealedRun = 0
        return .fec(payload(of: slot), samples: gap, timestamp: UInt32(truncatingIfNeeded: slot.timestamp - Int64(gap)))
    }

    private mutating func play(_ slot: Slot) -> AudioDecision {
        statistics.packetsLost &+= UInt64(max(0, slot.number - nextSequence))
        slots[index(slot.number)].number = Slot.unused
        nextSequence = slot.number + 1
        nextTimestamp = slot.timestamp + Int64(slot.durationSamples)
        stalledSamples = 0
        concealedRun = 0
        statistics.packetsPlayed &+= 1
        windowSamples += slot.durationSamples
        lowestLevel = min(lowestLevel, bufferedSamples)
        return .packet(
            payload(of: slot), samples: slot.durationSamples, timestamp: UInt32(truncatingIfNeeded: slot.timestamp))
    }

    /// Nothing to decode: concealment for 100 ms, its last block faded out, then silence. The place of what did not
    /// come is kept, so a late packet is played late instead of being lost; `dropExcess` takes the delay back.
    private mutating func fill(upTo samples: Int) -> AudioDecision {
        stalledSamples += samples
        // After a second of nothing the old time line says nothing any more: collect again before playing.
        guard stalledSamples < Self.maxStallSamples else {
            flush()
            return .silence(samples: samples)
        }
        guard concealedRun < Self.maxConcealedSamples else { return .silence(samples: samples) }
        concealedRun += samples
        statistics.concealedSamples &+= UInt64(samples)
        return .conceal(samples: samples, isFading: concealedRun >= Self.maxConcealedSamples)
    }

    /// Takes back delay that half a second of playing never needed, one packet at a time, and at once what is
    /// beyond any use.
    private mutating func dropExcess() {
        if bufferedSamples > Self.maxBufferedSamples {
            while bufferedSamples > targetSamples, dropOldest() {}
        } else if windowSamples >= Self.windowLengthSamples {
            if lowestLevel > targetSamples + Self.blockSamples, lowestLevel != .max { _ = dropOldest() }
            lowestLevel = .max
            windowSamples = 0
        }
    }

    private mutating func dropOldest() -> Bool {
        guard let slot = oldestSlot(), slot.number < newestSequence else { return false }
        statistics.packetsLost &+= UInt64(max(0, slot.number - nextSequence))
        slots[index(slot.number)].number = Slot.unused
        nextSequence = slot.number + 1
        nextTimestamp = slot.timestamp + Int64(slot.durationSamples)
        stalledSamples = 0
        drops.count(.audioOverflow)
        return true
    }

    // MARK: Numbers

    /// Decides about a number far from the expected one: a single one is dropped, a second in sequence means that
    /// the sender began anew and the buffer follows (RTP-10).
    private mutating func isPlausible(_ sequence: Int64) -> Bool {
        guard phase != .empty else { return true }
        let ahead = sequence - nextSequence
        let capacity = Int64(Self.capacityPackets)
        if ahead >= -capacity, ahead < capacity {
            suspectSequence = nil
            return true
        }
        if let suspect = suspectSequence, sequence == suspect + 1 {
            flush()
            return true
        }
        suspectSequence = sequence
        return discard(ahead > 0 ? .audioOverflow : .audioLate)
    }

    private func oldestSlot() -> Slot? {
        guard phase != .empty, newestSequence >= nextSequence else { return nil }
        // At most one round: `isPlausible` keeps the newest within the ring.
        for sequence in nextSequence...newestSequence {
            let slot = slots[index(sequence)]
            if slot.number == sequence { return slot }
        }
        return nil
    }

    private func index(_ sequence: Int64) -> Int {
        Int(sequence & Int64(Self.capacityPackets - 1))
    }

    private func payload(of slot: Slot) -> Range<Int> {
        let start = index(slot.number) * Self.slotBytes
        return start..<start + slot.byteCount
    }

    private mutating func discard(_ reason: DropReason) -> Bool {
        drops.count(reason)
        return false
    }

    /// A power of two; 2.5 s of 20 ms packets.
    package static let capacityPackets = 128
    /// Audio packets fit a datagram; longer ones are refused.
    private static let slotBytes = 1_500
    /// 10 ms, the step of the playing side.
    private static let blockSamples = 480
    /// 2.5 ms, the unit in which a decoder fills holes.
    private static let stepSamples = 120
    private static let maxStallSamples = 48_000
    /// 100 ms: libopus has faded to noise by then, and longer concealment sounds like a fault (AUD-07).
    private static let maxConcealedSamples = 4_800
    /// A jump of more than 2 s is not a pause but a new time line.
    private static let maxGapSamples = 96_000
    private static let maxBufferedSamples = 19_200  // 400 ms
    private static let windowLengthSamples = 24_000  // 500 ms
}

/// What the decoder is to do for the next stretch of sound.
package enum AudioDecision: Hashable, Sendable {
    /// Decode these bytes.
    case packet(Range<Int>, samples: Int, timestamp: UInt32)
    /// Decode the forward error correction inside these bytes; their own turn comes next.
    case fec(Range<Int>, samples: Int, timestamp: UInt32)
    /// Let the decoder invent; the fading one goes down to zero at its end.
    case conceal(samples: Int, isFading: Bool)
    /// Zeros.
    case silence(samples: Int)

    package var samples: Int {
        switch self {
        case .packet(_, let samples, _), .fec(_, let samples, _), .conceal(let samples, _), .silence(let samples): samples
        }
    }
}

package struct AudioJitterStatistics: Hashable, Sendable {
    package var packetsReceived: UInt64 = 0
    package var packetsPlayed: UInt64 = 0
    /// Sequence numbers that were passed over when their time came.
    package var packetsLost: UInt64 = 0
    package var concealedSamples: UInt64 = 0
    package var repairedSamples: UInt64 = 0

    package init() {}
}

private enum Phase: Sendable { case empty, filling, playing, paused }

private struct Slot: Sendable {
    static let unused = Int64.min
    var number = Slot.unused
    var timestamp: Int64 = 0
    var durationSamples = 0
    var byteCount = 0
}
