internal import Reactor

extension FaultPlan {
    /// Stands between requests and their routes (`RuntimeHTTP.Interceptor`).
    func intercept(_ request: HTTPServerRequest, _ next: RuntimeHTTP.Handler) async -> HTTPServerResponse {
        guard request.method != "OPTIONS", let route = Route(request.target.path).map({ LocalFault.Route($0, method: request.method) }),
            let action = self.next(at: route)
        else { return await next(request) }
        switch action {
        case .refuse(let status, let detail, let retryAfterSeconds):
            // The library answers what is no status by closing; 1xx would not be the end of an answer.
            return .error(RouteFailure(min(max(200, status), 999), detail, retryAfterSeconds: retryAfterSeconds))
        case .delay(let duration):
            try? await Task.sleep(for: min(max(.zero, duration), Self.longestSilence))
            return await next(request)
        case .silence:
            try? await Task.sleep(for: Self.longestSilence)
            return Self.dropped
        case .hangUp: return Self.dropped
        case .loseAnswer:
            _ = await next(request)
            return Self.dropped
        case .truncate: return await next(request).withBytes { Array($0.prefix($0.count / 2)) }
        case .garble: return await next(request).withBytes { $0.indices.map { UInt8(0x21 + $0 * 37 % 94) } }
        }
    }

    private static var dropped: HTTPServerResponse { HTTPServerResponse(200, body: .dropped) }
    /// A request that nobody answers holds its connection no longer than this.
    private static var longestSilence: Duration { .seconds(600) }
}

extension LocalFault.Route {
    fileprivate init(_ route: Route, method: String) {
        switch route {
        case .startSession: self = .startSession
        case .session: self = .session
        case .stopSession: self = .stopSession
        case .schema: self = .schema
        case .iceServers: self = .iceServers
        case .connections: self = .registration
        case .sdpParams: self = method == "GET" || method == "HEAD" ? .answer : .offer
        case .iceCandidates: self = .candidates
        case .uploads: self = .upload
        case .upload: self = .uploadBytes
        case .clips: self = .playlist
        case .segment: self = .segment
        case .steps, .health, .metrics, .events: self = .observation
        }
    }
}

extension HTTPServerResponse {
    /// A streamed body stays as it is.
    fileprivate func withBytes(_ change: ([UInt8]) -> [UInt8]) -> HTTPServerResponse {
        guard case .bytes(let bytes) = body else { return self }
        var response = self
        response.body = .bytes(change(bytes))
        return response
    }
}
