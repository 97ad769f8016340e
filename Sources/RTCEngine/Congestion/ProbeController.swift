// When to probe. In: start, results, what the encoders could use, drops and their ends. Out: probes, one at a time. At the
// start three and six times the start rate; after a probe that got through twice of it; after a drop while the old rate
// is not reached; and every few seconds while the sender makes less than it might soon want (CC-01), for then nothing
// else shows room.

package import RTCBase

package struct ProbeController: Sendable {
    private var pending: [Probe] = []
    private var nextCluster = 1
    private var hasStarted = false
    /// Probes left that are made again because the first ones found little, until a first queue shows that they were right.
    private var startRetries = 3
    private var lastProbe: MonotonicTime?
    /// The rate before the last drops, which a probe may find again, until when.
    private var recovery: (rate: Double, until: MonotonicTime)?
    private var interval = ProbeController.firstInterval

    package init() { pending.reserveCapacity(4) }

    package mutating func takeProbe() -> Probe? { pending.isEmpty ? nil : pending.removeFirst() }

    package mutating func start(estimate: Double, ceiling: Double, now: MonotonicTime) {
        guard !hasStarted else { return }
        hasStarted = true
        for factor in Self.startFactors where estimate * factor / Self.startFactors[0] < ceiling {
            request(min(estimate * factor, ceiling), now: now)
        }
    }

    package mutating func onResult(_ result: ProbeEstimator.Result, estimate: Double, ceiling: Double, now: MonotonicTime) {
        guard result.isFull, pending.isEmpty, estimate < ceiling * Self.nearCeiling else {
            if !result.isFull { interval = min(interval * 2, Self.longestInterval) }
            return
        }
        interval = Self.firstInterval
        request(min(max(estimate, result.bitsPerSecond) * Self.furtherFactor, ceiling), now: now)
    }

    /// The estimate fell from `rate`.
    package mutating func onDrop(from rate: Double, now: MonotonicTime) {
        // Smaller drops on the way down do not prolong it: a rate that is gone for long may never come back.
        if let recovery, recovery.until > now, recovery.rate >= rate {
        } else {
            recovery = (rate, now.adding(nanoseconds: Self.recoveryNanoseconds))
        }
        lastProbe = max(lastProbe ?? now, now)
        startRetries = 0
        pending.removeAll(keepingCapacity: true)
    }

    /// The wish grew.
    package mutating func onDemand(estimate: Double, ceiling: Double, now: MonotonicTime) {
        guard hasStarted, pending.isEmpty, estimate < ceiling * Self.nearCeiling else { return }
        if let lastProbe, now.nanoseconds(since: lastProbe) < Self.shortestInterval { return }
        request(min(estimate * Self.furtherFactor, ceiling), now: now)
    }

    /// With feedback, while no queue stands.
    package mutating func poll(estimate: Double, ceiling: Double, isAppLimited: Bool, now: MonotonicTime) {
        guard hasStarted, pending.isEmpty, estimate < ceiling * Self.nearCeiling else { return }
        let since = lastProbe.map { now.nanoseconds(since: $0) } ?? .max
        if let recovery, recovery.until > now, estimate < recovery.rate * Self.recoveredShare {
            if since >= interval { request(min(estimate * Self.furtherFactor, recovery.rate, ceiling), now: now) }
        } else if startRetries > 0, since >= Self.retryInterval {
            // A receiver that was held off the core at the wrong moment made the first probes look slow.
            startRetries -= 1
            request(min(estimate * Self.startFactors[0], ceiling), now: now)
        } else if isAppLimited, since >= Self.appLimitedInterval {
            request(min(estimate * Self.furtherFactor, ceiling), now: now)
        }
    }

    private mutating func request(_ rate: Double, now: MonotonicTime) {
        let bytes = Int(rate / 8 * Self.seconds)
        pending.append(
            Probe(
                cluster: nextCluster, rate: Bitrate(bitsPerSecond: Int64(rate)), minimumBytes: bytes, minimumPackets: Self.packets))
        nextCluster += 1
        lastProbe = now
    }

    /// libwebrtc probe_controller.cc: three and six times the start, 15 ms and five packets, five seconds between.
    private static let startFactors = [3.0, 6.0]
    private static let furtherFactor = 2.0
    private static let seconds = 0.015
    private static let packets = 5
    private static let nearCeiling = 0.95
    private static let retryInterval: Int64 = 400_000_000
    private static let appLimitedInterval: Int64 = 5_000_000_000
    private static let shortestInterval: Int64 = 1_000_000_000
    private static let firstInterval: Int64 = 1_500_000_000
    private static let longestInterval: Int64 = 6_000_000_000
    private static let recoveryNanoseconds: Int64 = 20_000_000_000
    private static let recoveredShare = 0.75
}
