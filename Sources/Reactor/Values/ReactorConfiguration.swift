public import Dispatch

/// Settings of a client, fixed when it is made.
public struct ReactorConfiguration: Sendable {
    /// Base of every request, `http` or `https`; a trailing slash is ignored. Default: ``Reactor/defaultAPIURL``.
    public var apiURL: String
    /// Speaks the local-development protocol and accepts self-signed certificates. With `apiURL` left at its default,
    /// requests go to ``Reactor/localAPIURL``.
    public var local: Bool
    /// Where event handlers run; nil means a serial queue of the client's own.
    public var eventQueue: DispatchQueue?
    /// Whether received tracks start to flow without a call to `resume()`. Default: true.
    public var autoResumeTracks: Bool
    /// Whether and how the client reconnects by itself after a loss. Default: ``ReconnectPolicy/never``.
    public var reconnectPolicy: ReconnectPolicy
    /// Limit for all of `connect()` or `reconnect()`, on top of the limits of the single steps; nil sets none.
    public var connectTimeout: Duration?
    /// Limit for the answer to one command or control request; nil means 10 s.
    public var commandTimeout: Duration?
    /// Which network paths may be used. Default: all.
    public var iceTransport: ICETransport
    /// Receives log records; nil logs nothing.
    public var logger: ReactorLogger?
    /// Receives measurements; nil measures nothing for it.
    public var metrics: (any ReactorMetrics)?

    /// The defaults named at each property.
    public init() {
        apiURL = Reactor.defaultAPIURL
        local = false
        eventQueue = nil
        autoResumeTracks = true
        reconnectPolicy = .never
        connectTimeout = nil
        commandTimeout = nil
        iceTransport = .all
        logger = nil
        metrics = nil
    }

    /// Which network paths a connection may use.
    public enum ICETransport: String, Sendable, CaseIterable {
        /// Direct paths first, relays where nothing else works.
        case all
        /// TURN relays only; connecting fails at once when the session offers none.
        case relay
    }
}
