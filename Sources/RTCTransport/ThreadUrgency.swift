private import CNice

/// How soon a thread of the engine gets a core when it has something to do. All of them do little and then wait.
///
/// Where the system allows it (Linux: root, `CAP_SYS_NICE` or limits on `rtprio` and `nice`), a thread that takes its urgency runs
/// before ordinary ones: `SCHED_RR` at the lowest priorities there are, or a nice value of -10 for `video`. Elsewhere it stays
/// ordinary and nothing fails. Threads that it starts are ordinary again; of an app's code only the handler of its logger may be
/// called on such a thread (proposal 0007).
package enum ThreadUrgency: Int32, CaseIterable, Sendable {
    /// Encoders and decoders: a late picture is one that somebody misses.
    case video
    /// A late block is a gap that somebody hears.
    case audio
    /// What it does takes microseconds, and everything waits for it.
    case network

    /// Takes effect for the calling thread; false when the system refuses.
    @discardableResult
    package func take() -> Bool { rnice_hurry_thread(rawValue) == 0 }
}
