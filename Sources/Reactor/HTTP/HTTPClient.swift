#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends HTTP requests and waits for whole answers.
///
/// A value without state: all clients share the process's HTTP thread and its kept-alive connections.
package struct HTTPClient: Sendable {
    package init() {}

    /// Sends the request and returns the answer, whatever its status.
    ///
    /// Nothing is sent twice, except over a kept-alive connection that was already dead and only when
    /// ``HTTPRequest/isRepeatable`` allows it.
    ///
    /// - Throws: ``HTTPError`` when no complete answer came within the limits; `CancellationError` at once when the task is
    ///   cancelled, after which the transfer ends and its connection closes.
    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard case .followed(let maxHops, let changesMethod) = request.redirects else { return try await exchange(request) }
        let deadline = ContinuousClock.now + request.totalTimeout
        var current = request
        for _ in 0...maxHops {
            let response = try await exchange(current)
            guard let next = try Self.redirected(current, by: response, changesMethod: changesMethod) else { return response }
            current = next
            current.totalTimeout = max(.milliseconds(1), ContinuousClock.now.duration(to: deadline))
        }
        throw HTTPError(.badRedirect, "more than \(maxHops) redirects")
    }

    /// Closes kept-alive connections now instead of after a few idle seconds; running transfers are not touched.
    package static func closeIdleConnections() { HTTPThread.shared.closeIdleConnections() }

    private func exchange(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let call = HTTPCall(request)
        let resume: @Sendable () -> Void = { [weak call] in if let call { HTTPThread.shared.resume(call) } }
        request.outgoing?.attach(resume)
        request.incoming?.attach(resume)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if call.wait(continuation) { HTTPThread.shared.start(call) }
            }
        } onCancel: {
            if call.finish(nil) { HTTPThread.shared.cancel(call) }
        }
        guard let outcome else { throw CancellationError() }
        var response = try outcome.get()
        response.url = request.url
        return response
    }

    /// The request a 3xx answer asks for (RFC 9110 §15.4), or nil when the answer is final.
    ///
    /// 303 always becomes GET, 301 and 302 do for POST (as every browser does), 307 and 308 repeat method and body.
    static func redirected(
        _ request: HTTPRequest, by response: HTTPResponse, changesMethod: Bool
    ) throws(HTTPError) -> HTTPRequest? {
        guard [301, 302, 303, 307, 308].contains(response.status) else { return nil }
        let isRead = request.method == .get || request.method == .head
        let becomesGet = !isRead && (response.status == 303 || (response.status <= 302 && request.method == .post))
        if becomesGet, !changesMethod { return nil }
        guard let location = response.header("Location"), let old = URL(string: request.url),
            let new = URL(string: location, relativeTo: old)?.absoluteURL, let scheme = new.scheme?.lowercased(),
            scheme == "http" || scheme == "https", new.host() != nil, new.user() == nil
        else { throw HTTPError(.badRedirect, "a redirect with status \(response.status) names no usable place") }
        if old.scheme?.lowercased() == "https", scheme == "http" {
            throw HTTPError(.badRedirect, "a redirect from https to http was refused")
        }
        var next = request
        next.url = new.absoluteString
        if becomesGet {
            next.method = .get
            next.body = nil
            next.isRepeatable = true
            next.headers.removeAll { $0.name.lowercased().hasPrefix("content-") }
        }
        if !sameOrigin(old, new) { next.headers.removeAll { $0.isCredential } }
        return next
    }

    private static func sameOrigin(_ one: URL, _ other: URL) -> Bool {
        one.scheme?.lowercased() == other.scheme?.lowercased() && one.host()?.lowercased() == other.host()?.lowercased()
            && port(of: one) == port(of: other)
    }

    private static func port(of url: URL) -> Int { url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) }
}
