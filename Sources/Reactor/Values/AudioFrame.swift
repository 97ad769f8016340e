/// A block of received sound.
///
/// `samples` is interleaved signed 16-bit PCM in native byte order: `channels` values per sampling instant. Frames
/// received from a session are 10 ms long at 48 kHz.
public struct AudioFrame: Sendable {
    /// Name of the track this block came from.
    public let trackName: String
    /// Interleaved samples; `samples.count` is a multiple of `channels`.
    public let samples: [Int16]
    /// Sampling instants per second, in hertz.
    public let sampleRate: UInt32
    /// Channels per sampling instant: 1 (mono) or 2 (stereo).
    public let channels: UInt32

    /// Makes a block from its parts, for tests and for passing on. Sizes are taken as given, not checked.
    public init(trackName: String, samples: [Int16], sampleRate: UInt32, channels: UInt32) {
        self.trackName = trackName
        self.samples = samples
        self.sampleRate = sampleRate
        self.channels = channels
    }
}
