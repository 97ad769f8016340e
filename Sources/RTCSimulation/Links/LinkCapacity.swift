// How fast a link takes datagrams from its queue, known ahead for all time: without limit, at one rate, at a rate that
// steps, or at the delivery opportunities of a recorded trace. Because the queue is first in, first out and its end is
// what overflows, the moment a datagram leaves is known when it is accepted; `LinkService` is that computation.

package import RTCBase

package enum LinkCapacity: Sendable {
    case unlimited
    case constant(bitsPerSecond: Double)
    /// Each rate holds from its time on; before the first time the first rate holds. In order of time, never empty. Rate 0
    /// keeps datagrams waiting.
    case steps([RateStep])
    /// A trace, played from `start` on.
    case trace(DeliveryTrace, start: MonotonicTime)

    package struct RateStep: Sendable {
        package var time: MonotonicTime
        package var bitsPerSecond: Double

        package init(time: MonotonicTime, bitsPerSecond: Double) {
            self.time = time
            self.bitsPerSecond = bitsPerSecond
        }
    }

    /// What could be carried within a span; infinite when there is no limit.
    package func bits(from begin: MonotonicTime, to end: MonotonicTime) -> Double {
        guard end > begin else { return 0 }
        switch self {
        case .unlimited: return .infinity
        case .constant(let rate): return rate * Double(end.nanoseconds(since: begin)) / 1e9
        case .steps(let steps):
            var sum = 0.0
            for (index, step) in steps.enumerated() {
                let from = index == 0 ? begin : max(step.time, begin)
                let to = index + 1 < steps.count ? min(steps[index + 1].time, end) : end
                if to > from { sum += step.bitsPerSecond * Double(to.nanoseconds(since: from)) / 1e9 }
            }
            return sum
        case .trace(let trace, let start):
            let count = trace.opportunity(notBefore: end, start: start) - trace.opportunity(notBefore: begin, start: start)
            return Double(count * DeliveryTrace.bytesPerOpportunity * 8)
        }
    }
}

/// The place on a link's capacity up to which it is used.
struct LinkService: Sendable {
    /// When the last bit accepted so far leaves.
    private var freeAt: MonotonicTime?
    /// Of a trace: the opportunity in use and what is left of it.
    private var opportunity = -1
    private var leftBytes = 0

    /// When the last bit of a datagram that is there at `now` leaves, everything before it first; nil for never.
    mutating func departure(byteCount: Int, capacity: LinkCapacity, now: MonotonicTime) -> MonotonicTime? {
        let begin = max(freeAt ?? now, now)
        let departure: MonotonicTime?
        switch capacity {
        case .unlimited: departure = now
        case .constant(let rate):
            departure = rate > 0 ? begin.adding(nanoseconds: Int64(Double(byteCount) * 8e9 / rate)) : nil
        case .steps(let steps): departure = Self.departure(bits: Double(byteCount) * 8, steps: steps, begin: begin)
        case .trace(let trace, let start): departure = take(byteCount, of: trace, start: start, now: now)
        }
        if let departure { freeAt = departure }
        return departure
    }

    private static func departure(bits: Double, steps: [LinkCapacity.RateStep], begin: MonotonicTime) -> MonotonicTime? {
        var rest = bits
        var time = begin
        var index = max(0, (steps.firstIndex { $0.time > begin } ?? steps.count) - 1)
        while index < steps.count {
            let rate = steps[index].bitsPerSecond
            guard index + 1 < steps.count else {
                return rate > 0 ? time.adding(nanoseconds: Int64(rest * 1e9 / rate)) : nil
            }
            let room = rate * Double(steps[index + 1].time.nanoseconds(since: time)) / 1e9
            if room >= rest { return time.adding(nanoseconds: Int64(rest * 1e9 / rate)) }
            rest -= max(0, room)
            time = steps[index + 1].time
            index += 1
        }
        return nil
    }

    /// What an opportunity has left goes to the next datagram only if that was there in time.
    private mutating func take(_ byteCount: Int, of trace: DeliveryTrace, start: MonotonicTime, now: MonotonicTime) -> MonotonicTime {
        if opportunity < 0 || trace.time(of: opportunity, start: start) < now {
            opportunity = trace.opportunity(notBefore: now, start: start)
            leftBytes = DeliveryTrace.bytesPerOpportunity
        }
        var rest = byteCount
        while rest > leftBytes {
            rest -= leftBytes
            opportunity += 1
            leftBytes = DeliveryTrace.bytesPerOpportunity
        }
        leftBytes -= rest
        return trace.time(of: opportunity, start: start)
    }
}
