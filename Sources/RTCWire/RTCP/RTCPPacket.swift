package import RTCBase

/// One RTCP packet (RFC 3550 §6, RFC 4585 §6, RFC 5104 §4.3.1, draft-holmer-rmcat-transport-wide-cc §3.1).
package enum RTCPPacket: Hashable, Sendable {
    case senderReport(SenderReport)
    case receiverReport(ReceiverReport)
    case sourceDescription(SourceDescription)
    case goodbye(Goodbye)
    case genericNACK(GenericNACK)
    case pictureLossIndication(PictureLossIndication)
    case fullIntraRequest(FullIntraRequest)
    case receiverEstimatedMaxBitrate(ReceiverEstimatedMaxBitrate)
    case transportFeedback(TransportFeedback)
    /// Well formed, but of a type or format we do not read.
    case unknown(payloadType: UInt8, format: UInt8)

    /// Packets in one datagram; a compound of ours has two or three.
    package static let maxPackets = 128

    /// Reads a compound or a reduced-size datagram (RFC 5506). Each packet ends where its length word says, whatever
    /// its content (trap RTP-11); one malformed packet refuses the datagram.
    package static func parseCompound(_ bytes: RawSpan) throws(WireError) -> [RTCPPacket] {
        var packets: [RTCPPacket] = []
        try parseCompound(bytes, into: &packets)
        return packets
    }

    /// The same into an array whose memory is used again. After a refusal it holds what stood before the malformed packet,
    /// which is to be left aside as well.
    package static func parseCompound(_ bytes: RawSpan, into packets: inout [RTCPPacket]) throws(WireError) {
        packets.removeAll(keepingCapacity: true)
        var offset = 0
        // A run-length chunk of two bytes stands for 8191 packets, so what a datagram may unfold to is bounded.
        var statusBudget = TransportFeedback.maxStatusCount
        guard bytes.byteCount > 0 else { throw .truncated }
        while offset < bytes.byteCount {
            guard packets.count < maxPackets else { throw .tooLarge }
            let head = try RTCPHead(bytes, at: offset)
            packets.append(try parse(head, bytes.extracting(head.body), &statusBudget))
            offset = head.end
        }
    }

    private static func parse(_ head: RTCPHead, _ body: RawSpan, _ statusBudget: inout Int) throws(WireError) -> RTCPPacket {
        switch (head.payloadType, head.format) {
        case (RTCPType.senderReport, _): return .senderReport(try SenderReport(body: body, count: head.format))
        case (RTCPType.receiverReport, _): return .receiverReport(try ReceiverReport(body: body, count: head.format))
        case (RTCPType.sourceDescription, _): return .sourceDescription(try SourceDescription(body: body, count: head.format))
        case (RTCPType.goodbye, _): return .goodbye(try Goodbye(body: body, count: head.format))
        case (RTCPType.transportSpecificFeedback, 1): return .genericNACK(try GenericNACK(body: body))
        case (RTCPType.transportSpecificFeedback, 15):
            return .transportFeedback(try TransportFeedback(body: body, statusBudget: &statusBudget))
        case (RTCPType.payloadSpecificFeedback, 1): return .pictureLossIndication(try PictureLossIndication(body: body))
        case (RTCPType.payloadSpecificFeedback, 4): return .fullIntraRequest(try FullIntraRequest(body: body))
        case (RTCPType.payloadSpecificFeedback, 15):
            if let estimate = try ReceiverEstimatedMaxBitrate(body: body) { return .receiverEstimatedMaxBitrate(estimate) }
        case (RTCPType.transportSpecificFeedback, _), (RTCPType.payloadSpecificFeedback, _):
            guard body.byteCount >= 8 else { throw .truncated }
        default: break
        }
        return .unknown(payloadType: head.payloadType, format: head.format)
    }

    /// Writes this packet; several calls in a row make a compound. `.unknown` carries no content and writes nothing.
    package func write(into writer: inout ByteWriter) {
        switch self {
        case .senderReport(let packet): packet.write(into: &writer)
        case .receiverReport(let packet): packet.write(into: &writer)
        case .sourceDescription(let packet): packet.write(into: &writer)
        case .goodbye(let packet): packet.write(into: &writer)
        case .genericNACK(let packet): packet.write(into: &writer)
        case .pictureLossIndication(let packet): packet.write(into: &writer)
        case .fullIntraRequest(let packet): packet.write(into: &writer)
        case .receiverEstimatedMaxBitrate(let packet): packet.write(into: &writer)
        case .transportFeedback(let packet): packet.write(into: &writer)
        case .unknown: break
        }
    }
}

/// RTCP packet types (IANA registry of RFC 3550, RFC 4585).
enum RTCPType {
    static let senderReport: UInt8 = 200
    static let receiverReport: UInt8 = 201
    static let sourceDescription: UInt8 = 202
    static let goodbye: UInt8 = 203
    static let transportSpecificFeedback: UInt8 = 205
    static let payloadSpecificFeedback: UInt8 = 206
}

/// The 4-byte head common to all RTCP packets, and where the content lies.
struct RTCPHead {
    /// Report count, source count or feedback message type.
    let format: UInt8
    let payloadType: UInt8
    /// Content behind the head, padding removed (RFC 3550 §6.4.1; trap RTP-14).
    let body: Range<Int>
    let end: Int

    init(_ bytes: RawSpan, at offset: Int) throws(WireError) {
        guard bytes.byteCount - offset >= 4 else { throw .truncated }
        let first = bytes.uint8(at: offset)
        guard first >> 6 == 2 else { throw .badVersion }
        format = first & 0x1F
        payloadType = bytes.uint8(at: offset + 1)
        end = offset + 4 + 4 * Int(bytes.uint16(at: offset + 2))
        guard end <= bytes.byteCount else { throw .truncated }
        var bodyEnd = end
        if first & 0x20 != 0 {
            let padding = end > offset + 4 ? Int(bytes.uint8(at: end - 1)) : 0
            guard padding >= 1, padding <= end - offset - 4 else { throw .badLength }
            bodyEnd = end - padding
        }
        body = (offset + 4)..<bodyEnd
    }

    /// Writes a head with an open length and gives its place for `close`.
    static func open(_ payloadType: UInt8, format: UInt8, into writer: inout ByteWriter) -> Int {
        let start = writer.count
        writer.write(0x80 | (format & 0x1F))
        writer.write(payloadType)
        writer.write(0 as UInt16)
        return start
    }

    /// Fills in the length word; the content must be a multiple of four bytes by now.
    static func close(_ start: Int, hasPadding: Bool = false, in writer: inout ByteWriter) {
        assert((writer.count - start) % 4 == 0)
        if hasPadding, start + 2 <= writer.count {
            writer.overwrite(UInt16(writer.bytes[start] | 0x20) << 8 | UInt16(writer.bytes[start + 1]), at: start)
        }
        writer.overwrite(UInt16(truncatingIfNeeded: (writer.count - start) / 4 - 1), at: start + 2)
    }
}
