// The receive end of an audio stream, between router and decoder: packets go in as they arrive, and each pull says
// what to play next. It works on RTP timestamps and real packet durations (AUD-05); arrival times decide how much delay
// is kept and nothing else, so media times never depend on them (SYN-03). A hole is repaired from the next packet's
// in-band FEC when that is there, else concealed, faded out after 100 ms (AUD-07); a timestamp gap without a sequence
// gap is silence the sender left out, not loss (AUD-01; RFC 7587 §3.1.3, §4). Left out: decoding, and the samples
// themselves: `AudioJitterBuffer+Delay` only says how many of them to leave out or to add.

package import RTCBase

/// A ring of 128 packets in one block of memory; nothing allocates after `init`.
package struct AudioJitterBuffer: Sendable {
    /// Packets of this stream by sequence number modulo the ring size; `number` says whose place it is.
    private var slots: [Slot]
    /// The payloads, `slotBytes` for each slot.
    private var storage: [UInt8] = []
    private(set) var phase = Phase.empty
    /// The sequence number and unwrapped timestamp that play next.
    private var nextSequence: Int64 = 0
    private(set) var nextTimestamp: Int64 = 0
    /// The newest sequence number in the ring; older than `nextSequence` when the ring is empty.
    private var newestSequence: Int64 = -1
    private var unwrapper = TimestampUnwrapper()
    /// Samples played since `nextTimestamp` without a packet.
    private(set) var stalledSamples = 0
    /// Samples concealed in a row.
    private var concealedRun = 0
    /// The packet played last was one of those a sender makes while nothing is said.
    private var isQuietSender = false
    /// A number far from what is expected; its successor makes it the new truth (RFC 3550 A.1).
    private var suspectSequence: Int64?
    /// How much delay the network needs.
    var estimator = ArrivalDelayEstimator()
    /// When the delay was last adjusted, or that was tried, and when the sound last ran out.
    var lastAdjustment: MonotonicTime?
    var lastUnderrun: MonotonicTime?

    package internal(set) var statistics = AudioJitterStatistics()
    package private(set) var drops = DropCounters()

    package init() {
        slots = Array(repeating: Slot(), count: Self.capacityPackets)
    }

    // MARK: In

    /// - Parameters:
    ///   - sequence: unwrapped over the stream's life.
    ///   - timestamp: the RTP timestamp, 48 kHz.
    ///   - arrival: when it came from the network, on the clock of `pull`.
    /// - Returns: false when the packet was not stored; the reason is counted in `drops`.
    @discardableResult
    package mutating func insert(sequence: Int64, timestamp: UInt32, payload: RawSpan, arrival: MonotonicTime) -> Bool {
        guard phase != .paused else { return discard(.audioLate) }
        guard payload.byteCount <= Self.slotBytes else { return discard(.oversizePacket) }
        guard let duration = OpusPacket.durationSamples(payload) else { return discard(.malformedPayload) }
        guard isPlausible(sequence) else { return false }
        let time = unwrapper.unwrap(timestamp)
        let hasRepair = OpusPacket.hasRepair(payload)
        // The packet before this one is not there: what is in this one is the earliest that can play in its place.
        let repairs = phase == .playing && hasRepair && sequence == newestSequence + 2
        estimator.add(
            arrival: arrival, timestamp: time, durationSamples: duration, repairedSamples: repairs ? duration : 0)
        if phase != .empty, sequence < nextSequence {
            // Before playing began an older packet may still become the first.
            guard phase == .filling, newestSequence - sequence < Int64(Self.capacityPackets) else { return discard(.audioLate) }
            nextSequence = sequence
        }
        let place = index(sequence)
        guard slots[place].number != sequence else { return discard(.duplicatePacket) }

        slots[place] = Slot(
            number: sequence, timestamp: time, durationSamples: duration, byteCount: payload.byteCount, hasRepair: hasRepair)
        let start = place * Self.slotBytes
        // A track that nobody sends on does without.
        if storage.isEmpty { storage = Array(repeating: 0, count: Self.capacityPackets * Self.slotBytes) }
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

    /// What to play next; the next call continues behind it. Bytes named by the answer stay valid until the next insert.
    ///
    /// - Parameters:
    ///   - now: when the block that is being filled is due.
    ///   - pendingSamples: how much was decoded before and waits to be played.
    package mutating func pull(now: MonotonicTime, pendingSamples: Int = 0) -> AudioDecision {
        switch phase {
        case .empty, .paused:
            return .silence(samples: restOfBlock(pendingSamples))
        case .filling:
            // After an outage much may have come at once; while nothing plays the oldest of it goes unheard.
            while delayNanoseconds(ofNextAt: now) > targetNanoseconds + Self.mostAtStartNanoseconds, dropOldest() {}
            guard delayNanoseconds(ofNextAt: now) >= targetNanoseconds else {
                return .silence(samples: restOfBlock(pendingSamples))
            }
            phase = .playing
            stalledSamples = 0
            nextTimestamp = oldestSlot()?.timestamp ?? 0
            return play(now: now, pendingSamples: pendingSamples)
        case .playing:
            return play(now: now, pendingSamples: pendingSamples)
        }
    }

    /// Lends the bytes of a decision.
    package func withPayload<R>(_ range: Range<Int>, _ body: (RawSpan) -> R) -> R {
        storage.withUnsafeBytes { body($0.bytes.extracting(range)) }
    }

    /// The next packet is here, and nothing is missing before it.
    package var isNextReady: Bool {
        guard phase == .playing, stalledSamples == 0, let slot = oldestSlot() else { return false }
        return slot.number == nextSequence && slot.timestamp == nextTimestamp
    }

    /// How much media waits, from the next to play to the end of the newest.
    package var bufferedSamples: Int {
        guard let oldest = oldestSlot(), newestSequence >= nextSequence else { return 0 }
        let newest = slots[index(newestSequence)]
        guard newest.number == newestSequence else { return oldest.durationSamples }
        let start = phase == .playing ? min(nextTimestamp &+ Int64(stalledSamples), oldest.timestamp) : oldest.timestamp
        return Int(clamping: max(0, newest.timestamp &+ Int64(newest.durationSamples) &- start))
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
        estimator.restart()
        stalledSamples = 0
        concealedRun = 0
        isQuietSender = false
        suspectSequence = nil
        lastAdjustment = nil
    }

    // MARK: Playing

    private mutating func play(now: MonotonicTime, pendingSamples: Int) -> AudioDecision {
        if bufferedSamples > Self.maxBufferedSamples {
            while bufferedSamples > Self.maxBufferedSamples / 2, dropOldest() {}
        }
        guard let slot = oldestSlot() else {
            if concealedRun == 0, !isQuietSender {
                statistics.underruns &+= 1
                lastUnderrun = now
            }
            return fill(upTo: Self.blockSamples, pendingSamples: pendingSamples)
        }
        let missing = slot.timestamp &- nextTimestamp &- Int64(stalledSamples)
        // Less than nothing missing: we waited longer than the hole, or the sender's clock was set back.
        guard missing >= Int64(Self.stepSamples), missing <= Int64(Self.maxGapSamples) else { return play(slot) }
        let gap = Int(missing) / Self.stepSamples * Self.stepSamples
        if slot.number == nextSequence { return leaveOut(gap, now: now, pendingSamples: pendingSamples) }
        // FEC repairs the time right before its packet, at most as long as that packet (RFC 6716 §2.1.7).
        guard slot.hasRepair else { return fill(upTo: min(Self.blockSamples, gap), pendingSamples: pendingSamples) }
        guard gap <= slot.durationSamples else {
            return fill(upTo: min(Self.blockSamples, gap - slot.durationSamples), pendingSamples: pendingSamples)
        }
        statistics.packetsLost &+= UInt64(max(0, slot.number - nextSequence))
        statistics.repairedSamples &+= UInt64(gap)
        // The hole is closed: what was missing comes too late now.
        nextSequence = slot.number
        nextTimestamp = slot.timestamp
        stalledSamples = 0
        concealedRun = 0
        return .fec(payload(of: slot), samples: gap, timestamp: UInt32(truncatingIfNeeded: slot.timestamp &- Int64(gap)))
    }

    private mutating func play(_ slot: Slot) -> AudioDecision {
        pass(slot)
        concealedRun = 0
        isQuietSender = slot.byteCount <= Self.quietPacketBytes
        statistics.packetsPlayed &+= 1
        return .packet(
            payload(of: slot), samples: slot.durationSamples, timestamp: UInt32(truncatingIfNeeded: slot.timestamp))
    }

    /// Nothing to decode: concealment for 100 ms, its last block faded out, then silence. The place of what did not
    /// come is kept, so a late packet is played late instead of being lost; the delay is taken back afterwards.
    private mutating func fill(upTo samples: Int, pendingSamples: Int) -> AudioDecision {
        let isSilent = !isQuietSender && concealedRun >= Self.maxConcealedSamples
        // Silence ends with its block, so that what comes next begins with one.
        let samples = isSilent ? min(samples, restOfBlock(pendingSamples)) : samples
        stalledSamples += samples
        // After a second of nothing the old time line says nothing any more: collect again before playing.
        guard stalledSamples < Self.maxStallSamples else {
            flush()
            return .silence(samples: samples)
        }
        if isSilent { return .silence(samples: samples) }
        if isQuietSender { return .comfort(samples: samples) }
        concealedRun += samples
        statistics.concealedSamples &+= UInt64(samples)
        return .conceal(samples: samples, isFading: concealedRun >= Self.maxConcealedSamples)
    }

    /// The sender said nothing here. Delay that is too much goes where nobody hears it.
    private mutating func leaveOut(_ gap: Int, now: MonotonicTime, pendingSamples: Int) -> AudioDecision {
        let excess = min(excessSamples(now: now, pendingSamples: pendingSamples), gap - Self.stepSamples)
        if excess >= Self.stepSamples {
            let taken = excess / Self.stepSamples * Self.stepSamples
            stalledSamples += taken
            statistics.acceleratedSamples &+= UInt64(taken)
        }
        let part = min(gap, Self.blockSamples)
        stalledSamples += part
        concealedRun = 0
        return isQuietSender ? .comfort(samples: part) : .silence(samples: part)
    }

    private mutating func dropOldest() -> Bool {
        guard let slot = oldestSlot(), slot.number < newestSequence else { return false }
        pass(slot)
        statistics.jumps &+= 1
        drops.count(.audioOverflow)
        return true
    }

    private mutating func pass(_ slot: Slot) {
        statistics.packetsLost &+= UInt64(max(0, slot.number - nextSequence))
        slots[index(slot.number)].number = Slot.unused
        nextSequence = slot.number + 1
        nextTimestamp = slot.timestamp &+ Int64(slot.durationSamples)
        stalledSamples = 0
    }

    // MARK: Numbers

    /// Decides about a number far from the expected one: a single one is dropped, a second in sequence means that
    /// the sender began anew and the buffer follows (RTP-10).
    private mutating func isPlausible(_ sequence: Int64) -> Bool {
        guard phase != .empty else { return true }
        let capacity = Int64(Self.capacityPackets)
        // More than the ring holds has come: the oldest makes room.
        if sequence == newestSequence + 1 { while sequence - nextSequence >= capacity, dropOldest() {} }
        let ahead = sequence - nextSequence
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

    func oldestSlot() -> Slot? {
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

    private func restOfBlock(_ pendingSamples: Int) -> Int { Self.blockSamples - pendingSamples % Self.blockSamples }

    /// A power of two; 2.5 s of 20 ms packets.
    package static let capacityPackets = 128
    /// Audio packets fit a datagram; longer ones are refused.
    private static let slotBytes = 1_500
    /// 10 ms, the step of the playing side.
    package static let blockSamples = 480
    /// 2.5 ms, the unit in which a decoder fills holes.
    private static let stepSamples = 120
    private static let maxStallSamples = 48_000
    /// 100 ms: libopus has faded to noise by then, and longer concealment sounds like a fault (AUD-07).
    private static let maxConcealedSamples = 4_800
    /// A jump of more than 2 s is not a pause but a new time line.
    private static let maxGapSamples = 96_000
    /// 1.2 s: more than a stall can leave behind, so a time-compressed second is the worst that is played late.
    private static let maxBufferedSamples = 57_600
    private static let mostAtStartNanoseconds: Int64 = 200_000_000
    /// What libopus makes of silence with DTX: a table of contents, and at most one byte more.
    private static let quietPacketBytes = 2
}

enum Phase: Sendable { case empty, filling, playing, paused }

struct Slot: Sendable {
    static let unused = Int64.min
    var number = Slot.unused
    var timestamp: Int64 = 0
    var durationSamples = 0
    var byteCount = 0
    var hasRepair = false
}
