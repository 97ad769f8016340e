/// What a track carries. Raw values are the wire spelling.
@frozen public enum TrackKind: String, Sendable, CaseIterable, Codable {
    case video
    case audio
}
