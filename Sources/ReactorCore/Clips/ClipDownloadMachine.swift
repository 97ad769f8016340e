// Downloading a clip (wire-protocol 2.9): when to ask for the playlist, how long to wait, which parts to fetch and when to
// give up. In: what the server answered, and the time. Out: one action at a time. The shell fetches, writes and sleeps.
// Left out: the file. A part that failed half way is asked for again from its start, so the shell takes back what it wrote.

/// The order of one download.
package struct ClipDownloadMachine: Sendable {
    package enum Action: Hashable, Sendable {
        case fetchPlaylist
        /// Sleep, then call ``waited()``.
        case wait(milliseconds: Int64)
        case fetch(Part)
        /// Every part is written.
        case finish
        case fail(CoreError)
    }

    /// One piece of the file.
    package struct Part: Hashable, Sendable {
        package var url: String
        package var range: HLSPlaylist.ByteRange?
        /// It comes from the playlist's own host and port; any other place gets no token.
        package var sendsToken: Bool
        package var isInitialization: Bool
        /// Of a segment: its media sequence number.
        package var number: Int
    }

    package enum PartFailure: Hashable, Sendable {
        case status(CoreError)
        /// No answer, or not all of it.
        case interrupted(CoreError)
    }

    /// Parts written so far.
    package private(set) var done = 0
    /// Parts known so far.
    package var total: Int { done + pending.count }
    /// Answers of "not yet" so far.
    package private(set) var waits = 0
    /// The file has more than one initialization section: not every player takes that.
    package private(set) var changedInitialization = false

    private let playlistURL: URLReference?
    /// Where the token may go.
    private let tokenOrigin: URLReference.Origin?
    /// When waiting ends; nil for no limit.
    private let deadline: Int64?

    /// Parts still to fetch, next one last.
    private var pending: [Part] = []
    /// The first segment that is not in the file.
    private var nextNumber: Int?
    /// The initialization section written last, without its query: a signature may change, the place does not.
    private var initialization: Identity?
    private var isComplete = false
    private var targetDurationMilliseconds: Int64 = 0
    private var refreshes = 0
    private var interruptions = 0
    private var fruitlessReloads = 0
    private var sessionGoneAt: Int64?

    private struct Identity: Hashable, Sendable {
        var place: URLReference
        var range: HLSPlaylist.ByteRange?
    }

    /// - Parameters:
    ///   - playlistURL: absolute.
    ///   - waitMilliseconds: how long the clip may take to become ready; nil for no limit.
    package init(playlistURL: String, waitMilliseconds: Int64?, nowMilliseconds: Int64) {
        let url = URLReference(playlistURL).flatMap { $0.isFetchable ? $0 : nil }
        self.playlistURL = url
        tokenOrigin = url?.origin
        deadline = waitMilliseconds.map { wait in
            let (sum, overflow) = nowMilliseconds.addingReportingOverflow(max(0, wait))
            return overflow ? .max : sum
        }
    }

    /// How long to wait for readiness in all: the timeout counts from the moment the platform predicted.
    package static func waitMilliseconds(
        predictedReadyAtMilliseconds: Double?, wallClockMilliseconds: Double, readyTimeoutMilliseconds: Int64?
    ) -> Int64? {
        guard let timeout = readyTimeoutMilliseconds else { return nil }
        let ahead = (predictedReadyAtMilliseconds ?? wallClockMilliseconds) - wallClockMilliseconds
        guard ahead.isFinite, ahead > 0 else { return max(0, timeout) }
        let (sum, overflow) = max(0, timeout).addingReportingOverflow(Int64(min(ahead, 1e15)))
        return overflow ? .max : sum
    }

    // MARK: - What happened

    package func start() -> Action {
        guard playlistURL != nil else { return fail(.decodeFailed, "the clip's playlist URL is not an absolute http or https URL") }
        return .fetchPlaylist
    }

    package func waited() -> Action {
        // A part that was interrupted is still the next one.
        pending.last.map(Action.fetch) ?? .fetchPlaylist
    }

    /// 202: the clip is not ready.
    package mutating func playlistNotReady(retryAfter: String?, isSessionAlive: Bool, nowMilliseconds now: Int64) -> Action {
        waits += 1
        interruptions = 0
        if let failure = giveUp(isSessionAlive: isSessionAlive, now: now) { return failure }
        return wait(Self.pause(retryAfter), now: now)
    }

    /// - Parameter url: where it was found in the end, after redirects; parts are relative to it.
    package mutating func playlistArrived(
        _ text: String, url: String, isSessionAlive: Bool, nowMilliseconds now: Int64
    ) -> Action {
        interruptions = 0
        let playlist: HLSPlaylist
        do throws(HLSPlaylist.Failure) {
            playlist = try HLSPlaylist(parsing: text)
        } catch {
            return fail(.decodeFailed, "the clip's playlist cannot be used: \(error)")
        }
        guard let base = URLReference(url), base.isFetchable else { return fail(.decodeFailed, "the clip's playlist has no usable URL") }
        isComplete = playlist.isComplete
        targetDurationMilliseconds = Int64(min(playlist.targetDurationSeconds, 60) * 1000)
        let fresh = playlist.segments.drop { segment in nextNumber.map { segment.number < $0 } ?? false }
        if let nextNumber, let first = playlist.segments.first, first.number > nextNumber {
            return fail(.decodeFailed, "the clip's playlist has moved on: segments are missing from the file")
        }
        do throws(CoreError) {
            pending = try parts(of: fresh, base: base)
        } catch {
            return .fail(error)
        }
        if !pending.isEmpty {
            fruitlessReloads = 0
            return next(now: now)
        }
        guard !isComplete else { return .finish }
        fruitlessReloads += 1
        if fruitlessReloads > Self.maxFruitlessReloads {
            return fail(.requestTimeout, "the clip's playlist is not complete and does not grow any more")
        }
        if let failure = giveUp(isSessionAlive: isSessionAlive, now: now) { return failure }
        // RFC 8216 §6.3.4: half of the target duration when nothing was new.
        return wait(max(500, targetDurationMilliseconds / 2), now: now)
    }

    /// The playlist answered with another status, or not at all.
    package mutating func playlistFailed(_ failure: PartFailure, nowMilliseconds now: Int64) -> Action { retry(failure, now: now) }

    /// The part asked for last is in the file.
    package mutating func partWritten(nowMilliseconds now: Int64) -> Action {
        guard let part = pending.popLast() else { return .finish }
        done += 1
        interruptions = 0
        if part.isInitialization {
            let identity = Self.identity(of: part)
            if let initialization, initialization != identity { changedInitialization = true }
            initialization = identity
        } else {
            nextNumber = part.number + 1
        }
        return next(now: now)
    }

    /// The part asked for last is not in the file, and nothing of it.
    package mutating func partFailed(_ failure: PartFailure, nowMilliseconds now: Int64) -> Action {
        if case .status(let error) = failure, error.status == 401 || error.status == 403 {
            // A signed URL that ran out: a new playlist has new ones.
            refreshes += 1
            guard refreshes <= Self.maxRefreshes else { return .fail(error) }
            nextNumber = pending.last { !$0.isInitialization }?.number ?? nextNumber
            pending = []
            return .fetchPlaylist
        }
        return retry(failure, now: now)
    }

    // MARK: - Steps

    private func next(now: Int64) -> Action {
        if let part = pending.last { return .fetch(part) }
        if isComplete { return .finish }
        return wait(max(500, targetDurationMilliseconds), now: now)
    }

    /// A connection that broke, or a server that asks to come back: a few more tries.
    private mutating func retry(_ failure: PartFailure, now: Int64) -> Action {
        switch failure {
        case .status(let error) where error.status == 429 || error.status == 502 || error.status == 503 || error.status == 504:
            interruptions += 1
            guard interruptions <= Self.maxInterruptions else { return .fail(error) }
            return .wait(milliseconds: Self.pause(error.retryAfterMilliseconds))
        case .interrupted(let error) where error.recoverable:
            interruptions += 1
            guard interruptions <= Self.maxInterruptions else { return .fail(error) }
            return .wait(milliseconds: 500)
        case .status(let error), .interrupted(let error): return .fail(error)
        }
    }

    private mutating func giveUp(isSessionAlive: Bool, now: Int64) -> Action? {
        if let deadline, now >= deadline {
            return fail(.requestTimeout, "timed out: the clip was not ready in time")
        }
        guard !isSessionAlive else {
            sessionGoneAt = nil
            return nil
        }
        // Ending a session closes its recording, so the clip may become ready yet, once and soon.
        let goneAt = sessionGoneAt ?? now
        sessionGoneAt = goneAt
        guard now - goneAt >= Self.graceMilliseconds else { return nil }
        return fail(.sessionTerminal, "the session ended before the clip was ready")
    }

    private func wait(_ milliseconds: Int64, now: Int64) -> Action {
        guard let deadline else { return .wait(milliseconds: milliseconds) }
        return .wait(milliseconds: min(milliseconds, max(0, deadline - now)))
    }

    private func fail(_ code: ErrorCode, _ message: String) -> Action {
        .fail(CoreError(code, message, operation: .downloadClip))
    }

    /// In reverse: the next one last.
    private func parts(of segments: ArraySlice<HLSPlaylist.Segment>, base: URLReference) throws(CoreError) -> [Part] {
        var parts: [Part] = []
        parts.reserveCapacity(segments.count + 1)
        var current = initialization
        for segment in segments {
            if let map = segment.initialization {
                let part = try part(map, base: base, number: segment.number, isInitialization: true)
                let identity = Self.identity(of: part)
                if identity != current { parts.append(part) }
                current = identity
            }
            parts.append(try part(segment.resource, base: base, number: segment.number, isInitialization: false))
        }
        return parts.reversed()
    }

    private func part(
        _ resource: HLSPlaylist.Resource, base: URLReference, number: Int, isInitialization: Bool
    ) throws(CoreError) -> Part {
        guard let url = URLReference(resource.uri).map(base.resolving), let origin = url.origin else {
            throw CoreError(.decodeFailed, "the clip's playlist names a part that is no http or https URL", operation: .downloadClip)
        }
        return Part(
            url: url.text, range: resource.range, sendsToken: origin == tokenOrigin, isInitialization: isInitialization, number: number)
    }

    private static func identity(of part: Part) -> Identity? {
        URLReference(part.url).map { Identity(place: $0.withoutQuery, range: part.range) }
    }

    /// Wire-protocol 2.9: `clamp(Retry-After, 0.2 s, 2 s)`, 2 s without a value.
    package static func pause(_ retryAfter: String?) -> Int64 { pause(retryAfter.flatMap(RetryAfter.milliseconds)) }

    private static func pause(_ milliseconds: Double?) -> Int64 { Int64(min(max(milliseconds ?? 2000, 200), 2000)) }

    private static let maxRefreshes = 3
    private static let maxInterruptions = 3
    private static let maxFruitlessReloads = 20
    private static let graceMilliseconds: Int64 = 5000
}
