// Which sequence numbers of one stream are missing, and when to ask for each of them. In: numbers that were skipped,
// numbers that arrived, time. Out: the numbers to put into a generic NACK (RFC 4585 §6.2.1), and how long the oldest
// has been missing. A number is asked for as soon as the reordering seen on this path is ruled out, and again after one
// round trip with a margin: a libwebrtc sender ignores a repeat that comes within its own estimate of the round trip
// after the last transmission (rtp_packet_history.cc), so asking faster gains nothing. For the same reason a second copy
// of a request costs a few bytes of uplink and no retransmission; while packets are being lost, or requests go unanswered
// now and then, each is sent twice, a moment apart, so that a lost request does not cost a round trip. The copy is part of
// its round: it counts as a message sent, not as a try. Left out: giving up on a gap, which is the stream's decision; a
// number that was asked for often enough just is not asked for again.

package import RTCBase

/// Missing sequence numbers of one stream, in order.
package struct NackTracker: Sendable {
    /// One missing packet.
    private struct Missing: Sendable {
        /// Unwrapped sequence number.
        var number: Int64
        /// When a newer packet showed that it is missing.
        var noticed: MonotonicTime
        /// When to ask (again).
        var due: MonotonicTime
        /// The first and the latest request; meaningful when `tries > 0`.
        var firstAsked: MonotonicTime
        var lastAsked: MonotonicTime
        var tries: UInt8
        /// The next request is the second copy of the latest one.
        var awaitsCopy: Bool
    }

    /// How a missing packet turned up.
    package enum Arrival: Hashable, Sendable {
        /// Nobody missed it.
        case notMissing
        /// It was only late: it took this long after it was noticed, with no request that could have caused it.
        case reordered(nanoseconds: Int64)
        /// It answers a request sent this long ago; nil when it is not clear which one (Karn's rule).
        case repaired(nanoseconds: Int64?)
    }

    /// Ascending by number; its memory is reserved once.
    private var missing: [Missing] = []
    /// The earliest `due` of all entries that may still be asked for.
    private var earliestDue: MonotonicTime?
    /// How late packets come that were merely reordered; decays while losses turn out real. Nanoseconds.
    package private(set) var reorderDelay: Int64 = 0
    /// Share of repairs that took more than one request, smoothed.
    private var failureRate = 0.0
    /// Share of packets that did not come by themselves, over about the last `lossMemory` of them.
    private var lossRate = 0.0
    /// The end of the newest gap; nil before the first.
    private var lastGapEnd: Int64?
    /// A request was answered that had been sent once.
    private var hasSample = false

    package init() { missing.reserveCapacity(Self.capacity) }

    package var isEmpty: Bool { missing.isEmpty }
    package var count: Int { missing.count }

    /// Notes that `numbers` were skipped. False when there are too many to repair: nothing is stored then.
    package mutating func noteGap(_ numbers: Range<Int64>, now: MonotonicTime) -> Bool {
        noteLoss(numbers)
        guard numbers.count <= Self.capacity - missing.count else { return false }
        let due = now.adding(nanoseconds: reorderDelay)
        for number in numbers {
            missing.append(Missing(number: number, noticed: now, due: due, firstAsked: now, lastAsked: now, tries: 0, awaitsCopy: false))
        }
        if !numbers.isEmpty { earliestDue = min(earliestDue ?? due, due) }
        return true
    }

    /// Notes numbers before the first one seen; those known already stay as they are. They are asked for a moment later, for
    /// the first packets of a stream may only have been swapped.
    package mutating func noteBeginning(_ numbers: Range<Int64>, now: MonotonicTime) {
        let due = now.adding(nanoseconds: Self.beginningDelay)
        for number in numbers where missing.count < Self.capacity {
            let index = lowerBound(number)
            if index < missing.count, missing[index].number == number { continue }
            missing.insert(
                Missing(number: number, noticed: now, due: due, firstAsked: now, lastAsked: now, tries: 0, awaitsCopy: false), at: index)
            earliestDue = min(earliestDue ?? due, due)
        }
    }

    /// A packet arrived, by itself or as a retransmission.
    package mutating func noteArrival(_ number: Int64, isRetransmission: Bool, roundTrip: Int64, now: MonotonicTime) -> Arrival {
        guard let index = position(of: number) else { return .notMissing }
        let entry = missing.remove(at: index)
        if missing.isEmpty { earliestDue = nil }
        let sinceFirst = now.nanoseconds(since: entry.firstAsked)
        let sinceLast = now.nanoseconds(since: entry.lastAsked)
        if !isRetransmission, entry.tries == 0 || (entry.tries == 1 && sinceFirst < roundTrip / 2) {
            let lateness = now.nanoseconds(since: entry.noticed)
            reorderDelay = min(max(reorderDelay - reorderDelay / 32, lateness + lateness / 4), Self.maxReorderDelay)
            lossRate = max(0, lossRate - 1 / Self.lossMemory)
            return .reordered(nanoseconds: lateness)
        }
        reorderDelay -= reorderDelay / 8
        if entry.tries == 1 {
            hasSample = true
            failureRate -= failureRate / 64
            return .repaired(nanoseconds: sinceFirst)
        }
        // Which request was answered? Until there is a sample the round trip may be far longer than assumed, so the first
        // one; later an answer that comes too soon for the latest request belongs to an earlier one.
        if !hasSample { return .repaired(nanoseconds: sinceFirst) }
        if sinceLast < roundTrip * 3 / 4 { return .repaired(nanoseconds: entry.tries == 2 ? sinceFirst : sinceLast + roundTrip) }
        failureRate += (1 - failureRate) / 64
        return .repaired(nanoseconds: nil)
    }

    /// Forgets everything before `number`: it was given up or is not needed any more.
    package mutating func discard(before number: Int64) {
        let count = lowerBound(number)
        guard count > 0 else { return }
        missing.removeFirst(count)
        if missing.isEmpty { earliestDue = nil }
    }

    package mutating func removeAll() {
        missing.removeAll(keepingCapacity: true)
        earliestDue = nil
    }

    /// When `number` was noticed missing; nil when it is not.
    package func noticed(_ number: Int64) -> MonotonicTime? {
        position(of: number).map { missing[$0].noticed }
    }

    /// When the next request is due; nil when none is.
    package var nextDeadline: MonotonicTime? { earliestDue }

    /// Appends the numbers to ask for now to `list` and schedules their repeats `interval` nanoseconds from now.
    package mutating func takeDue(now: MonotonicTime, interval: Int64, into list: inout [UInt16]) {
        guard let earliest = earliestDue, earliest <= now else { return }
        // Repeats that are due in a moment go along: one packet instead of several.
        let horizon = now.adding(nanoseconds: Self.batchingWindow)
        let isWorthIt = failureRate > Self.copyThreshold || lossRate > Self.copyLossThreshold
        let sendsCopies = isWorthIt && interval > 4 * Self.copyDelay
        var next: MonotonicTime?
        for index in missing.indices where missing[index].tries < Self.maxTries || missing[index].awaitsCopy {
            let due = missing[index].due
            if due <= now || (missing[index].tries > 0 && due <= horizon), list.count < Self.maxPerRequest {
                ask(index, now: now, interval: interval, sendsCopies: sendsCopies)
                list.append(UInt16(truncatingIfNeeded: missing[index].number))
                guard missing[index].tries < Self.maxTries || missing[index].awaitsCopy else { continue }
            }
            next = min(next ?? missing[index].due, missing[index].due)
        }
        earliestDue = next
    }

    private mutating func ask(_ index: Int, now: MonotonicTime, interval: Int64, sendsCopies: Bool) {
        if missing[index].awaitsCopy {
            missing[index].awaitsCopy = false
            missing[index].due = missing[index].lastAsked.adding(nanoseconds: interval)
            return
        }
        if missing[index].tries == 0 { missing[index].firstAsked = now }
        missing[index].lastAsked = now
        missing[index].tries += 1
        missing[index].awaitsCopy = sendsCopies
        missing[index].due = now.adding(nanoseconds: sendsCopies ? Self.copyDelay : interval)
    }

    private mutating func noteLoss(_ numbers: Range<Int64>) {
        let received = max(0, numbers.lowerBound - (lastGapEnd ?? numbers.lowerBound))
        lastGapEnd = numbers.upperBound
        lossRate *= max(0, 1 - Double(received + Int64(numbers.count)) / Self.lossMemory)
        lossRate = min(1, lossRate + Double(numbers.count) / Self.lossMemory)
    }

    private func lowerBound(_ number: Int64) -> Int {
        var low = 0
        var high = missing.count
        while low < high {
            let middle = (low + high) / 2
            if missing[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func position(of number: Int64) -> Int? {
        let index = lowerBound(number)
        return index < missing.count && missing[index].number == number ? index : nil
    }

    /// More than this many open losses are an outage, not loss: a key frame is cheaper than repairing them.
    package static let capacity = 512
    /// libwebrtc nack_requester.cc: kMaxNackRetries = 10.
    package static let maxTries: UInt8 = 10
    /// 250 numbers take at most 1,012 bytes, when no two of them fit into one PID/BLP pair.
    package static let maxPerRequest = 250
    /// Waiting longer than this for a reordered packet costs more than an unneeded retransmission.
    package static let maxReorderDelay: Int64 = 30_000_000
    private static let beginningDelay: Int64 = 5_000_000
    private static let batchingWindow: Int64 = 2_000_000
    /// Between the two copies of a request: long enough not to share the fate of the first in a short burst.
    private static let copyDelay: Int64 = 10_000_000
    private static let copyThreshold = 0.03
    /// Half a second of a busy stream, a few seconds of a slow one.
    private static let lossMemory = 512.0
    /// From here on a lost request costs more pictures than the copy costs bytes: at 2 % one packet in 2500.
    private static let copyLossThreshold = 0.015
}
