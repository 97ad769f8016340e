internal import RTCBase
package import RTCPeer

/// The decoded audio of one track in blocks of 10 ms: 480 samples per channel at 48 kHz.
///
/// Each iterator is a consumer with a backlog of its own (2 s unless asked otherwise): a consumer that is late loses
/// nothing until the backlog is full; then the oldest blocks go and are counted in `Track.counters`.
/// The sequence outlives reconnects and ends when the client is closed or released, and when the task is cancelled.
public struct AudioFrames: AsyncSequence, Sendable {
    public typealias Element = AudioFrame
    public typealias Failure = Never

    let track: RemoteTrack
    let capacityBlocks: Int

    init(track: RemoteTrack, capacityBlocks: Int) {
        self.track = track
        self.capacityBlocks = capacityBlocks
    }

    /// The sound of a track of this process's own.
    package init(track: RemoteTrack) { self.init(track: track, capacityBlocks: Self.defaultCapacityBlocks) }

    /// Takes block after block.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let consumer: RemoteTrack.AudioConsumer
        private let trackName: String

        init(track: RemoteTrack, capacityBlocks: Int) {
            consumer = track.addAudioConsumer(capacityBlocks: capacityBlocks)
            trackName = track.name
        }

        /// The next block; `nil` when the client is gone or the task cancelled.
        public mutating func next() async -> AudioFrame? {
            await next(isolation: nil)
        }

        /// The next block; `nil` when the client is gone or the task cancelled. Resumes in the isolation of the caller.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Never) -> AudioFrame? {
            guard let block = await consumer.next(isolation: actor) else { return nil }
            return AudioFrame(block, trackName: trackName)
        }
    }

    /// A new consumer of the track, from the next block on.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(track: track, capacityBlocks: capacityBlocks) }

    /// api.md C6: audio backlog grows to 2 s.
    static let defaultCapacityBlocks = 200
}

extension AudioFrame {
    /// The block as the app sees it.
    init(_ block: PCMBlock, trackName: String) {
        self.init(
            trackName: trackName, samples: block.samples, sampleRate: UInt32(block.sampleRate), channels: UInt32(block.channels))
    }
}
