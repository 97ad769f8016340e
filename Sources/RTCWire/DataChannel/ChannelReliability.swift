/// How hard a data channel tries to deliver a message (RFC 8832 §5.1).
package enum ChannelReliability: Hashable, Sendable {
    case reliable
    case maxRetransmits(UInt16)
    case maxLifetimeMilliseconds(UInt16)
}
