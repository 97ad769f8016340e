import ReactorCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Carries out a ``ClipDownloadMachine``: fetches, writes, sleeps.
///
/// Runs where its caller runs, and writes there: the caller gives it a thread of its own. It knows no client, so it may
/// outlive one.
struct ClipDownloader: Sendable {
    var http = HTTPClient()
    /// For tokens and for the wording of failures.
    var api: APIClient
    /// Asked while the clip is not ready: whether more can still become of it.
    var isSessionAlive: @Sendable () -> Bool = { true }
    /// Told when the file will not play everywhere.
    var warn: @Sendable (String) -> Void = { _ in }
    /// How long a server may send nothing of a part.
    var stallTimeout: Duration = .seconds(30)

    /// Returns how many segments were written.
    ///
    /// - Throws: ``ReactorError``, or `CancellationError`. What was written until then is the caller's to remove.
    func run(_ clip: Clip, to sink: some ClipSink, readyTimeout: Duration?, event: (DownloadEvent) -> Void) async throws -> Int {
        let start = ContinuousClock.now
        func now() -> Int64 { start.duration(to: .now).wholeMilliseconds }
        var machine = ClipDownloadMachine(
            playlistURL: clip.playlistURL,
            waitMilliseconds: ClipDownloadMachine.waitMilliseconds(
                predictedReadyAtMilliseconds: clip.predictedReadyAtMS,
                wallClockMilliseconds: Date().timeIntervalSince1970 * 1000,
                readyTimeoutMilliseconds: readyTimeout.map(\.wholeMilliseconds)),
            nowMilliseconds: 0)
        var segments = 0
        var action = machine.start()
        while true {
            try Task.checkCancellation()
            switch action {
            case .fetchPlaylist:
                do {
                    let response = try await get(clip.playlistURL, context: .fetchPlaylist, clip: clip, sendsToken: true)
                    if response.status == 202 {
                        action = machine.playlistNotReady(
                            retryAfter: response.header("Retry-After"), isSessionAlive: isSessionAlive(), nowMilliseconds: now())
                        if case .wait = action { event(.waiting(attempt: machine.waits)) }
                    } else {
                        action = machine.playlistArrived(
                            String(decoding: response.body, as: UTF8.self), url: response.url, isSessionAlive: isSessionAlive(),
                            nowMilliseconds: now())
                    }
                } catch let failure as PartError {
                    action = machine.playlistFailed(failure.reason, nowMilliseconds: now())
                }
            case .wait(let milliseconds):
                try await Task.sleep(for: .milliseconds(milliseconds))
                action = machine.waited()
            case .fetch(let part):
                let position = sink.byteCount
                do {
                    try await fetch(part, clip: clip, to: sink)
                    let wasChanged = machine.changedInitialization
                    if !part.isInitialization { segments += 1 }
                    action = machine.partWritten(nowMilliseconds: now())
                    if machine.changedInitialization, !wasChanged {
                        warn("the clip changes its initialization section on the way; some players stop there")
                    }
                    event(.progress(DownloadProgress(done: machine.done, total: machine.total)))
                } catch let failure as PartError {
                    action = machine.partFailed(failure.reason, nowMilliseconds: now())
                    if sink.byteCount != position { try sink.truncate(to: position) }
                }
            case .finish: return segments
            case .fail(let error): throw ReactorError(error)
            }
        }
    }

    /// What the machine decides about; anything else ends the download.
    private struct PartError: Error { var reason: ClipDownloadMachine.PartFailure }

    private func fetch(_ part: ClipDownloadMachine.Part, clip: Clip, to sink: some ClipSink) async throws {
        _ = try await get(
            part.url, context: .fetchSegment, clip: clip, sendsToken: part.sendsToken, range: part.range, sink: sink)
    }

