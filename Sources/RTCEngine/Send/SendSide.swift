// All that a connection sends: its streams, what waits, the pacer, the congestion controller, and what each encoder is told.
// In: frames and audio packets, the peer's reports and requests, time. Out: RTP packets in the order to send them, rates
// and requests for the encoders. A packet's way: stream (payload) → queue → pacer's turn → stream (header, number, cache) →
// controller. Left out: sender reports' timing (`RTCPScheduler`), encryption.

package import RTCBase
package import RTCWire

/// The sending half of one connection.
package struct SendSide: Sendable {
    private(set) var streams: [SendStream] = []
    /// By section: the index above.
    private var indices: [Int?]
    private var queue: PacerQueue
    private var pacer: Pacer
    private(set) var controller: CongestionController
    private var context = SendContext()
    private var limits: BitrateLimits
    /// The offset that frames of this connection have to the monotonic clock (`CaptureClock`).
    private var sharedOffset: UInt32?
    /// Packets waited when the pacer last stopped.
    private var isBacklogged = false
    /// The congestion window was full when the pacer last stopped; looked at again then.
    private var isBlockedUntil: MonotonicTime?
    /// Repeats are paid for up to this time; never much ahead of now.
    private var repairsPaidUntil = MonotonicTime(nanoseconds: .min)
    /// Reused for each division of the rate.
    private var ceilings: [Int64] = []
    private var shares: [Int64] = []
    /// A stream sent its first packet since the last report.
    var startsReporting = false
    /// Something was published; from then on the controller works.
    private var hasBegun = false

    package init(session: NegotiatedSession, cname: String, settings: SendSettings) {
        let origin = MonotonicTime(nanoseconds: 0)
        limits = settings.limits.ordered
        // The controller begins with the first stream; until then nothing asks it.
        controller = CongestionController(limits: limits, now: origin)
        pacer = Pacer(rate: limits.start, now: origin)
        indices = Array(repeating: nil, count: session.sections.count)
        var generator = SeededGenerator(seed: settings.seed)
        for (index, section) in session.sections.enumerated() {
            guard
                let stream = SendStream(
                    section: index, negotiated: section, usesFrameMetadata: session.usesFrameMetadata, cname: cname, using: &generator)
            else { continue }
            indices[index] = streams.count
            streams.append(stream)
        }
        queue = PacerQueue(streamCount: streams.count)
        ceilings.reserveCapacity(streams.count)
        shares.reserveCapacity(streams.count)
    }

    private var isActive: Bool { streams.contains { $0.isActive } }

    // MARK: Calls of the shell

    package mutating func start(section: Int, now: MonotonicTime, into out: inout EngineOutputs) {
        guard let index = stream(section), !streams[index].isActive else { return }
        if !hasBegun {
            hasBegun = true
            controller = CongestionController(limits: limits, now: now)
            pacer = Pacer(rate: controller.targets.pacing, now: now)
        }
        streams[index].start()
        applyDemand(now: now, into: &out)
    }

    package mutating func stop(section: Int, now: MonotonicTime, into out: inout EngineOutputs) {
        guard let index = stream(section), streams[index].isActive else { return }
        queue.removeAll(index, store: &context.store)
        streams[index].stop(context: &context)
        isBacklogged = !queue.isEmpty
        applyDemand(now: now, into: &out)
    }

    package mutating func sendVideo(_ frame: EncodedFrame, section: Int, now: MonotonicTime, into out: inout EngineOutputs) {
        guard let index = stream(section), streams[index].kind == .video else { return context.drops.count(.unknownStream) }
        relieve(index, now: now)
        if isOverdue(index, now: now), !frame.isKeyFrame {
            // The queue is full of what cannot be dropped.
            streams[index].noteCut(PacerQueue.Cut(frames: 1, needsKeyFrame: true))
        } else {
            _ = streams[index].enqueue(
                frame, stream: index, shared: &sharedOffset, now: now, queue: &queue, context: &context)
        }
        pump(now: now, into: &out)
    }

    package mutating func sendAudio(
        _ payload: RawSpan, rtpTimestamp: UInt32, section: Int, now: MonotonicTime, into out: inout EngineOutputs
    ) {
        guard let index = stream(section), streams[index].kind == .audio else { return context.drops.count(.unknownStream) }
        let transport = context.nextTransportNumber
        let isFirst = !streams[index].hasSent
        guard let count = streams[index].writeAudio(payload, timestamp: rtpTimestamp, now: now, context: &context, into: &out) else {
            return
        }
        startsReporting = startsReporting || isFirst
        // Audio waits for nobody, but others wait for it.
        pacer.advance(to: now, isBacklogged: isBacklogged)
        account(count, transport: transport, now: now)
    }

    package mutating func setLimits(_ limits: BitrateLimits, now: MonotonicTime, into out: inout EngineOutputs) {
        self.limits = limits.ordered
        guard hasBegun else { return }
        controller.setLimits(self.limits, now: now)
        applyTargets(now: now, into: &out)
        pump(now: now, into: &out)
    }

    package mutating func setCeiling(_ ceiling: Bitrate, section: Int, now: MonotonicTime, into out: inout EngineOutputs) {
        guard let index = stream(section), streams[index].kind == .video else { return }
        streams[index].ceiling = max(0, ceiling.bitsPerSecond)
        guard hasBegun else { return }
        applyDemand(now: now, into: &out)
    }

    // MARK: The peer's feedback

    package mutating func handle(_ feedback: TransportFeedback, now: MonotonicTime, into out: inout EngineOutputs) {
        guard hasBegun else { return }
        controller.handle(feedback, now: now)
        applyTargets(now: now, into: &out)
        pump(now: now, into: &out)
    }

    package mutating func handle(_ estimate: ReceiverEstimatedMaxBitrate, now: MonotonicTime, into out: inout EngineOutputs) {
        guard hasBegun else { return }
        controller.handleREMB(Bitrate(bitsPerSecond: Int64(clamping: estimate.bitrate)), now: now)
        applyTargets(now: now, into: &out)
        pump(now: now, into: &out)
    }

    package mutating func handle(_ request: GenericNACK, now: MonotonicTime, into out: inout EngineOutputs) {
        guard let index = streams.firstIndex(where: { $0.ssrc == request.mediaSSRC }), streams[index].isActive else { return }
        streams[index].counts.nacksReceived &+= 1
        streams[index].counts.packetsRequested &+= UInt64(request.sequenceNumbers.count)
        for sequence in request.sequenceNumbers { queueRepair(sequence, stream: index, now: now) }
        pump(now: now, into: &out)
    }

    package mutating func handle(_ request: PictureLossIndication, now: MonotonicTime, into out: inout EngineOutputs) {
        guard let index = streams.firstIndex(where: { $0.ssrc == request.mediaSSRC }), streams[index].isActive else { return }
        streams[index].counts.plisReceived &+= 1
        // A key frame that is still on its way answers; should it be lost, the peer asks again.
        if queue.keyFrameCount(index) > 0 {
            // What waits before it is of no use.
            let cut = queue.cut(index, store: &context.store)
            if cut.frames > 0 || cut.hasSplitFrame { streams[index].noteCut(cut) }
        } else if !isKeyFrameOnItsWay(index, now: now) {
            streams[index].limiter.request()
        }
        tellKeyFrames(now: now, into: &out)
    }

    package mutating func handle(_ request: FullIntraRequest, now: MonotonicTime, into out: inout EngineOutputs) {
        for entry in request.entries {
            guard let index = streams.firstIndex(where: { $0.ssrc == entry.ssrc }), streams[index].isActive else { continue }
            if streams[index].limiter.command(entry.sequence, from: request.senderSSRC) { streams[index].counts.firsReceived &+= 1 }
        }
        tellKeyFrames(now: now, into: &out)
    }

    /// The peer's report on one of our streams. The round trip when it tells one.
    package mutating func handle(
        _ block: ReportBlock, ntp: NTPTimestamp, now: MonotonicTime, into out: inout EngineOutputs
    ) -> Int64? {
        guard let index = streams.firstIndex(where: { $0.ssrc == block.ssrc }) else { return nil }
        streams[index].noteReport(block)
        var roundTrip: Int64?
        if block.lastSR != 0 {
            // RFC 3550 §6.4.1, in 1/65536 s; clocks that step can make it negative.
            let units = Int64(Int32(bitPattern: ntp.middle32 &- block.lastSR &- block.delaySinceLastSR))
            if units >= 0, units < 10 << 16 {
                let nanoseconds = max(1_000_000, units * 1_000_000_000 >> 16)
                roundTrip = nanoseconds
                context.roundTripNanoseconds = context.roundTripNanoseconds.map { $0 + (nanoseconds - $0) / 4 } ?? nanoseconds
                streams[index].counts.roundTripSeconds = Double(nanoseconds) / 1e9
            }
        }
        guard hasBegun, streams[index].isActive else { return roundTrip }
        controller.handleLoss(fraction: block.fractionLost, roundTripNanoseconds: roundTrip, now: now)
        applyTargets(now: now, into: &out)
        pump(now: now, into: &out)
        return roundTrip
    }

    // MARK: Time

    package func nextDeadline() -> MonotonicTime? {
        guard isActive else { return nil }
        var deadline = controller.nextDeadline()
        if let isBlockedUntil {
            deadline = earlier(deadline, isBlockedUntil)
        } else if isBacklogged || pacer.probeCluster != nil {
            deadline = earlier(deadline, pacer.nextSend)
        }
        if canPad { deadline = earlier(deadline, pacer.nextPadding) }
        for stream in streams where stream.isActive && !stream.isCongested { deadline = earlier(deadline, stream.limiter.nextDeadline) }
        return deadline
    }

    package mutating func handleTimeout(now: MonotonicTime, into out: inout EngineOutputs) {
        guard isActive else { return }
        if let due = controller.nextDeadline(), due <= now {
            controller.handleTimeout(now: now)
            applyTargets(now: now, into: &out)
        }
        pump(now: now, into: &out)
        tellKeyFrames(now: now, into: &out)
    }

    package var drops: DropCounters { context.drops }

    package func statistics(section: Int, now: MonotonicTime? = nil) -> SendStreamStatistics? {
        guard let index = stream(section) else { return nil }
        var result = streams[index].counts
        result.targetBitsPerSecond = streams[index].toldRate ?? 0
        result.queueSeconds = Double(queuedNanoseconds(index)) / 1e9
        return result
    }

    private func stream(_ section: Int) -> Int? { indices.indices.contains(section) ? indices[section] : nil }

    // MARK: Rates

    /// What the encoders can use changed.
    private mutating func applyDemand(now: MonotonicTime, into out: inout EngineOutputs) {
        var wanted: Int64 = 0
        for index in streams.indices where streams[index].isActive {
            let rate = streams[index].kind == .audio ? streams[index].mediaMeter.bitsPerSecond(now: now) : streams[index].ceiling
            wanted = wanted.addingReportingOverflow(rate).overflow ? .max : wanted + rate
        }
        controller.setDemand(Bitrate(bitsPerSecond: min(wanted, limits.max.bitsPerSecond)), now: now)
        applyTargets(now: now, into: &out)
        pump(now: now, into: &out)
    }

    /// Divides the estimate among the video streams and tells those whose part changed.
    private mutating func applyTargets(now: MonotonicTime, into out: inout EngineOutputs) {
        let targets = controller.targets
        pacer.setRate(targets.pacing, padding: targets.padding)
        var rest = targets.estimate.bitsPerSecond
        var repairs: Int64 = 0
        for index in streams.indices where streams[index].isActive {
            repairs += streams[index].repairMeter.bitsPerSecond(now: now)
            if streams[index].kind == .audio { rest -= streams[index].mediaMeter.bitsPerSecond(now: now) }
        }
        // Repeats come out of the same rate; but for more than a part of it pictures do not shrink.
        rest -= min(repairs, targets.estimate.bitsPerSecond * 3 / 10)
        ceilings.removeAll(keepingCapacity: true)
        for stream in streams { ceilings.append(stream.isActive && stream.kind == .video ? stream.ceiling : -1) }
        RateShare.divide(rest, ceilings: ceilings, into: &shares)
        for index in streams.indices where ceilings[index] >= 0 {
            let rate = Self.encoderRate(shares[index])
            if let told = streams[index].toldRate, abs(rate - told) * 20 < told { continue }
            streams[index].toldRate = rate
            out.events.append(.sendRate(section: streams[index].section, bitsPerSecond: rate))
        }
    }

    /// What of a stream's rate is left for the encoder: a header of some 28 bytes for each 1100 bytes and for the part of a
    /// packet that each frame ends with.
    private static func encoderRate(_ share: Int64) -> Int64 { max(share / 2, (share - 4_000) * 39 / 40, 10_000) }

    // MARK: Leaving

    /// Lets everything leave that may leave now.
    private mutating func pump(now: MonotonicTime, into out: inout EngineOutputs) {
        pacer.advance(to: now, isBacklogged: isBacklogged)
        for index in streams.indices where streams[index].isActive { relieve(index, now: now) }
        isBlockedUntil = nil
        startProbe(now: now)
        while pacer.maySend(now: now) {
            guard isWindowOpen || pacer.probeCluster != nil else {
                if !queue.isEmpty { isBlockedUntil = now.adding(nanoseconds: Self.windowCheckNanoseconds) }
                break
            }
            if sendRepair(now: now, into: &out) || sendVideoPacket(now: now, into: &out) { continue }
            guard pacer.probeCluster != nil || pacer.paddingIsDue(now: now) else { break }
            if !sendPadding(now: now, into: &out) {
                pacer.abandonProbe()
                break
            }
        }
        isBacklogged = !queue.isEmpty
        for index in streams.indices where streams[index].kind == .video { tellCongestion(index, into: &out) }
        tellKeyFrames(now: now, into: &out)
    }

    /// Probes follow each other at once.
    private mutating func startProbe(now: MonotonicTime) {
        guard pacer.probeCluster == nil, canProbe, let probe = controller.takeProbe() else { return }
        pacer.start(probe, now: now)
    }

    private var isWindowOpen: Bool {
        guard let window = controller.targets.congestionWindow else { return true }
        return controller.outstanding < window
    }

    /// True when something was taken from the queue.
    private mutating func sendRepair(now: MonotonicTime, into out: inout EngineOutputs) -> Bool {
        while let repair = queue.popRepair() {
            let transport = context.nextTransportNumber
            guard let count = streams[repair.stream].writeRepair(repair.number, now: now, context: &context, into: &out) else { continue }
            account(count, transport: transport, now: now)
            return true
        }
        return false
    }

    private mutating func sendVideoPacket(now: MonotonicTime, into out: inout EngineOutputs) -> Bool {
        guard let index = queue.nextStream, let packet = queue.popFirst(index) else { return false }
        let transport = context.nextTransportNumber
        startsReporting = startsReporting || !streams[index].hasSent
        let count = streams[index].write(packet, now: now, context: &context, into: &out)
        account(count, transport: transport, now: now)
        return true
    }

    private mutating func sendPadding(now: MonotonicTime, into out: inout EngineOutputs) -> Bool {
        for index in streams.indices {
            let transport = context.nextTransportNumber
            guard let count = streams[index].writePadding(now: now, context: &context, into: &out) else { continue }
            account(count, transport: transport, now: now)
            return true
        }
        return false
    }

    /// A packet left; `transport` is the number that was free before it.
    private mutating func account(_ byteCount: Int, transport: Int64, now: MonotonicTime) {
        // A repeat with the same bytes has no number of its own, and a stream may carry none.
        if context.nextTransportNumber != transport {
            controller.onSent(SentPacket(number: transport, byteCount: byteCount, time: now, probe: pacer.probeCluster))
        }
        let isProbing = pacer.probeCluster != nil
        pacer.onSent(byteCount: byteCount, now: now)
        if isProbing { startProbe(now: now) }
    }

    private var canPad: Bool { pacer.wantsPadding && canProbe }
    /// Only a stream that has sent something has anything to fill a probe with.
    private var canProbe: Bool { streams.contains { $0.isActive && $0.kind == .video && $0.hasSent } }

    // MARK: Repeats and key frames

    private mutating func queueRepair(_ sequence: UInt16, stream index: Int, now: MonotonicTime) {
        let number = streams[index].cache.unwrap(sequence)
        guard let entry = streams[index].cache.find(number, now: now) else {
            // Too old to be repeated: only a key frame helps, and the peer may take a while to see that.
            if streams[index].isGone(number), !isKeyFrameOnItsWay(index, now: now) { streams[index].limiter.request() }
            return
        }
        guard !entry.isQueued else { return }
        // A request that comes within a round trip of the last repeat was made before that could arrive.
        let roundTrip = context.roundTripNanoseconds ?? Self.assumedRoundTrip
        if let repeated = entry.repeatedAt, now.nanoseconds(since: repeated) < roundTrip { return }
        // A peer that asks for everything again must not get more than the whole rate once more.
        let rate = max(controller.targets.estimate.bitsPerSecond, 50_000)
        let paid = max(repairsPaidUntil, now).adding(nanoseconds: Int64(entry.payloadCount + 40) * 8_000_000_000 / rate)
        guard paid.nanoseconds(since: now) <= Self.repairAllowanceNanoseconds,
            queue.append(PacerQueue.Repair(stream: index, number: number))
        else { return }
        repairsPaidUntil = paid
        streams[index].cache.update(number) { $0.isQueued = true }
    }

    private func isKeyFrameOnItsWay(_ index: Int, now: MonotonicTime) -> Bool {
        if queue.keyFrameCount(index) > 0 { return true }
        guard let left = streams[index].keyFrameLeftAt else { return false }
        return now.nanoseconds(since: left) < context.roundTripNanoseconds ?? Self.assumedRoundTrip
    }

    /// A peer that asks for a key frame cannot use what waits: it goes, and the key frame leaves at once.
    private mutating func tellKeyFrames(now: MonotonicTime, into out: inout EngineOutputs) {
        for index in streams.indices where streams[index].isActive && streams[index].limiter.isDue(now: now) {
            let cut = queue.cut(index, store: &context.store)
            if cut.frames > 0 || cut.hasSplitFrame { streams[index].noteCut(cut) }
            isBacklogged = !queue.isEmpty
            tellCongestion(index, into: &out)
            // While a key frame that leaves slowly fills the queue another would only make it longer.
            guard !streams[index].isCongested, streams[index].limiter.takeRequest(now: now) else { continue }
            out.events.append(.keyFrameRequested(section: streams[index].section))
        }
    }

    // MARK: The bound of the queue

    /// How long what waits of a stream would take at the rate its encoder has.
    private func queuedNanoseconds(_ index: Int) -> Int64 {
        let rate = max(streams[index].toldRate ?? 0, 10_000)
        return Int64(Double(queue.byteCount(index)) * 8e9 / Double(rate))
    }

    /// More than two seconds of media wait, or something has waited for so long.
    private func isOverdue(_ index: Int, now: MonotonicTime) -> Bool {
        guard let oldest = queue.oldest(index) else { return false }
        return now.nanoseconds(since: oldest) > Self.longestQueue || queuedNanoseconds(index) > Self.longestQueue
    }

    private mutating func relieve(_ index: Int, now: MonotonicTime) {
        guard isOverdue(index, now: now) else { return }
        let cut = queue.cut(index, store: &context.store)
        if cut.frames > 0 || cut.hasSplitFrame { streams[index].noteCut(cut) }
    }

    private mutating func tellCongestion(_ index: Int, into out: inout EngineOutputs) {
        let waiting = queuedNanoseconds(index)
        let isCongested =
            streams[index].isActive && (streams[index].isCongested ? waiting > Self.congestedQueue / 2 : waiting > Self.congestedQueue)
        guard isCongested != streams[index].isCongested else { return }
        streams[index].isCongested = isCongested
        out.events.append(.congested(section: streams[index].section, isCongested))
    }

    private static let congestedQueue: Int64 = 500_000_000
    private static let longestQueue: Int64 = 2_000_000_000
    private static let windowCheckNanoseconds: Int64 = 20_000_000
    private static let assumedRoundTrip: Int64 = 50_000_000
    /// Repeats may be this far ahead of a steady stream of the whole estimate.
    private static let repairAllowanceNanoseconds: Int64 = 500_000_000
}
