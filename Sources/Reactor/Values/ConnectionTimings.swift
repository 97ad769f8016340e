/// How long the steps of the last `connect()` or `reconnect()` took.
///
/// `total` and `firstVideoFrame` count from the start of the call, the others are the length of their own step. A step that
/// did not happen (yet) is nil.
public struct ConnectionTimings: Sendable, Hashable {
    /// Getting a token from the API key or the token provider.
    public let tokenExchange: Duration?
    /// The request that created the session.
    public let sessionCreation: Duration?
    /// From the session's creation until the server had accepted it.
    public let sessionReady: Duration?
    /// From the start of the connection until ICE had a working pair.
    public let iceConnected: Duration?
    /// The DTLS handshake.
    public let dtlsConnected: Duration?
    /// From the DTLS handshake's end until both data channels were open.
    public let dataChannelsOpen: Duration?
    /// From the start of the call until the first decoded picture.
    public let firstVideoFrame: Duration?
    /// From the start of the call until `.ready`.
    public let total: Duration?
}
