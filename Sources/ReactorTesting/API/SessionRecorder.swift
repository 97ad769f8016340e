// What the runtime tells the recordings: sessions that begin, what their models send, and what clients ask for.

internal import RTCBase
internal import ReactorCore

/// A clip or recording that was asked for (wire-protocol 3.4, 5.4).
enum ClipAnswer: Hashable, Sendable {
    case ready(ClipReady)
    /// `clip_failed` with this reason.
    case failed(reason: String)
}

/// Takes in one session's output. Thread-safe; never waits for long.
protocol SessionRecorder: Sendable {
    /// A picture that the model sent; nobody writes to it any more.
    func record(_ picture: PlanarFrame, track: String, at time: MonotonicTime)
    /// Sound that the model sent: 48 kHz, one channel. `time` is when its last sample was pushed.
    func record(_ samples: [Int16], track: String, at time: MonotonicTime)
    /// The last `seconds` of the session, or all of it with nil.
    func clip(seconds: Double?) -> ClipAnswer
    /// The session has ended; what was recorded stays for a while.
    func finish()
}

/// Makes a recorder per session.
protocol SessionRecording: Sendable {
    /// Seconds per segment, as the descriptor tells.
    var chunkSeconds: Int { get }
    /// - Parameter id: of the recording.
    func begin(id: String, tracks: [LocalTrack]) -> any SessionRecorder
}
