// When a receiver report leaves, and its compound form: RR + SDES with our CNAME (RFC 3550 §6.1, RFC 8834 §4.9). In: the
// first packet, time, report blocks. Out: RTCP datagrams. Reports leave about once a second, the first one sooner so
// that the peer learns the round trip (from LSR and DLSR) and that we know its SSRC. Feedback packets (NACK, PLI,
// transport-wide) leave at once and on their own, reduced size (RFC 5506), which every peer of ours accepts.

package import RTCBase
package import RTCWire

/// The timer and the form of regular reports.
package struct RTCPScheduler: Sendable {
    private let localSSRC: UInt32
    private let cname: String
    /// Nil until there is something to report on.
    private var next: MonotonicTime?

    package init(localSSRC: UInt32, cname: String) {
        self.localSSRC = localSSRC
        self.cname = cname
    }

    /// Something was received.
    package mutating func start(now: MonotonicTime) {
        if next == nil { next = now.adding(nanoseconds: Self.firstDelay) }
    }

    package var nextDeadline: MonotonicTime? { next }

    package mutating func takeDue(now: MonotonicTime) -> Bool {
        guard let due = next, due <= now else { return false }
        next = now.adding(nanoseconds: Self.interval)
        return true
    }

    /// Writes one compound; more than 31 blocks (the count field has five bits) go into further reports of it.
    package func writeReport(_ blocks: [ReportBlock], into out: inout EngineOutputs) {
        out.appendRTCP { writer in
            var rest = blocks[...]
            repeat {
                let part = Array(rest.prefix(31))
                rest = rest.dropFirst(31)
                RTCPPacket.receiverReport(ReceiverReport(ssrc: localSSRC, reports: part)).write(into: &writer)
            } while !rest.isEmpty
            RTCPPacket.sourceDescription(SourceDescription(chunks: [.init(ssrc: localSSRC, cname: cname)])).write(into: &writer)
        }
    }

    private static let firstDelay: Int64 = 200_000_000
    private static let interval: Int64 = 1_000_000_000
}
