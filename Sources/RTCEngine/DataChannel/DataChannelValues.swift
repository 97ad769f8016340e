// The values that go in and out of `DataChannelMachine`: ids, delivery rules, SCTP messages and events.

package import RTCWire

/// One channel of one connection. A stream number is never reused within it, and the generation makes an id of an
/// earlier connection harmless.
package struct ChannelID: Hashable, Sendable {
    package var stream: UInt16
    package var generation: UInt32

    package init(stream: UInt16, generation: UInt32) {
        self.stream = stream
        self.generation = generation
    }
}

/// The sizes both descriptions declared for chunked messages (shared wire protocol §5.8).
package struct ChunkLimits: Hashable, Sendable {
    /// What we put together at most.
    package var ownMaxBytes: Int
    package var peerMaxBytes: Int

    package init(ownMaxBytes: Int, peerMaxBytes: Int) {
        self.ownMaxBytes = ownMaxBytes
        self.peerMaxBytes = peerMaxBytes
    }
}

/// One user message for the SCTP association.
package struct SCTPSend: Hashable, Sendable {
    package var stream: UInt16
    package var ppid: UInt32
    package var isOrdered: Bool
    package var reliability: ChannelReliability
    package var bytes: [UInt8]

    package init(stream: UInt16, ppid: UInt32, isOrdered: Bool, reliability: ChannelReliability, bytes: [UInt8]) {
        self.stream = stream
        self.ppid = ppid
        self.isOrdered = isOrdered
        self.reliability = reliability
        self.bytes = bytes
    }

    /// OPEN and ACK are always ordered and reliable (RFC 8832 §6).
    static func control(stream: UInt16, bytes: [UInt8]) -> SCTPSend {
        SCTPSend(stream: stream, ppid: PayloadProtocol.control.rawValue, isOrdered: true, reliability: .reliable, bytes: bytes)
    }
}

/// SCTP payload protocol identifiers of WebRTC (RFC 8831 §8).
enum PayloadProtocol: UInt32 {
    case control = 50
    case text = 51
    /// Deprecated, still accepted: a part with more to come.
    case binaryPartial = 52
    case binary = 53
    case textPartial = 54
    case textEmpty = 56
    case binaryEmpty = 57
}

package enum DataChannelEvent: Hashable, Sendable {
    /// The peer knows the channel: its acknowledgement came, or data on it, or it opened the channel itself.
    case opened(ChannelID, label: String)
    case message(ChannelID, isText: Bool, bytes: [UInt8])
    case closed(ChannelID)
    /// The peer broke the chunked framing; the channel is being closed.
    case violated(ChannelID)
}

package enum DataChannelError: Error, Hashable, Sendable {
    /// Closed, closing or never opened.
    case notOpen
    /// Larger than the peer takes; the channel stays open (DC-04).
    case messageTooLarge(limitBytes: Int)
    /// Too much waits for the association to come up.
    case queueFull
}
