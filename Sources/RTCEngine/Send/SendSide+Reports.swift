import RTCBase
import RTCWire

// Sender reports of the streams (RFC 3550 §6.4.1), inside the compound that the scheduler times.
extension SendSide {
    /// True once after a stream began: its first report is due with its first packet.
    mutating func takeStartsReporting() -> Bool {
        defer { startsReporting = false }
        return startsReporting
    }

    /// Some stream has something to report.
    var reports: Bool { streams.contains { $0.isActive && $0.hasSent } }

    /// A report and a description of each stream that has sent; the first one carries `blocks`, what it has no room for
    /// follows in receiver reports.
    func writeReports(_ blocks: [ReportBlock], ntpOffset: NTPTimestamp, now: MonotonicTime, into writer: inout ByteWriter) {
        var isFirst = true
        for stream in streams where stream.isActive && stream.hasSent {
            stream.senderReport(now: now, ntpOffset: ntpOffset, reports: isFirst ? blocks : []).write(into: &writer)
            if isFirst {
                for start in Swift.stride(from: ReportBlock.maxPerReport, to: blocks.count, by: ReportBlock.maxPerReport) {
                    let part = blocks[start..<min(start + ReportBlock.maxPerReport, blocks.count)]
                    ReceiverReport(ssrc: stream.ssrc, reports: Array(part)).write(into: &writer)
                }
            }
            isFirst = false
        }
        for stream in streams where stream.isActive && stream.hasSent { stream.sourceDescription.write(into: &writer) }
    }
}
