package import RTCBase

// The sending half of the engine's calls. Nothing is sent for a section until it is started.
extension PeerEngine {
    /// Publishes a section: from now on its frames are sent. Nothing happens for a section that may not send.
    package mutating func startSending(section: Int, now: MonotonicTime, into out: inout EngineOutputs) {
        sending.start(section: section, now: now, into: &out)
    }

    /// Unpublishes: what waits is dropped, and not a byte more is sent for the section until it is started again. No BYE:
    /// the source may go on later.
    package mutating func stopSending(section: Int, now: MonotonicTime, into out: inout EngineOutputs) {
        sending.stop(section: section, now: now, into: &out)
    }

    /// One encoded frame; its metadata becomes a trailer when the session has them. `rtpTimestamp` is the capture time at
    /// 90 kHz; the random offset is added here. After `startSending` the first frame must be a key frame.
    package mutating func sendVideo(_ frame: EncodedFrame, section: Int, now: MonotonicTime, into out: inout EngineOutputs) {
        sending.sendVideo(frame, section: section, now: now, into: &out)
        sendDueReports(now: now, into: &out)
    }

    /// One Opus packet; it leaves at once. `rtpTimestamp` counts samples at 48 kHz; the random offset is added here.
    package mutating func sendAudio(
        _ payload: RawSpan, rtpTimestamp: UInt32, section: Int, now: MonotonicTime, into out: inout EngineOutputs
    ) {
        sending.sendAudio(payload, rtpTimestamp: rtpTimestamp, section: section, now: now, into: &out)
        sendDueReports(now: now, into: &out)
    }

    package mutating func setBitrateLimits(_ limits: BitrateLimits, now: MonotonicTime, into out: inout EngineOutputs) {
        sending.setLimits(limits, now: now, into: &out)
    }

    /// The most the encoder of the section can use at its resolution.
    package mutating func setVideoCeiling(
        _ ceiling: Bitrate, section: Int, now: MonotonicTime, into out: inout EngineOutputs
    ) {
        sending.setCeiling(ceiling, section: section, now: now, into: &out)
    }

    /// Nil for a section that may not send.
    package func sendStatistics(section: Int) -> SendStreamStatistics? { sending.statistics(section: section) }

    /// What the congestion controller allows all streams together, and what it saw.
    package var sendTargets: TargetRates { sending.controller.targets }
    package var congestionStatistics: CongestionStatistics { sending.controller.statistics }
}
