// One remote audio stream on its way to the jitter buffer: statistics, duplicates, unwrapped numbers. In: packets in
// order of arrival. Out: one `AudioArrival` per packet; reordering, loss concealment and timing are the jitter buffer's.
// Padding-only packets go no further (RTP-01). RFC 3550 §5, RFC 7587 §4. Left out: retransmission, which no peer offers
// for Opus.

package import RTCBase
package import RTCWire

/// Receive side of one audio section.
package struct AudioReceiveStream: Sendable {
    private let section: Int
    /// The source followed now.
    package private(set) var ssrc: UInt32?
    private var isReceiving = true
    private var highest: Int64 = 0
    /// Which of the 128 numbers up to `highest` came; bit 0 is `highest`.
    private var seen: UInt128 = 0
    private var statistics = ReceiveStatistics(clockRate: 48_000)

    package init(section: Int) { self.section = section }

    package mutating func handle(
        _ packet: RawSpan, header: RTPHeader, now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs
    ) {
        if header.ssrc != ssrc {
            guard header.payloadCount > 0 else { return context.drops.count(.paddingOnly) }
            // The numbering goes on across sources, so that what comes later has the higher number.
            let next = ssrc == nil ? Int64(header.sequenceNumber) + SequenceUnwrapperOffset.value : highest + 65_536
            highest = next - Int64(UInt16(truncatingIfNeeded: next) &- header.sequenceNumber)
            seen = 0
            statistics = ReceiveStatistics(clockRate: 48_000)
            ssrc = header.ssrc
            out.events.append(.firstPacket(section: section, ssrc: header.ssrc))
        }
        let distance = SequenceNumber.distance(header.sequenceNumber, after: UInt16(truncatingIfNeeded: highest))
        let number = highest + Int64(distance)
        if distance > 0 {
            seen = distance < 128 ? seen << UInt128(distance) | 1 : 1
            highest = number
        } else {
            // Older than the window: nobody could still play it.
            guard -distance < 128 else { return context.drops.count(.audioLate) }
            let bit = UInt128(1) << UInt128(-distance)
            guard seen & bit == 0 else { return context.drops.count(.duplicatePacket) }
            seen |= bit
        }
        statistics.receive(number: number, timestamp: header.timestamp, byteCount: packet.byteCount, arrival: now)
        guard header.payloadCount > 0 else { return context.drops.count(.paddingOnly) }
        guard isReceiving else { return }
        out.audio.append(
            AudioArrival(
                section: section, ssrc: header.ssrc, sequence: number, timestamp: header.timestamp, payload: header.payloadRange,
                arrival: now))
    }

    package mutating func handleSenderReport(_ report: SenderReport, now: MonotonicTime) {
        statistics.receiveSenderReport(ntp: report.ntp, arrival: now)
    }

    package mutating func setReceiving(_ on: Bool) { isReceiving = on }

    package mutating func makeReportBlock(now: MonotonicTime) -> ReportBlock? {
        guard let ssrc, statistics.hasReceived else { return nil }
        return statistics.makeReportBlock(ssrc: ssrc, now: now)
    }

    package var snapshot: ReceiveStreamStatistics {
        var result = ReceiveStreamStatistics()
        result.ssrc = ssrc
        result.packetsReceived = statistics.packetsReceived
        result.bytesReceived = statistics.bytes
        result.packetsLost = statistics.packetsLost
        result.jitterSeconds = statistics.jitterSeconds
        return result
    }
}
