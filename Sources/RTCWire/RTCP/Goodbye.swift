package import RTCBase

/// BYE: sources that leave (RFC 3550 §6.6).
package struct Goodbye: Hashable, Sendable {
    /// At most 31 are written.
    package var ssrcs: [UInt32]
    /// Nil when absent, cut off or not UTF-8; up to 255 bytes are written.
    package var reason: String?

    package init(ssrcs: [UInt32], reason: String? = nil) {
        self.ssrcs = ssrcs
        self.reason = reason
    }

    init(body: RawSpan, count: UInt8) throws(WireError) {
        let sources = Int(count)
        guard body.byteCount >= 4 * sources else { throw .truncated }
        ssrcs = (0..<sources).map { body.uint32(at: 4 * $0) }
        let offset = 4 * sources
        if body.byteCount > offset {
            let length = Int(body.uint8(at: offset))
            // A reason that is cut off does not make the leave less true.
            if length > 0, offset + 1 + length <= body.byteCount {
                reason = String(validating: body.copy((offset + 1)..<(offset + 1 + length)), as: UTF8.self)
            }
        }
    }

    package func write(into writer: inout ByteWriter) {
        let written = ssrcs.prefix(31)
        let start = RTCPHead.open(RTCPType.goodbye, format: UInt8(written.count), into: &writer)
        for ssrc in written { writer.write(ssrc) }
        if let reason, !reason.isEmpty {
            let text = reason.utf8.prefix(255)
            writer.write(UInt8(text.count))
            writer.write(text)
            while (writer.count - start) % 4 != 0 { writer.write(0 as UInt8) }
        }
        RTCPHead.close(start, in: &writer)
    }
}
