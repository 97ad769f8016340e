/// When a client reconnects by itself (api.md C9.9). Pure: no clock, no timer, no randomness of its own.
///
/// In: losses of an established connection, the outcome of each attempt, what the app does meanwhile. Out: how long to wait before
/// the next attempt, and which tracks to publish again.
package struct ReconnectPlan: Sendable {
    package enum Phase: Hashable, Sendable {
        case idle
        /// For the next attempt.
        case waiting
        case attempting
    }

    package private(set) var phase = Phase.idle
    private let maxAttempts: Int
    private let initialDelay: Int64
    private let maxDelay: Int64
    /// Made since the connection last held for long enough.
    private var attempts = 0
    private var readySince: Int64?
    /// Published at a loss, and not again yet.
    private var wanted: Set<String> = []

    /// Delays are in nanoseconds; negative ones count as zero.
    package init(maxAttempts: Int, initialDelay: Int64, maxDelay: Int64) {
        self.maxAttempts = maxAttempts
        self.initialDelay = max(0, initialDelay)
        self.maxDelay = max(0, maxDelay)
    }

    /// An established connection was lost, with these tracks published on it.
    ///
    /// - Parameters:
    ///   - now: in nanoseconds.
    ///   - random: from 0 up to 1.
    /// - Returns: nanoseconds until the first attempt; nil makes none.
    package mutating func lost(published names: [String], now: Int64, random: Double) -> Int64? {
        // A connection that does not hold counts as one more failed attempt, or there would be no end to it.
        if readySince.map({ now - $0 >= Self.steadyNanoseconds }) ?? true { attempts = 0 }
        readySince = nil
        wanted.formUnion(names)
        return nextDelay(random)
    }

    /// The wait is over. False when the attempt is not wanted any more.
    package mutating func begin() -> Bool {
        guard phase == .waiting else { return false }
        phase = .attempting
        attempts += 1
        return true
    }

    /// - Returns: nanoseconds until the next attempt; nil gives up.
    package mutating func failed(isRecoverable: Bool, random: Double) -> Int64? {
        guard phase == .attempting else { return nil }
        guard isRecoverable else {
            stop()
            return nil
        }
        return nextDelay(random)
    }

    /// - Returns: the tracks to publish again.
    package mutating func succeeded(now: Int64) -> [String] {
        guard phase == .attempting else { return [] }
        phase = .idle
        readySince = now
        return wanted.sorted()
    }

    /// A track is published again, or cannot be.
    package mutating func settled(_ name: String) { wanted.remove(name) }

    /// The app does something else.
    package mutating func stop() {
        phase = .idle
        attempts = 0
        readySince = nil
        wanted = []
    }

    private mutating func nextDelay(_ random: Double) -> Int64? {
        guard attempts < maxAttempts else {
            stop()
            return nil
        }
        phase = .waiting
        let (doubled, isOver) = initialDelay.multipliedReportingOverflow(by: 1 << Int64(min(attempts, 40)))
        let delay = isOver ? maxDelay : min(maxDelay, doubled)
        return delay - Int64(Double(delay) / 4 * min(max(random, 0), 1))
    }

    /// A connection that held for so long has left its trouble behind.
    private static let steadyNanoseconds: Int64 = 10_000_000_000
}
