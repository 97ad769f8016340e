public import Reactor

/// One track that a model declares, seen from the client: a `recvonly` track is what the model sends.
public struct LocalTrack: Sendable, Hashable {
    /// Unique among the model's tracks.
    public let name: String
    /// Video or audio.
    public let kind: TrackKind
    /// `recvonly` from the model to clients, `sendonly` from a client to the model.
    public let direction: TrackDirection
    /// Pictures or samples per second.
    public let rate: Double

    /// - Parameters:
    ///   - name: unique among the model's tracks.
    ///   - kind: video or audio.
    ///   - direction: seen from the client.
    ///   - rate: pictures or samples per second; by default 30 and 48000.
    public init(_ name: String, kind: TrackKind, direction: TrackDirection, rate: Double? = nil) {
        self.name = name
        self.kind = kind
        self.direction = direction
        self.rate = rate ?? (kind == .video ? 30 : 48_000)
    }
}
