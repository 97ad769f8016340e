/// What a track carries. Raw values are the wire spelling.
@frozen public enum TrackKind: String, Sendable, CaseIterable, Codable {
    /// Pictures: ``VideoFrame`` received, BGRA or another ``PixelFormat`` pushed.
    case video
    /// Sound: interleaved 16-bit PCM both ways.
    case audio
}
