package import RTCBase

// The sending half of the engine's calls.
extension PeerEngine {
    /// Publishes a section: from now on its frames are sent. Nothing happens for a section that may not send.
    package mutating func startSending(section: Int, now: MonotonicTime, into out: inout EngineOutputs) {}

    /// Unpublishes: what waits is dropped, and not a byte more is sent for the section until it is started again.
    package mutating func stopSending(section: Int, now: MonotonicTime, into out: inout EngineOutputs) {}

    /// One encoded frame; its metadata becomes a trailer when the session has them. `rtpTimestamp` is the capture time at
    /// 90 kHz; the random offset is added here.
    package mutating func sendVideo(_ frame: EncodedFrame, section: Int, now: MonotonicTime, into out: inout EngineOutputs) {}

    /// One Opus packet; it leaves at once. `rtpTimestamp` counts samples at 48 kHz; the random offset is added here.
    package mutating func sendAudio(
        _ payload: RawSpan, rtpTimestamp: UInt32, section: Int, now: MonotonicTime, into out: inout EngineOutputs
    ) {}

    package mutating func setBitrateLimits(_ limits: BitrateLimits, now: MonotonicTime, into out: inout EngineOutputs) {}

    /// The most the encoder of the section can use at its resolution.
    package mutating func setVideoCeiling(
        _ ceiling: Bitrate, section: Int, now: MonotonicTime, into out: inout EngineOutputs
    ) {}

    /// Nil for a section that may not send.
    package func sendStatistics(section: Int) -> SendStreamStatistics? { nil }
}
