// How hard the encoder tries. In: what each picture's encoding took, and the time there is for one. Out: whether the encoder
// should be quicker at the price of quality, because otherwise pictures would be left out on a slow or busy machine. Pure:
// no clock. The way back is taken only when there is time to spare, and later each time that it did not last.

internal import RTCBase

struct EncodeEffort: Sendable {
    /// The encoder is to save time.
    private(set) var isReduced = false

    /// Of the time between two pictures, what encoding one takes; smoothed.
    private var load: Double?
    private var busySince: MonotonicTime?
    private var idleSince: MonotonicTime?
    private var lastReturn: MonotonicTime?
    private var returnDelayMilliseconds = Self.firstReturnDelayMilliseconds

    /// A picture pushed at `now` took `nanoseconds` of wall-clock time, of the `available` that lie between two pictures.
    mutating func onEncoded(nanoseconds: Int64, available: Int64, now: MonotonicTime) {
        // One picture that was held off the core for long says little.
        let share = min(Double(max(0, nanoseconds)) / Double(max(1, available)), 2)
        let smoothed = load.map { $0 + (share - $0) / 16 } ?? min(share, 0.5)
        load = smoothed
        if isReduced {
            guard smoothed < Self.idleLoad else { return idleSince = nil }
            let since = idleSince ?? now
            idleSince = since
            if now.milliseconds(since: since) >= returnDelayMilliseconds { change(to: false, now: now) }
        } else {
            guard smoothed > Self.busyLoad else { return busySince = nil }
            let since = busySince ?? now
            busySince = since
            if now.milliseconds(since: since) >= Self.busyMilliseconds { change(to: true, now: now) }
        }
    }

    private mutating func change(to reduced: Bool, now: MonotonicTime) {
        isReduced = reduced
        if !reduced {
            lastReturn = now
        } else if let lastReturn, now.milliseconds(since: lastReturn) < Self.relapseMilliseconds {
            returnDelayMilliseconds = min(returnDelayMilliseconds * 2, Self.longestReturnDelayMilliseconds)
        }
        load = nil
        busySince = nil
        idleSince = nil
    }

    private static let busyLoad = 0.6
    private static let idleLoad = 0.3
    private static let busyMilliseconds = 500.0
    private static let firstReturnDelayMilliseconds = 10_000.0
    private static let longestReturnDelayMilliseconds = 300_000.0
    private static let relapseMilliseconds = 30_000.0
}
