// Transport-wide congestion feedback, receiver side (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3). In:
// transport-wide numbers of arrived packets and their times. Out: feedback packets that together report every number
// since the first, each packet at most 1,200 bytes (CC-03). A number that comes after a report said it was missing makes
// the next report start there (CC-05), with everything since then told again. Left out: the wire form (`RTCWire`).

package import RTCBase
import RTCWire

/// Arrival times by transport-wide number, and what of them is reported.
package struct TransportFeedbackBuilder: Sendable {
    /// Ticks of 250 µs since `origin` plus one, by number modulo the window; zero where nothing arrived.
    private var arrivals: [UInt32] = []
    private var origin: MonotonicTime?
    private var unwrapper = SequenceUnwrapper()
    /// The first number of the next report: one after the last report, or an older one that came late since.
    private var base: Int64 = 0
    /// One after the highest number that arrived.
    private var end: Int64 = 0
    /// Packets in a row that were too old for the window; many of them mean a new numbering.
    private var tooOld = 0
    /// Arrivals since the last report.
    private var pending = 0
    private var lastBuild: MonotonicTime?
    private var firstPending: MonotonicTime?
    private var feedbackCount: UInt8 = 0
    /// The report being written; kept, so that its statuses have their memory already.
    private var report = TransportFeedback(
        senderSSRC: 0, mediaSSRC: 0, baseSequenceNumber: 0, referenceTime64ms: 0, feedbackCount: 0, packets: [])

    package init() {}

    package mutating func record(_ number: UInt16, now: MonotonicTime) {
        if arrivals.isEmpty { arrivals = Array(repeating: 0, count: Int(Self.window)) }
        let start = origin ?? now
        origin = start
        if pending == 0 { firstPending = now }
        let isFirst = unwrapper.last == nil
        let value = unwrapper.unwrap(number)
        if isFirst {
            base = value
            end = value
        } else if value >= end + Self.maxJump {
            // What lies between is not worth telling: an outage or a new numbering.
            restart(at: value)
        } else if value < end - Self.maxStepBack {
            tooOld += 1
            if tooOld >= Self.maxTooOld { self = TransportFeedbackBuilder(after: self) }
            return
        }
        tooOld = 0
        base = min(base, value)
        for gap in end..<max(end, value) { arrivals[slot(gap)] = 0 }
        let ticks = UInt32(truncatingIfNeeded: max(0, now.nanoseconds(since: start)) / Self.tick + 1)
        if value < end, arrivals[slot(value)] != 0 { return }
        arrivals[slot(value)] = ticks
        end = max(end, value + 1)
        base = max(base, end - Self.window)
        pending += 1
    }

    /// Enough has arrived that a report should leave before its time.
    package var isFull: Bool { pending >= Self.maxPending }

    package var nextDeadline: MonotonicTime? {
        guard pending > 0, let firstPending else { return nil }
        if isFull { return firstPending }
        let interval = pending < Self.fewPackets ? Self.slowInterval : Self.interval
        return (lastBuild ?? firstPending).adding(nanoseconds: interval)
    }

    /// Writes all reports that are due: none, one, or several when one would be too large.
    package mutating func writeDue(now: MonotonicTime, senderSSRC: UInt32, mediaSSRC: UInt32, into out: inout EngineOutputs) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        lastBuild = now
        var start = base
        while start < end {
            guard let next = fillReport(from: start) else { break }
            report.senderSSRC = senderSSRC
            report.mediaSSRC = mediaSSRC
            report.feedbackCount = feedbackCount
            feedbackCount &+= 1
            out.appendRTCP { report.write(into: &$0) }
            start = next
        }
        pending = 0
        base = end
    }

    /// Fills in the report that starts at `first`; the number after its last one, or nil when nothing arrived since. It
    /// ends with a packet that arrived, so that the rest can still come.
    private mutating func fillReport(from first: Int64) -> Int64? {
        var number = first
        while number < end, arrivals[slot(number)] == 0 { number += 1 }
        guard number < end else { return nil }
        let reference = (Int64(arrivals[slot(number)]) - 1) / Self.ticksPerReference
        var received = 0
        var previous = reference * Self.ticksPerReference
        report.baseSequenceNumber = UInt16(truncatingIfNeeded: first)
        report.referenceTime64ms = Self.signed24(reference)
        report.packets.removeAll(keepingCapacity: true)
        // A long run of losses in front costs two bytes per 8,191 of them.
        for _ in first..<number { report.packets.append(.notReceived) }
        var next = number
        while next < end, received < Self.maxReceivedPerPacket, next - number < Self.maxStatusesPerPacket {
            let ticks = Int64(arrivals[slot(next)]) - 1
            if ticks < 0 {
                report.packets.append(.notReceived)
            } else {
                guard let delta = Int16(exactly: ticks - previous) else { break }
                report.packets.append(.received(delta250us: delta))
                previous = ticks
                received += 1
            }
            next += 1
        }
        while case .notReceived? = report.packets.last {
            report.packets.removeLast()
            next -= 1
        }
        return next
    }

    private mutating func restart(at value: Int64) {
        for index in arrivals.indices { arrivals[index] = 0 }
        base = value
        end = value
        pending = 0
    }

    /// A new numbering; the time origin and the count of reports go on.
    private init(after previous: TransportFeedbackBuilder) {
        origin = previous.origin
        feedbackCount = previous.feedbackCount
        report = previous.report
    }

    private func slot(_ number: Int64) -> Int { Int(number) & Int(Self.window - 1) }

    private static func signed24(_ value: Int64) -> Int32 {
        Int32(truncatingIfNeeded: (value << 40) >> 40)
    }

    /// Numbers whose arrival is remembered.
    private static let window: Int64 = 4096
    /// A jump further ahead than this is a new numbering.
    private static let maxJump: Int64 = 2048
    /// How far back a late packet is still reported.
    private static let maxStepBack: Int64 = 1024
    private static let maxTooOld = 32
    private static let maxPending = 1000
    private static let tick: Int64 = 250_000
    private static let ticksPerReference: Int64 = 256
    /// 400 deltas of two bytes and 1,000 statuses at seven to two bytes stay below 1,200 bytes.
    private static let maxReceivedPerPacket = 400
    private static let maxStatusesPerPacket: Int64 = 1000
    /// The draft's 50 to 100 ms; the longer one when there is little to tell.
    private static let interval: Int64 = 50_000_000
    private static let slowInterval: Int64 = 100_000_000
    private static let fewPackets = 5
}
