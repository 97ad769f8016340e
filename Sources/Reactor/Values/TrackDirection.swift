/// Which way a track flows, seen from the client. Raw values are the wire spelling.
@frozen public enum TrackDirection: String, Sendable, CaseIterable, Codable {
    /// From the client to the model: `publish()` it, then push frames.
    case sendonly
    /// From the model to the client: receive frames, pause and resume it.
    case recvonly
}
