// What each encoder is to make: the estimate without sound and repeats, divided among the video streams.

import RTCBase

extension SendSide {
    /// What the encoders can use changed.
    mutating func applyDemand(now: MonotonicTime, into out: inout EngineOutputs) {
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
    mutating func applyTargets(now: MonotonicTime, into out: inout EngineOutputs) {
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
    static func encoderRate(_ share: Int64) -> Int64 { max(share / 2, (share - 4_000) * 39 / 40, 10_000) }
}
