/// A frame of a track of either kind.
@frozen public enum MediaFrame: Sendable {
    /// A decoded picture.
    case video(VideoFrame)
    /// A block of 10 ms of sound.
    case audio(AudioFrame)
}
