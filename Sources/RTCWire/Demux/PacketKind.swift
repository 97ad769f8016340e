import RTCBase

/// What a datagram of the one 5-tuple is, by its first byte (RFC 7983 §7) and, for RTP against RTCP, its second
/// (RFC 5761 §4).
package enum PacketKind: Hashable, Sendable {
    case stun
    case dtls
    case turnChannel
    case rtp
    case rtcp
    case unknown

    package static func classify(_ datagram: RawSpan) -> PacketKind {
        guard datagram.byteCount >= 1 else { return .unknown }
        switch datagram.uint8(at: 0) {
        case 0...3: return .stun
        case 20...63: return .dtls
        case 64...79: return .turnChannel
        case 128...191:
            guard datagram.byteCount >= 2 else { return .unknown }
            // RTP payload types 64-95 are never negotiated, so marker + type cannot fall into this range.
            return (192...223).contains(datagram.uint8(at: 1)) ? .rtcp : .rtp
        default: return .unknown
        }
    }
}
