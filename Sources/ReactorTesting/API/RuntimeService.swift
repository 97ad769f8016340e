// What the HTTP routes ask of the runtime (wire-protocol 3). The routes read and check requests and write answers; what a
// request means is decided behind this protocol.

internal import ReactorCore

/// A request that is answered with an error; `detail` becomes `{"detail": ...}`.
struct RouteFailure: Error, Hashable {
    var status: Int
    var detail: String
    var retryAfterSeconds: Int?

    init(_ status: Int, _ detail: String, retryAfterSeconds: Int? = nil) {
        self.status = status
        self.detail = detail
        self.retryAfterSeconds = retryAfterSeconds
    }
}

/// An offer that passed the checks of its shape.
struct OfferRequest: Sendable {
    var sdp: String
    /// In the order given; empty when the body has none.
    var trackMapping: [SDPOfferBody.TrackMapping]
}

protocol RuntimeService: Sendable {
    /// `POST /start_session`: the descriptor. `sessionID` becomes the id of the recording only.
    func startSession(sessionID: String?) async throws(RouteFailure) -> WireValue
    /// The same with everything the body says. By default refuses a starting input and calls ``startSession(sessionID:)``.
    func startSession(_ request: StartRequest) async throws(RouteFailure) -> WireValue
    /// `GET /session`, also without a session.
    func descriptor() async -> WireValue
    /// `POST /stop_session`; returns when the connections are closed.
    func stopSession(moderates: Bool, reason: String) async throws(RouteFailure)
    /// The OpenAPI document.
    func schema() async throws(RouteFailure) -> WireValue

    /// Throws unless a session lives (400 `No session running`) and has this id (404 `Unknown session`).
    func requireSession(_ id: String) async throws(RouteFailure)
    /// The body of `GET .../ice_servers`.
    func iceServers() async -> WireValue
    /// The body of `POST .../connections`.
    func registerConnection() async throws(RouteFailure) -> WireValue
    /// Begins to answer; the answer is polled.
    func offer(_ request: OfferRequest, connection: Int) async throws(RouteFailure)
    /// Nil while there is none yet. Readable as often as wanted; a negotiation that failed throws 4xx.
    func answer(connection: Int) async throws(RouteFailure) -> String?
    /// Candidates of the client, before its offer or after it.
    func addCandidates(_ candidates: [IceCandidatesBody.Candidate], isFinal: Bool, connection: Int) async throws(RouteFailure)

    /// What `GET /health` says.
    func health() async -> (isHealthy: Bool, state: String, detail: String?)
    /// Added to what `GET /metrics` says about the server itself; by default nothing.
    func metrics() async -> [MetricSample]
}
