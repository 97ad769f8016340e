/// Where a client stands with its session.
///
/// Raw values are the spelling used on the wire and by the other SDKs.
@frozen public enum ReactorStatus: String, Sendable, CaseIterable, Codable {
    /// No session is in use: before `connect()`, after `disconnect()`, `close()` or a lost connection.
    case disconnected
    /// `connect()` or `reconnect()` is under way and no session is known yet.
    case connecting
    /// A session exists; its transport is not open yet.
    case waiting
    /// Media and both data channels are open: commands, tracks and uploads work.
    case ready
}
