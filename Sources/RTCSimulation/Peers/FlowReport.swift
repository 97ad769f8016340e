package import RTCBase
package import RTCEngine

/// The state of one flow every tenth of a second.
package struct FlowSample: Sendable {
    package var time: MonotonicTime
    /// The congestion controller's, bits per second.
    package var estimate: Double
    /// What the encoder was told.
    package var encoderRate: Double
    /// Bits of RTP that arrived since the last sample.
    package var arrivedBits: Double
    package var pacerQueueSeconds: Double
}

/// What one direction of media between two peers came to.
package struct FlowReport: Sendable {
    package var samples: [FlowSample] = []
    package var framesMade = 0
    package var framesSkipped = 0
    package var framesDelivered = 0
    package var keyFramesMade = 0
    package var resolutionChanges = 0
    /// From capture to the complete frame.
    package var latency = DelayHistogram()
    /// Between frames that arrived one after the other: when the earlier came, and the later.
    package var longPauses: [Range<MonotonicTime>] = []
    package var longestPauseMilliseconds = 0.0
    package var firstFrame: MonotonicTime?
    package var audioSent = 0
    package var audioDelivered = 0
    package var audioLatency = DelayHistogram()
    package var send: SendStreamStatistics?
    package var receive: ReceiveStreamStatistics?
    package var congestion = CongestionStatistics()

    package init() {}

    package var deliveredShare: Double { framesMade > 0 ? Double(framesDelivered) / Double(framesMade) : 0 }

    package func arrivedBits(within span: Range<MonotonicTime>) -> Double {
        samples.reduce(0) { span.contains($1.time) ? $0 + $1.arrivedBits : $0 }
    }
}
