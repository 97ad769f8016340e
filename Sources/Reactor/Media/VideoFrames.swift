internal import RTCBase
package import RTCPeer

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The decoded frames of one video track, newest first come: a frame that arrives while the previous one is still being
/// handled replaces one that nobody took yet, and the replaced one is counted.
///
/// Each iterator is a consumer of its own. There is no thread and no queue behind it: `next()` waits in the track's
/// newest-frame slot. Pixels are converted to BGRA on the consumer's side, once per frame that somebody takes.
///
/// ```swift
/// for await frame in try reactor.track("main_video").videoFrames {
///     render(frame.pixels, frame.width, frame.height)
/// }
/// ```
///
/// ``Track/videoFrames(buffering:)`` gives one that keeps more than the newest frame. The sequence outlives reconnects. It ends when the
/// client is closed or released, and when the task is cancelled.
public struct VideoFrames: AsyncSequence, Sendable {
    public typealias Element = VideoFrame
    public typealias Failure = Never

    let track: RemoteTrack
    let buffering: FrameBuffering

    /// The frames of a track of this process's own.
    package init(track: RemoteTrack, buffering: FrameBuffering = .newest) {
        self.track = track
        self.buffering = buffering
    }

    /// Takes the newest frame of the track, or the oldest one kept, waiting for one when there is none.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let consumer: RemoteTrack.VideoConsumer
        private let trackName: String

        init(track: RemoteTrack, buffering: FrameBuffering) {
            consumer = track.addVideoConsumer(backlog: buffering.backlog)
            trackName = track.name
        }

        /// The newest frame not taken yet, or the next to come; `nil` when the client is gone or the task cancelled.
        public mutating func next() async -> VideoFrame? {
            await next(isolation: nil)
        }

        /// The newest frame not taken yet, or the next to come; `nil` when the client is gone or the task cancelled.
        /// Resumes in the isolation of the caller.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Never) -> VideoFrame? {
            while let picture = await consumer.next(isolation: actor) {
                if let frame = VideoFrame(picture: picture, trackName: trackName) { return frame }
            }
            return nil
        }

        /// Frames that went before this iterator took them.
        public var droppedFrames: UInt64 { consumer.droppedCount }
    }

    /// A new consumer of the track, from the next frame on.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(track: track, buffering: buffering) }
}

extension VideoFrame {
    /// The frame as the app sees it. Its `Data` is a view of the picture's BGRA memory, shared with other consumers of
    /// the same picture and copied by `Data` itself if somebody writes to it.
    init?(picture: DecodedPicture, trackName: String) {
        let pixels: Data? = picture.shared { memory in
            Data(
                bytesNoCopy: memory.base, count: memory.count,
                deallocator: .custom { _, _ in withExtendedLifetime(memory) {} })
        }
        guard let pixels else { return nil }
        let metadata = picture.planes.metadata
        self.init(
            trackName: trackName, pixels: pixels, width: UInt32(picture.width), height: UInt32(picture.height),
            frameID: metadata?.frameID ?? 0, captureTimeUs: metadata?.captureTimeMicros ?? 0,
            userData: metadata?.userData.flatMap { $0.isEmpty ? nil : Data($0) },
            receivedTimeUs: picture.planes.firstPacketTime.nanoseconds / 1000)
    }
}
