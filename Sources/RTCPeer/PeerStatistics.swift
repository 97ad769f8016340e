package import RTCBase

/// A snapshot of one connection's counters.
package struct PeerStatistics: Sendable {
    package struct Inbound: Sendable {
        package var track: String
        package var kind: MediaKind
        package var ssrc: UInt32
        package var codec: String?
        package var packetsReceived: Int
        package var packetsLost: Int
        package var bytesReceived: Int
        package var retransmittedPackets: Int
        package var jitterSeconds: Double
        package var nackCount: Int
        package var pliCount: Int
        package var firCount: Int
        package var framesAssembled: Int
        package var framesDecoded: Int
        package var framesDropped: Int
        package var keyFrames: Int
        package var decodeErrors: Int
        package var totalDecodeSeconds: Double
        package var totalAssembleSeconds: Double
        package var width: Int
        package var height: Int
    }

    package var timestamp: MonotonicTime
    package var roundTripNanoseconds: Int64?
    package var packetsReceived: Int
    package var bytesReceived: Int
    package var packetsSent: Int
    package var bytesSent: Int
    package var inbound: [Inbound]
    package var drops: DropCounters
    package var localCandidateType: String?
    package var remoteCandidateType: String?
    package var relayProtocol: String?
    /// Numeric, of the pair in use.
    package var localAddress: String?
    package var remoteAddress: String?
    /// RFC 7675: binding requests sent on the pair in use, and authentic answers to them.
    package var consentChecksSent: Int
    package var consentAnswers: Int
    package var isConnected: Bool
    package var srtpProfile: String?
}
