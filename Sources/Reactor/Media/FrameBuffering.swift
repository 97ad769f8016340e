internal import RTCPeer

/// How many decoded frames wait for a consumer that is late.
public enum FrameBuffering: Sendable, Hashable {
    /// The newest one; it replaces one that nobody took. Without a lock or a queue, and what a live picture wants.
    case newest
    /// So many; then the oldest goes. A number below 1 counts as 1.
    case bounded(Int)
    /// All of them, whatever memory they take (a 720p frame 1.4 MB, and 3.7 MB more once its pixels were asked for). For
    /// writing files, and for tests.
    case unbounded

    /// Nil for the newest frame alone.
    var backlog: Int? {
        switch self {
        case .newest: nil
        case .bounded(let count): max(1, count)
        case .unbounded: .max
        }
    }
}