    /// 200 and 202; 206 for a range.
    private func get(
        _ url: String, context: HTTPContext, clip: Clip, sendsToken: Bool, range: HLSPlaylist.ByteRange? = nil,
        sink: (any ClipSink)? = nil
    ) async throws -> HTTPResponse {
        var request = HTTPRequest(.get, url)
        request.connectTimeout = api.limits.connect
        request.totalTimeout = sink == nil ? api.limits.request : .seconds(86_400)
        request.stallTimeout = sink == nil ? nil : stallTimeout
        request.maxResponseBytes = FormatLimits.maxBodyBytes
        request.verifiesTLS = !api.endpoint.isLocal
        request.redirects = .followed(maxHops: 20, changesMethod: false)
        if let range { request.headers.append(HTTPHeader("Range", range.headerValue)) }
        let expected = range == nil ? 200 : 206

        func exchange(_ request: HTTPRequest) async throws -> HTTPResponse {
            do {
                guard let sink else { return try await http.send(request) }
                return try await http.download(request, expecting: expected) { try sink.write($0) }
            } catch let error as HTTPError {
                throw PartError(
                    reason: .interrupted(api.failure(error, context, limit: sink == nil ? api.limits.request : stallTimeout)))
            }
        }
        var held = sendsToken && mayCarryToken(url) ? try await api.askForToken(sessionID: clip.sessionID) : nil
        var response = try await exchange(request.authorized(held))
        if response.status == 401, let first = held, let renewed = try await api.askForToken(sessionID: clip.sessionID), renewed != first {
            held = renewed
            response = try await exchange(request.authorized(renewed))
        }
        if response.status == expected || (sink == nil && response.status == 202) { return response }
        let error = api.failure(response, context, secrets: [held].compactMap { $0 })
        throw PartError(
            reason: .status(
                CoreError(
                    ErrorCode(rawValue: error.code.rawValue), error.message, operation: api.operation, status: error.status,
                    retryAfterMilliseconds: error.retryAfterMS)))
    }

    /// A token that came in over TLS does not leave in the clear.
    private func mayCarryToken(_ url: String) -> Bool {
        url.lowercased().hasPrefix("https:") || !api.endpoint.isSecure
    }
}

extension HTTPRequest {
    fileprivate func authorized(_ token: String?) -> HTTPRequest {
        guard let token else { return self }
        var request = self
        request.headers.append(HTTPHeader("Authorization", "Bearer \(token)"))
        return request
    }
}

/// Where a clip goes.
protocol ClipSink: AnyObject {
    var byteCount: Int { get }
    func write(_ bytes: [UInt8]) throws
    func truncate(to byteCount: Int) throws
}

final class FileClipSink: ClipSink {
    private let file: LocalFile
    private(set) var byteCount = 0

    /// Creates the file, so that a place that cannot be written to fails before anything is fetched.
    init(path: String) throws { file = try LocalFile(writing: path, operation: CoreError.Operation.downloadClip.rawValue) }

    func write(_ bytes: [UInt8]) throws {
        try file.write(bytes, operation: CoreError.Operation.downloadClip.rawValue)
        byteCount += bytes.count
    }

    func truncate(to byteCount: Int) throws {
        try file.truncate(to: byteCount, operation: CoreError.Operation.downloadClip.rawValue)
        self.byteCount = byteCount
    }

    /// The file is complete and takes its place.
    func commit() throws { try file.commit(operation: CoreError.Operation.downloadClip.rawValue) }

    func remove() { file.remove() }
}

final class MemoryClipSink: ClipSink {
    private(set) var data = Data()
    var byteCount: Int { data.count }

    func write(_ bytes: [UInt8]) throws {
        guard data.count + bytes.count <= Self.maxBytes else {
            throw ReactorError(
                .badRequest, "the clip is larger than \(Self.maxBytes >> 20) MiB; download it to a file",
                operation: CoreError.Operation.downloadClip.rawValue)
        }
        data.append(contentsOf: bytes)
    }

    func truncate(to byteCount: Int) { data.removeLast(data.count - byteCount) }

    /// A quarter of an hour at 8 Mbit/s; longer ones belong in a file.
    static let maxBytes = 1 << 30
}
