internal import ReactorCore

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Reactor {
    /// Asks for a clip of the session's last `duration`.
    ///
    /// ```swift
    /// let clip = try await reactor.requestClip(.seconds(10))
    /// try await reactor.download(clip, to: URL(filePath: "clip.mp4"))
    /// ```
    ///
    /// Returns when the platform has accepted, not when the clip is ready; downloading waits for that. A clip that reaches
    /// further back than the session or the platform's limit is shorter.
    /// - Throws: `.badRequest` for a duration that is not positive; `.recorderDisabled` when the session is not recorded;
    ///   `.internalError` before there is anything to record; `.invalidState` unless `.ready`; `.requestTimeout` after 10 s;
    ///   `.disconnected` when the connection goes meanwhile. A cancelled task throws `CancellationError`.
    public func requestClip(_ duration: Duration) async throws -> Clip {
        let length = duration / .seconds(1)
        guard length > 0 else {
            throw ReactorError(
                .badRequest, "a clip has to be longer than nothing", operation: CoreError.Operation.requestClip.rawValue)
        }
        return try await engine.requestClip(seconds: length)
    }

    /// Asks for a recording of the whole session up to now; otherwise as ``requestClip(_:)``.
    public func requestRecording() async throws -> Clip { try await engine.requestRecording() }

    /// Waits until a clip is ready and writes it to a file: a fragmented MP4.
    ///
    /// Parts are written as they arrive, on a thread of the download's own, into a hidden file beside `url` (`.NAME.….part`). It
    /// takes its place when it is complete, and is removed when the download fails or is cancelled.
    /// - Parameters:
    ///   - clip: from ``requestClip(_:)``, ``requestRecording()`` or a runtime message.
    ///   - url: the file to write; one that exists is replaced at the end. A device, a pipe or a link is written to as it is.
    ///   - readyTimeout: how long the clip may take to become ready, counted from the moment the platform predicted; nil sets
    ///     no limit while the session lives. When the session has ended, the wait ends soon.
    ///   - progress: called after each part, on the download's thread, with `done` counting up to `total`.
    /// - Throws: `.badRequest` for a file that cannot be written; `.requestTimeout` when the clip is not ready in time;
    ///   `.sessionTerminal` when the session ends before it is ready; `.decodeFailed` for a playlist that cannot be used; the
    ///   mapped error when the server refuses. When the client is closed meanwhile it throws `.aborted`, and the transfer goes
    ///   on: the file may still arrive. A cancelled task throws `CancellationError`: the transfer stops.
    @discardableResult
    public func download(
        _ clip: Clip, to url: URL, readyTimeout: Duration? = nil, progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async throws -> DownloadResult {
        try requireOpen()
        let job = DownloadJob.toFile(clip, url, downloader, readyTimeout: readyTimeout, progress: progress)
        return try await result(of: job, whenClosed: "; the file may still arrive at \(url.path(percentEncoded: false))")
    }

    /// Starts a download that runs by itself, and returns at once.
    ///
    /// The parameters are those of ``download(_:to:readyTimeout:progress:)``; what that throws, the sequence and its result
    /// throw. It is not ended by closing the client.
    public nonisolated func startDownload(_ clip: Clip, to url: URL, readyTimeout: Duration? = nil) -> ClipDownload {
        ClipDownload(job: .toFile(clip, url, downloader, readyTimeout: readyTimeout))
    }

    /// Waits until a clip is ready and returns its bytes: for short ones, up to 1 GiB.
    ///
    /// - Throws: as ``download(_:to:readyTimeout:progress:)``; `.badRequest` for one that is larger. Closing the client ends it.
    public func clipData(_ clip: Clip, readyTimeout: Duration? = nil) async throws -> Data {
        try requireOpen()
        let downloader = self.downloader
        let job = DownloadJob<Data> { report in
            let sink = MemoryClipSink()
            _ = try await downloader.run(clip, to: sink, readyTimeout: readyTimeout, event: report)
            return sink.data
        }
        do {
            return try await result(of: job, whenClosed: "")
        } catch {
            job.cancel()
            throw error
        }
    }

    /// Downloads a clip without a client, such as one that was stored; otherwise as the method of a client.
    ///
    /// - Parameters:
    ///   - clip: from anywhere, such as one decoded from a file.
    ///   - url: the file to write.
    ///   - jwt: a token for the playlist's own host and port; nil sends none.
    ///   - readyTimeout: how long the clip may take to become ready, counted from the moment the platform predicted; nil waits for as
    ///     long as the server says "not yet".
    ///   - progress: called after each part, on the download's thread.
    public static func download(
        _ clip: Clip, to url: URL, jwt: String?, readyTimeout: Duration? = .seconds(60),
        progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async throws -> DownloadResult {
        // Only the wording of failures comes from here: every URL of a clip is its own.
        let api = APIClient(
            endpoint: try APIEndpoint(apiURL: localAPIURL, local: false), operation: .downloadClip, token: { _ in jwt })
        let job = DownloadJob.toFile(clip, url, ClipDownloader(api: api), readyTimeout: readyTimeout, progress: progress)
        return try await Self.cancelling(job) { try await job.promise.value }
    }

    // MARK: Jobs

    private nonisolated func requireOpen() throws {
        if state.isClosed { throw ReactorError.clientGone(CoreError.Operation.downloadClip.rawValue) }
    }

    /// Knows the client's state and tokens, and not the client.
    private nonisolated var downloader: ClipDownloader {
        let state = self.state
        let engine = self.engine
        let logger = engine.configuration.logger
        return ClipDownloader(
            api: engine.apiClient(.downloadClip),
            isSessionAlive: { state.read { !$0.isClosed && $0.status != .disconnected } },
            warn: { logger?.log(.warning, "session", $0, [:]) })
    }

    private func result<R: Sendable>(of job: DownloadJob<R>, whenClosed notice: String) async throws -> R {
        let statuses = statusUpdates
        return try await Self.cancelling(job) {
            try await withThrowingTaskGroup(of: R.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await job.promise.value }
                group.addTask {
                    for await _ in statuses {}
                    try Task.checkCancellation()
                    let operation = CoreError.Operation.downloadClip.rawValue
                    throw ReactorError(.aborted, "\(operation) was interrupted: the client was closed\(notice)", operation: operation)
                }
                guard let result = try await group.next() else { throw CancellationError() }
                return result
            }
        }
    }

    /// Cancelling the waiting task cancels the job, and the file is gone when this returns.
    private static func cancelling<R: Sendable>(_ job: DownloadJob<R>, _ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch is CancellationError {
            job.cancel()
            await job.ended()
            throw CancellationError()
        }
    }
}
