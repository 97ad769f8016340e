internal import RTCBase

/// Stamps of one connect, from which `ConnectionTimings` is made.
struct ConnectTiming: Sendable {
    private var began: MonotonicTime?
    private var createdAt: MonotonicTime?
    private var sessionReadyAt: MonotonicTime?
    private var offeredAt: MonotonicTime?
    private var answeredAt: MonotonicTime?
    private var iceAt: MonotonicTime?
    private var dtlsAt: MonotonicTime?
    private var readyAt: MonotonicTime?

    init() {}
    init(began: MonotonicTime) { self.began = began }

    mutating func created(now: MonotonicTime) { createdAt = now }
    mutating func sessionReady(now: MonotonicTime) { sessionReadyAt = now }
    mutating func offered(now: MonotonicTime) { offeredAt = now }
    mutating func answered(now: MonotonicTime) { answeredAt = now }
    mutating func iceConnected(now: MonotonicTime) { iceAt = now }
    mutating func dtlsConnected(now: MonotonicTime) { dtlsAt = now }
    mutating func ready(now: MonotonicTime) { readyAt = now }

    /// Milliseconds from the start, for the log.
    var metadata: [String: String] {
        let stamps: [(String, MonotonicTime?)] = [
            ("created", createdAt), ("session", sessionReadyAt), ("offer", offeredAt), ("answer", answeredAt), ("ice", iceAt),
            ("dtls", dtlsAt), ("ready", readyAt),
        ]
        var result: [String: String] = [:]
        for (name, stamp) in stamps {
            guard let began, let stamp else { continue }
            let microseconds = stamp.nanoseconds(since: began) / 1000
            result[name] = "\(microseconds / 1000).\(microseconds % 1000 / 100) ms"
        }
        return result
    }

    func timings(firstFrame: MonotonicTime?) -> ConnectionTimings {
        func span(_ from: MonotonicTime?, _ to: MonotonicTime?) -> Duration? {
            guard let from, let to else { return nil }
            return to - from
        }
        return ConnectionTimings(
            tokenExchange: nil, sessionCreation: span(began, createdAt), sessionReady: span(createdAt ?? began, sessionReadyAt),
            iceConnected: span(offeredAt, iceAt), dtlsConnected: span(iceAt, dtlsAt), dataChannelsOpen: span(dtlsAt, readyAt),
            firstVideoFrame: span(began, firstFrame), total: span(began, readyAt))
    }
}
