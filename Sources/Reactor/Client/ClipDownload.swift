internal import ReactorCore

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// A download that runs by itself: a sequence of what happens in it, and its result.
///
/// ```swift
/// let download = reactor.startDownload(clip, to: url)
/// for try await event in download {
///     if case .progress(let progress) = event { show(progress.fraction) }
/// }
/// print(try await download.result.bytes)
/// ```
///
/// It goes on when nobody reads the sequence, when this value is gone, and when the client is closed; ``cancel()`` ends it.
public struct ClipDownload: AsyncSequence, Sendable {
    public typealias Element = DownloadEvent
    public typealias Failure = any Error

    /// Gives the events to one reader.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<DownloadEvent, any Error>.Iterator

        /// The next event; nil after ``DownloadEvent/finished(_:)``, and when the reading task is cancelled.
        ///
        /// - Throws: what the download failed with.
        public mutating func next() async throws -> DownloadEvent? { try await base.next(isolation: #isolation) }
    }

    let job: DownloadJob<DownloadResult>

    /// The events that nobody has read yet, the newest 64 of them. The sequence is for one reader.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: job.events.makeAsyncIterator()) }

    /// Waits for the end of the download. A cancelled task throws `CancellationError`; the download goes on.
    ///
    /// - Throws: as ``Reactor/download(_:to:readyTimeout:progress:)``.
    public var result: DownloadResult { get async throws { try await job.promise.value } }

    /// Ends the download and removes what was written; harmless when it is over.
    public func cancel() { job.cancel() }
}

/// A download on a thread of its own.
struct DownloadJob<Output: Sendable>: Sendable {
    let promise = Promise<Output>()
    let events: AsyncThrowingStream<DownloadEvent, any Error>
    private let task: Task<Void, Never>

    /// Starts it. `body` runs on the job's thread.
    init(_ body: @escaping @Sendable (_ event: @escaping @Sendable (DownloadEvent) -> Void) async throws -> Output) {
        let (events, sink) = AsyncThrowingStream.makeStream(of: DownloadEvent.self, bufferingPolicy: .bufferingNewest(64))
        self.events = events
        let promise = self.promise
        task = Task(executorPreference: DeliveryThread(name: "download")) {
            do {
                let output = try await body { sink.yield($0) }
                promise.fulfill(.success(output))
                sink.finish()
            } catch {
                promise.fulfill(.failure(error))
                sink.finish(throwing: error)
            }
        }
    }

    func cancel() { task.cancel() }

    /// Waits for the end whatever happens to the waiting task.
    func ended() async { await task.value }
}

extension DownloadJob<DownloadResult> {
    /// Downloads into a file, which is there when it is complete.
    static func toFile(
        _ clip: Clip, _ url: URL, _ downloader: ClipDownloader, readyTimeout: Duration?,
        progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) -> DownloadJob {
        DownloadJob { report in
            let path = try LocalFile.path(of: url, operation: CoreError.Operation.downloadClip.rawValue)
            try Task.checkCancellation()
            let sink = try FileClipSink(path: path)
            do {
                let segments = try await downloader.run(clip, to: sink, readyTimeout: readyTimeout) { event in
                    if case .progress(let value) = event { progress?(value) }
                    report(event)
                }
                try sink.commit()
                let result = DownloadResult(path: url, bytes: sink.byteCount, segments: segments)
                report(.finished(result))
                return result
            } catch {
                sink.remove()
                throw error
            }
        }
    }
}
