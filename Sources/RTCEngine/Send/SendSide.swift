// All that a connection sends: its streams, what waits, the pacer, the congestion controller, and what each encoder is told.
// In: frames and audio packets, the peer's reports and requests, time. Out: RTP packets in the order to send them, rates
// and requests for the encoders. A packet's way: stream (payload) → queue → pacer's turn → stream (header, number, cache) →
// controller. Left out: sender reports' timing (`RTCPScheduler`), encryption.

package import RTCBase
import RTCWire

/// The sending half of one connection.
package struct SendSide: Sendable {
    var streams: [SendStream] = []
    /// By section: the index above.
    var indices: [Int?]
    var queue: PacerQueue
    var pacer: Pacer
    var controller: CongestionController
    var context = SendContext()
    var limits: BitrateLimits
    /// The offset that frames of this connection have to the monotonic clock (`CaptureClock`).
    var sharedOffset: UInt32?
    /// Packets waited when the pacer last stopped.
    var isBacklogged = false
    /// The congestion window was full when the pacer last stopped; looked at again then.
    var isBlockedUntil: MonotonicTime?
    /// Repeats are paid for up to this time; never much ahead of now.
    var repairsPaidUntil = MonotonicTime(nanoseconds: .min)
    /// Reused for each division of the rate.
    var ceilings: [Int64] = []
    var shares: [Int64] = []
    /// A stream sent its first packet since the last report.
    var startsReporting = false
    /// Something was published; from then on the controller works.
    var hasBegun = false

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

    // MARK: Time

    package func nextDeadline() -> MonotonicTime? {
        // Without streams the controller still has to see the end of what is on its way.
        guard hasBegun else { return nil }
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
        guard hasBegun else { return }
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

    func stream(_ section: Int) -> Int? { indices.indices.contains(section) ? indices[section] : nil }

}
