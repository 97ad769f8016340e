// What the peer says about what we send: feedback for the controller, requests for repeats and key frames, reports. RFC 4585,
// RFC 5104, RFC 3550 §6.4.1.

package import RTCBase
package import RTCWire

extension SendSide {
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

    // MARK: Repeats and key frames

    mutating func queueRepair(_ sequence: UInt16, stream index: Int, now: MonotonicTime) {
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

    func isKeyFrameOnItsWay(_ index: Int, now: MonotonicTime) -> Bool {
        if queue.keyFrameCount(index) > 0 { return true }
        guard let left = streams[index].keyFrameLeftAt else { return false }
        return now.nanoseconds(since: left) < context.roundTripNanoseconds ?? Self.assumedRoundTrip
    }

    /// A peer that asks for a key frame cannot use what waits: it goes, and the key frame leaves at once.
    mutating func tellKeyFrames(now: MonotonicTime, into out: inout EngineOutputs) {
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

    private static let assumedRoundTrip: Int64 = 50_000_000
    /// Repeats may be this far ahead of a steady stream of the whole estimate.
    private static let repairAllowanceNanoseconds: Int64 = 500_000_000
}
