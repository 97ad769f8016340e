package import RTCBase

/// What the app may read about one sending stream. Counts are since the connection began.
package struct SendStreamStatistics: Hashable, Sendable {
    package var ssrc: UInt32 = 0
    package var retransmissionSSRC: UInt32?
    /// Nil for audio.
    package var codec: VideoCodec?
    /// Media packets, without retransmissions and padding.
    package var packetsSent: UInt64 = 0
    /// Whole RTP packets of media, headers included.
    package var bytesSent: UInt64 = 0
    package var retransmittedPackets: UInt64 = 0
    package var retransmittedBytes: UInt64 = 0
    package var paddingPackets: UInt64 = 0
    package var paddingBytes: UInt64 = 0
    /// NACK messages, and the numbers asked for in them.
    package var nacksReceived: UInt64 = 0
    package var packetsRequested: UInt64 = 0
    package var plisReceived: UInt64 = 0
    package var firsReceived: UInt64 = 0
    /// Frames that left whole; key frames among them.
    package var framesSent: UInt64 = 0
    package var keyFramesSent: UInt64 = 0
    /// Frames that waited too long and were dropped whole, or that needed a dropped one.
    package var framesDropped: UInt64 = 0
    /// What the encoder of the section is to make, bits per second.
    package var targetBitsPerSecond: Int64 = 0
    /// Waiting in the pacer, in time at the target rate.
    package var queueSeconds: Double = 0
    /// From receiver reports; nil before there was one.
    package var roundTripSeconds: Double?
    /// Of the last report interval, 0...1.
    package var fractionLost: Double = 0
    package var packetsLost: Int64 = 0
    /// Interarrival jitter at the peer.
    package var remoteJitterSeconds: Double = 0

    package init() {}
}
