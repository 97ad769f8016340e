package import RTCBase

/// A short run of packets to send at a rate above the estimate, to see whether the path takes it.
package struct Probe: Hashable, Sendable {
    /// Goes into `SentPacket.probe` of each of its packets.
    package var cluster: Int
    package var rate: Bitrate
    /// The probe is over when both are reached; media first, padding for the rest.
    package var minimumBytes: Int
    package var minimumPackets: Int

    package init(cluster: Int, rate: Bitrate, minimumBytes: Int, minimumPackets: Int) {
        self.cluster = cluster
        self.rate = rate
        self.minimumBytes = minimumBytes
        self.minimumPackets = minimumPackets
    }
}
