/// Something that happened to the session of a ``LocalRuntime``: a transition as `GET /events` tells it.
public struct LocalRuntimeEvent: Sendable, Hashable {
    /// `start_session`, `connection_opened`, `connection_closed`, `timeout`, `stop_session`, `cleanup_complete` and others.
    public let name: String
    /// The state before: `created`, `ready`, `waiting`, `streaming`, `orphaned`, `closing` or `terminated`.
    public let from: String
    /// The state after.
    public let to: String
    /// Such as `conn_id` and `reason`.
    public let detail: [String: String]

    /// Makes an event from its parts.
    public init(name: String, from: String, to: String, detail: [String: String] = [:]) {
        self.name = name
        self.from = from
        self.to = to
        self.detail = detail
    }

    init(_ transition: RuntimeSessionMachine.Transition) {
        self.init(name: transition.event, from: transition.from.rawValue, to: transition.to.rawValue, detail: transition.detail)
    }
}
