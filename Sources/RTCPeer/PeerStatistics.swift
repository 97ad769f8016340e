package import RTCBase
internal import RTCEngine

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
        /// Why the last of them was none: the decoder's function and code.
        package var lastDecodeError: String?
        package var totalDecodeSeconds: Double
        package var totalAssembleSeconds: Double
        package var width: Int
        package var height: Int
        /// What pictures are held back at present so that late ones are not noticed; 0 on most paths, and for audio.
        package var playoutDelayMilliseconds = 0.0
        /// What the jitter buffer of an audio track did; nil for video.
        package var audio: InboundAudio?
    }

    /// The playing side of an audio track. Samples are sampling instants at 48 kHz.
    package struct InboundAudio: Hashable, Sendable {
        /// Delay aimed at and delay now, between arrival and playing, in milliseconds.
        package var targetDelayMilliseconds: Double
        package var currentDelayMilliseconds: Double
        /// Invented by the decoder because nothing was there, and recovered from forward error correction.
        package var concealedSamples: Int
        package var repairedSamples: Int
        /// Left out to have less delay, and put in to have more.
        package var acceleratedSamples: Int
        package var expandedSamples: Int
        /// Times that the sound ran out though nothing was known to be lost.
        package var underruns: Int
        package var packetsPlayed: Int

        init(_ statistics: AudioJitterStatistics) {
            targetDelayMilliseconds = Double(statistics.targetDelayNanoseconds) / 1e6
            currentDelayMilliseconds = Double(statistics.currentDelayNanoseconds) / 1e6
            concealedSamples = Int(clamping: statistics.concealedSamples)
            repairedSamples = Int(clamping: statistics.repairedSamples)
            acceleratedSamples = Int(clamping: statistics.acceleratedSamples)
            expandedSamples = Int(clamping: statistics.expandedSamples)
            underruns = Int(clamping: statistics.underruns)
            packetsPlayed = Int(clamping: statistics.packetsPlayed)
        }
    }

    /// One published track.
    package struct Outbound: Sendable {
        package var track: String
        package var kind: MediaKind
        package var ssrc: UInt32
        package var codec: String?
        package var packetsSent: Int = 0
        package var bytesSent: Int = 0
        package var retransmittedPackets: Int = 0
        /// What the encoder is asked to make, in bits per second.
        package var targetBitrate: Int = 0
        package var framesEncoded: Int = 0
        package var framesSent: Int = 0
        package var framesDropped: Int = 0
        package var keyFrames: Int = 0
        package var framesPerSecond: Double = 0
        /// Of the last frame encoded; smaller than what is pushed while bits are short.
        package var width: Int = 0
        package var height: Int = 0
        package var totalEncodeSeconds: Double = 0
        package var nackCount: Int = 0
        package var pliCount: Int = 0
        package var firCount: Int = 0
        /// From the peer's receiver reports; nil before the first.
        package var roundTripNanoseconds: Int64?
        package var totalRoundTripNanoseconds: Int64 = 0
        package var fractionLost: Double = 0
        package var packetsLost: Int = 0

        package init(track: String, kind: MediaKind, ssrc: UInt32) {
            self.track = track
            self.kind = kind
            self.ssrc = ssrc
        }
    }

    package var timestamp: MonotonicTime
    package var roundTripNanoseconds: Int64?
    package var packetsReceived: Int
    package var bytesReceived: Int
    package var packetsSent: Int
    package var bytesSent: Int
    package var inbound: [Inbound]
    package var outbound: [Outbound]
    /// What congestion control thinks the path to the peer carries, in bits per second; nil while nothing is sent.
    package var availableOutgoingBitrate: Int?
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
