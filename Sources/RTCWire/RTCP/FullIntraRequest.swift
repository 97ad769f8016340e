package import RTCBase

/// FIR: a command to send a key frame; the same number again is a repeat, not a new request (RFC 5104 §4.3.1).
package struct FullIntraRequest: Hashable, Sendable {
    /// One media source that is asked.
    package struct Entry: Hashable, Sendable {
        package var ssrc: UInt32
        package var sequence: UInt8

        package init(ssrc: UInt32, sequence: UInt8) {
            self.ssrc = ssrc
            self.sequence = sequence
        }
    }

    package var senderSSRC: UInt32
    package var entries: [Entry]

    package init(senderSSRC: UInt32, entries: [Entry]) {
        self.senderSSRC = senderSSRC
        self.entries = entries
    }

    init(body: RawSpan) throws(WireError) {
        guard body.byteCount >= 8 else { throw .truncated }
        guard body.byteCount % 8 == 0 else { throw .badLength }
        senderSSRC = body.uint32(at: 0)
        entries = stride(from: 8, to: body.byteCount, by: 8).map { Entry(ssrc: body.uint32(at: $0), sequence: body.uint8(at: $0 + 4)) }
    }

    package func write(into writer: inout ByteWriter) {
        let start = RTCPHead.open(RTCPType.payloadSpecificFeedback, format: 4, into: &writer)
        writer.write(senderSSRC)
        writer.write(0 as UInt32)  // "SSRC of media source" is unused and zero (§4.3.1.2)
        for entry in entries.prefix(32_766) {
            writer.write(entry.ssrc)
            writer.write(UInt32(entry.sequence) << 24)
        }
        RTCPHead.close(start, in: &writer)
    }
}
