/// Anything that happens on a client, as ``Reactor/events`` gives it.
public enum ReactorEvent: Sendable {
    /// The status changed.
    case status(ReactorStatus)
    /// There is a session, or none any more.
    case sessionID(String?)
    /// The session declared its tracks; an empty list when the session is over.
    case tracks(TrackList)
    /// A track was negotiated on a new connection: its media can arrive.
    case trackReceived(Track)
    /// A message of the model: an object with `type` and `data`.
    case message(JSONValue)
    /// A message of the platform: an object with `type` and `data`. ``RuntimeEvent`` reads it.
    case runtimeMessage(JSONValue)
    /// A failure that no call was waiting for, or of a connect or reconnect.
    case error(ReactorError)
}
