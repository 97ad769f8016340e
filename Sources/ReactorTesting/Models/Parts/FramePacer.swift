/// Waits for one moment after another, evenly spaced: a late frame does not push back those after it. Who is later than
/// `patience` begins anew instead of catching up.
struct FramePacer: Sendable {
    private let interval: Duration
    private let patience: Duration = .milliseconds(100)
    private var due = ContinuousClock.now

    init(perSecond rate: Double) { interval = .seconds(1 / max(0.1, rate)) }

    mutating func next() async throws {
        due = max(due + interval, .now - patience)
        try await Task.sleep(until: due, tolerance: .zero, clock: .continuous)
    }
}

/// How many samples are due: as many as the clock says, in pieces of at most a tenth of a second.
struct SampleClock: Sendable {
    private let rate: Int
    private var produced = 0

    init(rate: Int) { self.rate = rate }

    mutating func due(at seconds: Double) -> Int {
        let target = Int(seconds * Double(rate))
        let count = max(0, min(rate / 10, target - produced))
        produced = max(produced, target)
        return count
    }
}
