// What the clip routes ask of the recordings (wire-protocol 3.4).

enum PlaylistAnswer: Hashable, Sendable {
    /// The text of the playlist.
    case ready(String)
    /// 202 with this Retry-After, in seconds.
    case notReady(retryAfterSeconds: Int)
    /// 410 `Recording unknown or aged out`.
    case unknown
}

enum SegmentAnswer: Hashable, Sendable {
    /// `isInit` decides the content type.
    case bytes([UInt8], isInit: Bool)
    /// 404 `Segment not found`.
    case noSuchSegment
    /// 410.
    case unknownRecording
}

/// Thread-safe; never waits for long.
protocol RecordingSource: Sendable {
    /// Seconds on the recording's timeline.
    func playlist(recording: String, start: Double, end: Double) -> PlaylistAnswer
    func segment(recording: String, name: String) -> SegmentAnswer
}
