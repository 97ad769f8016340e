// When packets may leave: a leaky bucket, drained at the pacing rate. In: bytes as they leave, time, rates, probes. Out:
// whether the next packet may go now, and when to look again. The bucket takes a few milliseconds' worth at once, so that
// a timer is needed only that often; a wake-up that comes late may make up for a little of it, never for all: a process
// that was held off the core must not come back with a burst. While a probe runs its rate counts, in finer steps, because
// what the path makes of the spacing is what the probe wants to know.

package import RTCBase

/// The budget of one connection.
package struct Pacer: Sendable {
    /// Bits per second.
    package private(set) var rate: Int64
    /// When the bucket is empty again.
    private var paidUntil: MonotonicTime
    private var probe: ActiveProbe?
    private var paddingRate: Int64 = 0
    private var paddingPaidUntil: MonotonicTime

    private struct ActiveProbe: Sendable {
        let cluster: Int
        let rate: Int64
        var bytesLeft: Int
        var packetsLeft: Int
        let expires: MonotonicTime
    }

    package init(rate: Bitrate, now: MonotonicTime) {
        self.rate = max(Self.lowestRate, rate.bitsPerSecond)
        paidUntil = now
        paddingPaidUntil = now
    }

    package mutating func setRate(_ pacing: Bitrate, padding: Bitrate) {
        rate = max(Self.lowestRate, pacing.bitsPerSecond)
        paddingRate = max(0, min(padding.bitsPerSecond, rate))
    }

    /// To be called before anything is asked at a new time. `isBacklogged`: packets have been waiting since the last time.
    package mutating func advance(to now: MonotonicTime, isBacklogged: Bool) {
        paidUntil = max(paidUntil, now.adding(nanoseconds: isBacklogged ? -Self.catchUpNanoseconds : 0))
        paddingPaidUntil = max(paddingPaidUntil, now.adding(nanoseconds: -Self.burstNanoseconds))
        if let probe, probe.expires <= now { self.probe = nil }
    }

    package func maySend(now: MonotonicTime) -> Bool {
        paidUntil.nanoseconds(since: now) < (probe == nil ? Self.burstNanoseconds : Self.probeBurstNanoseconds)
    }

    /// When to look again while packets wait.
    package var nextSend: MonotonicTime { paidUntil }

    /// `byteCount` bytes left; audio does not ask before, but counts.
    package mutating func onSent(byteCount: Int, now: MonotonicTime) {
        let used = nanoseconds(byteCount, at: probe?.rate ?? rate)
        paidUntil = max(paidUntil, now.adding(nanoseconds: -Self.catchUpNanoseconds)).adding(nanoseconds: used)
        // Whatever leaves makes padding unnecessary.
        if paddingRate > 0 { paddingPaidUntil = max(paddingPaidUntil, now).adding(nanoseconds: nanoseconds(byteCount, at: paddingRate)) }
        guard probe != nil else { return }
        probe?.bytesLeft -= byteCount
        probe?.packetsLeft -= 1
        if let probe, probe.bytesLeft <= 0, probe.packetsLeft <= 0 {
            self.probe = nil
            // What the probe sent was outside the pacing rate.
            paidUntil = now
        }
    }

    // MARK: Probes and padding

    package mutating func start(_ new: Probe, now: MonotonicTime) {
        let rate = max(Self.lowestRate, new.rate.bitsPerSecond)
        let length = nanoseconds(new.minimumBytes, at: rate)
        probe = ActiveProbe(
            cluster: new.cluster, rate: rate, bytesLeft: new.minimumBytes, packetsLeft: new.minimumPackets,
            expires: now.adding(nanoseconds: length + Self.probePatience))
        paidUntil = now
    }

    package mutating func abandonProbe() { probe = nil }

    /// The cluster that packets leaving now belong to.
    package var probeCluster: Int? { probe?.cluster }
    /// What the probe still needs.
    package var probeBytesLeft: Int { probe.map { max(0, $0.bytesLeft) } ?? 0 }

    package var wantsPadding: Bool { paddingRate > 0 }
    package func paddingIsDue(now: MonotonicTime) -> Bool { paddingRate > 0 && paddingPaidUntil <= now }
    package var nextPadding: MonotonicTime? {
        paddingRate > 0 ? max(paddingPaidUntil, paidUntil) : nil
    }

    private func nanoseconds(_ byteCount: Int, at rate: Int64) -> Int64 { Int64(byteCount) &* 8_000_000_000 / rate }

    /// What may leave at once; timers are this far apart or further.
    package static let burstNanoseconds: Int64 = 5_000_000
    /// What a late wake-up may make up for.
    package static let catchUpNanoseconds: Int64 = 10_000_000
    private static let probeBurstNanoseconds: Int64 = 1_000_000
    /// A probe that cannot be filled in time says nothing any more.
    private static let probePatience: Int64 = 100_000_000
    /// So that nothing divides by zero and a packet takes less than two seconds.
    private static let lowestRate: Int64 = 8_000
}
