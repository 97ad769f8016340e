/// What happened to one track's frames since the client was made. Received video counts frames, received audio counts 10 ms
/// blocks.
public struct TrackCounters: Sendable, Hashable {
    /// Decoded and ready for consumers.
    public let received: UInt64
    /// Taken by consumers; several consumers of one track each count.
    public let delivered: UInt64
    /// Not decodable, or replaced by a newer one before a consumer took it.
    public let dropped: UInt64
    /// Pictures, or audio samples per channel, pushed while the track was published.
    public let pushed: UInt64
    /// Pictures that became frames, or audio packets.
    public let encoded: UInt64
    /// Pictures replaced by a newer one before they were encoded, or skipped because the network was behind; audio that had
    /// to go because too much of it waited, counted in packets.
    public let replacedBeforeEncoding: UInt64
}
