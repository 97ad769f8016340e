/// What a connection has measured, at one moment.
///
/// A scalar is nil until it was measured, which is not the same as zero. Counters count from the start of the connection.
public struct ConnectionStats: Sendable, Hashable, Codable {
    /// One RTP stream received.
    public struct InboundStream: Sendable, Hashable, Codable {
        /// The RTP stream's synchronization source.
        public let ssrc: UInt32
        /// `video` or `audio`, or nil while unknown.
        public let kind: String?
        /// The track's declared name.
        public let trackName: String?
        /// Codec in use, such as `VP9`, or nil before the first frame.
        public let codec: String?
        /// RTP packets received.
        public let packetsReceived: Int
        /// RTP packets that never arrived, repaired ones not counted.
        public let packetsLost: Int
        /// Bytes received.
        public let bytesReceived: Int
        /// Interarrival jitter (RFC 3550 §6.4.1), in seconds.
        public let jitterSeconds: Double
        /// Sequence numbers asked for again (generic NACK), repeats included.
        public let nackCount: Int
        /// Key frames asked for (PLI and FIR).
        public let pliCount: Int
        /// Time spent decoding since the start, in seconds.
        public let totalDecodeTimeSeconds: Double
        /// Sum over decoded frames of the time from the first packet's arrival to the decoded picture, in seconds.
        public let totalAssemblyTimeSeconds: Double
        /// Frames per second over the last interval.
        public let framesPerSecond: Double
        /// Frames decoded.
        public let framesDecoded: Int
        /// Frames received and not decoded, or decoded and replaced before they were taken.
        public let framesDropped: Int
        /// Width of the last frame in pixels.
        public let frameWidth: Int
        /// Height of the last frame in pixels.
        public let frameHeight: Int
    }
    /// One RTP stream sent, of a published track.
    public struct OutboundStream: Sendable, Hashable, Codable {
        /// The RTP stream's synchronization source.
        public let ssrc: UInt32
        /// `video` or `audio`, or nil while unknown.
        public let kind: String?
        /// The track's declared name.
        public let trackName: String?
        /// Codec in use, such as `VP9`, or nil before the first frame.
        public let codec: String?
        /// RTP packets sent, retransmissions included.
        public let packetsSent: Int
        /// RTP packets sent again on request.
        public let retransmittedPacketsSent: Int
        /// Bytes sent.
        public let bytesSent: Int
        /// What the encoder is told to produce, in bits per second.
        public let targetBitrateBPS: Double
        /// Frames per second over the last interval.
        public let framesPerSecond: Double
        /// Pictures that became frames.
        public let framesEncoded: Int
        /// Frames sent.
        public let framesSent: Int
        /// Pictures replaced by a newer one before they were encoded, skipped because the network was behind, or dropped from
        /// the queue.
        public let framesDropped: Int
        /// Width of the last frame in pixels; smaller than what is pushed while bits are short.
        public let frameWidth: Int
        /// Height of the last frame in pixels.
        public let frameHeight: Int
        /// Time spent encoding since the start, in seconds.
        public let totalEncodeTimeSeconds: Double
        /// Sequence numbers the far end asked for again (generic NACK).
        public let nackCount: Int
        /// Key frames the far end asked for (PLI and FIR).
        public let pliCount: Int
        /// Last round-trip time reported for this stream, in seconds.
        public let roundTripTimeSeconds: Double
        /// Sum of all round-trip times measured, in seconds.
        public let totalRoundTripTimeSeconds: Double
        /// Loss the far end last reported, 0 to 1.
        public let fractionLost: Double
        /// RTP packets that never arrived, repaired ones not counted.
        public let packetsLost: Int
    }
    /// One network path tried by ICE.
    public struct CandidatePair: Sendable, Hashable, Codable {
        /// Last round-trip time measured on this pair, in seconds.
        public let currentRoundTripTimeSeconds: Double
        /// Sum of all round-trip times measured, in seconds.
        public let totalRoundTripTimeSeconds: Double
        /// ICE priority (RFC 8445 §6.1.2.3).
        public let priority: UInt64
        /// ICE state of the pair, such as `succeeded`.
        public let state: String
        /// Whether the pair is the one agreed on.
        public let nominated: Bool
        /// Whether packets can be sent on the pair.
        public let writable: Bool
        /// Estimated capacity towards the far end, in bits per second.
        public let availableOutgoingBitrateBPS: Double
        /// Estimated capacity from the far end, in bits per second.
        public let availableIncomingBitrateBPS: Double
        /// Bytes sent.
        public let bytesSent: Int
        /// Bytes received.
        public let bytesReceived: Int
        /// RTP packets sent, retransmissions included.
        public let packetsSent: Int
        /// RTP packets received.
        public let packetsReceived: Int
        /// `host`, `srflx`, `prflx` or `relay`, or nil.
        public let localCandidateType: String?
        /// Transport towards the relay, or nil when there is none.
        public let localRelayProtocol: String?
    }
    /// Round-trip time in milliseconds.
    public let rttMS: Double?
    /// Interarrival jitter (RFC 3550 §6.4.1), in seconds.
    public let jitterSeconds: Double?
    /// Loss on the receive side, 0 to 1.
    public let packetLossRatio: Double?
    /// Measured between this call and the one before, in bits per second.
    public let incomingBitrateBPS: Double?
    /// Measured between this call and the one before, in bits per second.
    public let outgoingBitrateBPS: Double?
    /// Estimated capacity from the far end, in bits per second.
    public let availableIncomingBitrateBPS: Double?
    /// Estimated capacity towards the far end, in bits per second.
    public let availableOutgoingBitrateBPS: Double?
    /// What the encoder is told to produce, in bits per second.
    public let targetBitrateBPS: Double?
    /// Frames per second over the last interval.
    public let framesPerSecond: Double?
    /// Local candidate type of the pair in use.
    public let candidateType: String?
    /// Transport towards the relay in use, or nil.
    public let relayProtocol: String?
    /// ICE state of the pair in use.
    public let candidatePairState: String?
    /// RTP packets received.
    public let packetsReceived: Int
    /// RTP packets that never arrived, repaired ones not counted.
    public let packetsLost: Int
    /// RTP packets sent, retransmissions included.
    public let packetsSent: Int
    /// Bytes received.
    public let bytesReceived: Int
    /// Bytes sent.
    public let bytesSent: Int
    /// When this was measured, in milliseconds since 1970.
    public let timestampMS: Double
    /// Streams received.
    public let inbound: [InboundStream]
    /// Streams sent.
    public let outbound: [OutboundStream]
    /// Network paths known.
    public let candidatePairs: [CandidatePair]
}
