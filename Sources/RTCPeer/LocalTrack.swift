// Where an app's pictures and sound enter. In: BGRA pixels and PCM samples, from any thread. Out: one I420 picture or a
// stretch of samples for the encode worker of the connection that publishes the track; nothing while none does. The
// only work on the caller's thread is one pass over the pixels (BGRA to I420, into pooled memory); the caller never
// waits for an encoder. Wire protocol §7.3 says which frames carry a trailer.

package import RTCBase
internal import RTCCodec
internal import RTCTransport
internal import Synchronization

/// One track that this end sends. It outlives connections; a connection attaches its encode worker while the track is
/// published on it.
package final class LocalTrack: Sendable {
    package let name: String
    package let kind: MediaKind

    package struct Counts: Sendable, Hashable {
        /// Pictures, or samples per channel, handed in while the track was published.
        package var pushed: UInt64 = 0
        /// Pictures that became frames, or audio packets.
        package var encoded: UInt64 = 0
        /// Pictures replaced by a newer one, skipped because the network was behind, or not encodable; audio packets'
        /// worth of samples that had to go because too many waited.
        package var dropped: UInt64 = 0
    }

    private struct State {
        var video: VideoEncodeWorker?
        var audio: AudioEncodeWorker?
        var counts = Counts()
        /// Of the frames that carry a trailer, counted from 1 for as long as the track lives.
        var lastFrameID: UInt64 = 0
    }

    private let state = Mutex(State())
    /// The picture being encoded, the one that waits, and the one being made.
    private let pool = FrameBufferPool(maxCached: 3)

    package init(name: String, kind: MediaKind) {
        self.name = name
        self.kind = kind
    }

    /// Hands in one picture: `height` rows of `width` B, G, R, A pixels without padding, read during the call only.
    ///
    /// A picture that is not yet being encoded is replaced by this one and counted. `metadata.captureTimeMicros` is on the
    /// clock of `NetworkThread.now()`, 0 means now; `metadata.frameID` is ignored, the track numbers its frames. The frame
    /// carries a trailer when a capture time or user data that is not empty was given. Without effect while unpublished.
    /// Any thread, several at once.
    ///
    /// - Returns: false when the track is not published, or the buffer does not fit the size.
    @discardableResult
    package func push(
        bgra pixels: UnsafeRawBufferPointer, width: Int, height: Int, metadata: FrameMetadata = FrameMetadata()
    ) -> Bool {
        false
    }

    /// Hands in interleaved samples, any number of them, at 8000, 16000, 24000, 32000, 44100 or 48000 Hz and with one or
    /// two channels. Without effect while unpublished. Any thread.
    ///
    /// - Returns: false when the track is not published, or the format is another.
    @discardableResult
    package func push(samples: UnsafeBufferPointer<Int16>, sampleRate: Int, channels: Int) -> Bool { false }

    package var counts: Counts { state.withLock { $0.counts } }

    /// A connection publishes the track and takes what is pushed.
    package var isPublished: Bool { state.withLock { $0.video != nil || $0.audio != nil } }
}
