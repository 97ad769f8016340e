/// One way in which the HTTP side of a ``LocalRuntime`` goes wrong on purpose, for tests of what a client makes of it.
///
/// ```swift
/// runtime.misbehave(at: .offer, .refuse(503, retryAfterSeconds: 1), times: 2)
/// runtime.misbehave(at: .answer, .delay(.seconds(2)))
/// ```
public struct LocalFault: Sendable, Hashable {
    /// What a client asks for.
    public enum Route: Sendable, Hashable, CaseIterable {
        /// `POST /start_session`, `GET /session`, `POST /stop_session`, `GET /schema`.
        case startSession, session, stopSession, schema
        /// `GET .../ice_servers`, `POST .../connections`.
        case iceServers, registration
        /// `POST` or `PUT .../sdp_params`, the polls for the answer, `POST .../ice_candidates`.
        case offer, answer, candidates
        /// `POST .../uploads`, and the `PUT` of the bytes.
        case upload, uploadBytes
        /// The playlist of a clip or a recording, and its segments.
        case playlist, segment
        /// `GET /health`, `GET /metrics`, `GET /events`.
        case observation
    }

    /// What happens to the request instead.
    public enum Action: Sendable, Hashable {
        /// Answered with this status and `{"detail": detail}`; the request has no effect.
        case refuse(_ status: Int, detail: String = "refused on purpose", retryAfterSeconds: Int? = nil)
        /// Carried out and answered, later than it could be.
        case delay(Duration)
        /// Taken and never answered; the connection stays open. The request has no effect.
        case silence
        /// The connection is closed in place of an answer; the request has no effect.
        case hangUp
        /// Carried out, and the answer thrown away: the connection is closed in its place.
        case loseAnswer
        /// Carried out; the first half of the answer's body comes as if it were all.
        case truncate
        /// Carried out; the answer's body has the right length and no meaning.
        case garble
    }

    /// Where it happens.
    public var route: Route
    /// What happens.
    public var action: Action
    /// For how many requests; `nil` for all from here on.
    public var times: Int?

    /// Makes a fault from its parts, as ``LocalRuntime/misbehave(at:_:times:)`` takes them.
    ///
    /// - Parameters:
    ///   - route: where it happens.
    ///   - action: what happens.
    ///   - times: for how many requests; `nil` for all from here on.
    public init(at route: Route, _ action: Action, times: Int? = 1) {
        self.route = route
        self.action = action
        self.times = times
    }
}
