package import RTCBase

/// RR: report blocks of an end that sends nothing (RFC 3550 §6.4.2).
package struct ReceiverReport: Hashable, Sendable {
    package var ssrc: UInt32
    /// At most 31 are written.
    package var reports: [ReportBlock]

    package init(ssrc: UInt32, reports: [ReportBlock] = []) {
        self.ssrc = ssrc
        self.reports = reports
    }

    init(body: RawSpan, count: UInt8) throws(WireError) {
        guard body.byteCount >= 4 + Int(count) * ReportBlock.byteCount else { throw .truncated }
        self.init(ssrc: body.uint32(at: 0), reports: ReportBlock.read(body, at: 4, count: Int(count)))
    }

    package func write(into writer: inout ByteWriter) {
        let blocks = reports.prefix(ReportBlock.maxPerReport)
        let start = RTCPHead.open(RTCPType.receiverReport, format: UInt8(blocks.count), into: &writer)
        writer.write(ssrc)
        for block in blocks { block.write(into: &writer) }
        RTCPHead.close(start, in: &writer)
    }
}
