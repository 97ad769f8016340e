// Which packet leaves next, and how much may wait: repeats before video, padding only to fill a probe; a queue above half a
// second is told to the encoder, one above two seconds loses frames.

import RTCBase

extension SendSide {
    /// Lets everything leave that may leave now.
    mutating func pump(now: MonotonicTime, into out: inout EngineOutputs) {
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
    mutating func startProbe(now: MonotonicTime) {
        guard pacer.probeCluster == nil, canProbe, let probe = controller.takeProbe() else { return }
        pacer.start(probe, now: now)
    }

    var isWindowOpen: Bool {
        guard let window = controller.targets.congestionWindow else { return true }
        return controller.outstanding < window
    }

    /// True when something was taken from the queue.
    mutating func sendRepair(now: MonotonicTime, into out: inout EngineOutputs) -> Bool {
        while let repair = queue.popRepair() {
            let transport = context.nextTransportNumber
            guard let count = streams[repair.stream].writeRepair(repair.number, now: now, context: &context, into: &out) else { continue }
            account(count, transport: transport, now: now)
            return true
        }
        return false
    }

    mutating func sendVideoPacket(now: MonotonicTime, into out: inout EngineOutputs) -> Bool {
        guard let index = queue.nextStream, let packet = queue.popFirst(index) else { return false }
        let transport = context.nextTransportNumber
        startsReporting = startsReporting || !streams[index].hasSent
        let count = streams[index].write(packet, now: now, context: &context, into: &out)
        account(count, transport: transport, now: now)
        return true
    }

    mutating func sendPadding(now: MonotonicTime, into out: inout EngineOutputs) -> Bool {
        for index in streams.indices {
            let transport = context.nextTransportNumber
            guard let count = streams[index].writePadding(now: now, context: &context, into: &out) else { continue }
            account(count, transport: transport, now: now)
            return true
        }
        return false
    }

    /// A packet left; `transport` is the number that was free before it.
    mutating func account(_ byteCount: Int, transport: Int64, now: MonotonicTime) {
        // A repeat with the same bytes has no number of its own, and a stream may carry none.
        if context.nextTransportNumber != transport {
            controller.onSent(SentPacket(number: transport, byteCount: byteCount, time: now, probe: pacer.probeCluster))
        }
        let isProbing = pacer.probeCluster != nil
        pacer.onSent(byteCount: byteCount, now: now)
        if isProbing { startProbe(now: now) }
    }

    var canPad: Bool { pacer.wantsPadding && canProbe }
    /// Only a stream that has sent something has anything to fill a probe with.
    var canProbe: Bool { streams.contains { $0.isActive && $0.kind == .video && $0.hasSent } }

    // MARK: The bound of the queue

    /// How long what waits of a stream would take at the rate its encoder has.
    func queuedNanoseconds(_ index: Int) -> Int64 {
        let rate = max(streams[index].toldRate ?? 0, 10_000)
        return Int64(Double(queue.byteCount(index)) * 8e9 / Double(rate))
    }

    /// More than two seconds of media wait, or something has waited for so long.
    func isOverdue(_ index: Int, now: MonotonicTime) -> Bool {
        guard let oldest = queue.oldest(index) else { return false }
        return now.nanoseconds(since: oldest) > Self.longestQueue || queuedNanoseconds(index) > Self.longestQueue
    }

    mutating func relieve(_ index: Int, now: MonotonicTime) {
        guard isOverdue(index, now: now) else { return }
        let cut = queue.cut(index, store: &context.store)
        if cut.frames > 0 || cut.hasSplitFrame { streams[index].noteCut(cut) }
    }

    mutating func tellCongestion(_ index: Int, into out: inout EngineOutputs) {
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
}
