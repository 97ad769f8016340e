package import RTCBase

/// SR: the sender's clock pair and counts, with report blocks (RFC 3550 §6.4.1).
package struct SenderReport: Hashable, Sendable {
    package var ssrc: UInt32
    /// Wall-clock time of the same instant as `rtpTimestamp`.
    package var ntp: NTPTimestamp
    package var rtpTimestamp: UInt32
    package var packetCount: UInt32
    package var octetCount: UInt32
    /// At most 31 are written.
    package var reports: [ReportBlock]

    package init(
        ssrc: UInt32, ntp: NTPTimestamp, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32, reports: [ReportBlock] = []
    ) {
        self.ssrc = ssrc
        self.ntp = ntp
        self.rtpTimestamp = rtpTimestamp
        self.packetCount = packetCount
        self.octetCount = octetCount
        self.reports = reports
    }

    init(body: RawSpan, count: UInt8) throws(WireError) {
        // Bytes behind the blocks are a profile's extension and ignored.
        guard body.byteCount >= 24 + Int(count) * ReportBlock.byteCount else { throw .truncated }
        self.init(
            ssrc: body.uint32(at: 0), ntp: NTPTimestamp(rawValue: UInt64(body.uint32(at: 4)) << 32 | UInt64(body.uint32(at: 8))),
            rtpTimestamp: body.uint32(at: 12), packetCount: body.uint32(at: 16), octetCount: body.uint32(at: 20),
            reports: ReportBlock.read(body, at: 24, count: Int(count)))
    }

    package func write(into writer: inout ByteWriter) {
        let blocks = reports.prefix(ReportBlock.maxPerReport)
        let start = RTCPHead.open(RTCPType.senderReport, format: UInt8(blocks.count), into: &writer)
        writer.write(ssrc)
        writer.write(ntp.rawValue)
        writer.write(rtpTimestamp)
        writer.write(packetCount)
        writer.write(octetCount)
        for block in blocks { block.write(into: &writer) }
        RTCPHead.close(start, in: &writer)
    }
}
