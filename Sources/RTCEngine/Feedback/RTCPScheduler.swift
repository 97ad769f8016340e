// When reports leave, and the compound form: SR or RR + SDES with our CNAME (RFC 3550 §6.1, RFC 8834 §4.9). In: the first
// packets both ways, time, report blocks. Out: RTCP datagrams. Reports leave about once a second, those on what we receive
// sooner at first so that the peer learns the round trip (from LSR and DLSR) and that we know its SSRC; those on what we
// send with the first packet, so that its streams can be played in step from the beginning. Feedback packets (NACK, PLI,
// transport-wide) leave at once and on their own, reduced size (RFC 5506), which every peer of ours accepts.

package import RTCBase
package import RTCWire

/// The timer and the form of regular reports.
package struct RTCPScheduler: Sendable {
    private let localSSRC: UInt32
    /// The same in every report.
    private let sourceDescription: SourceDescription
    /// Nil until there is something to report on.
    private var next: MonotonicTime?
    /// There are receiver reports to make.
    package private(set) var hasReceived = false

    package init(localSSRC: UInt32, cname: String) {
        self.localSSRC = localSSRC
        sourceDescription = SourceDescription(ssrc: localSSRC, cname: cname)
    }

    /// Something was received.
    package mutating func start(now: MonotonicTime) {
        guard !hasReceived else { return }
        hasReceived = true
        next = min(next ?? now.adding(nanoseconds: Self.firstDelay), now.adding(nanoseconds: Self.firstDelay))
    }

    /// A stream of ours began; its first report leaves now, further ones with all others.
    package mutating func startSending(now: MonotonicTime) {
        if next == nil { next = now.adding(nanoseconds: Self.interval) }
    }

    package var nextDeadline: MonotonicTime? { next }

    package mutating func takeDue(now: MonotonicTime) -> Bool {
        guard let due = next, due <= now else { return false }
        next = now.adding(nanoseconds: Self.interval)
        return true
    }

    /// Writes one compound with `blocks`; more than 31 (the count field has five bits) go into further reports of it.
    package func writeReport(_ blocks: [ReportBlock], into out: inout EngineOutputs) {
        out.appendRTCP { writer in
            if blocks.count <= ReportBlock.maxPerReport {
                ReceiverReport(ssrc: localSSRC, reports: blocks).write(into: &writer)
            } else {
                for start in stride(from: 0, to: blocks.count, by: ReportBlock.maxPerReport) {
                    let part = blocks[start..<min(start + ReportBlock.maxPerReport, blocks.count)]
                    ReceiverReport(ssrc: localSSRC, reports: Array(part)).write(into: &writer)
                }
            }
            sourceDescription.write(into: &writer)
        }
    }

    private static let firstDelay: Int64 = 200_000_000
    private static let interval: Int64 = 1_000_000_000
}
