/// What happened to one track's frames since the client was made. Video counts frames, audio counts 10 ms blocks.
public struct TrackCounters: Sendable, Hashable {
    /// Decoded and ready for consumers.
    public let received: UInt64
    /// Taken by consumers; several consumers of one track each count.
    public let delivered: UInt64
    /// Not decodable, or replaced by a newer one before a consumer took it.
    public let dropped: UInt64
}
