/// Whether and how a client reconnects by itself after its connection was lost. Off unless asked for.
///
/// It follows a loss from `.ready` only: a failed ``Reactor/connect(sessionID:connectionID:)`` is the caller's to repeat, and a
/// session that the platform has ended is over. The loss and every failed attempt are error events as well, and the status changes
/// as with ``Reactor/reconnect()``. Calling connect, disconnect or close meanwhile ends the attempts; ``Reactor/reconnect()``
/// takes their place, or joins the one in progress.
public struct ReconnectPolicy: Sendable, Hashable {
    /// Attempts after one loss; 0 or less makes none.
    public var maxAttempts: Int
    /// Wait before the first attempt. It doubles from one attempt to the next, and a random part of up to a quarter is taken off,
    /// so that many clients do not return at one time.
    public var initialDelay: Duration
    /// The longest wait between two attempts.
    public var maxDelay: Duration
    /// Whether tracks that were published at the loss are published again. One that cannot be is an error event.
    public var republishesTracks: Bool

    /// Negative delays count as zero.
    public init(
        maxAttempts: Int = 5, initialDelay: Duration = .milliseconds(250), maxDelay: Duration = .seconds(8),
        republishesTracks: Bool = false
    ) {
        self.maxAttempts = maxAttempts
        self.initialDelay = initialDelay
        self.maxDelay = maxDelay
        self.republishesTracks = republishesTracks
    }

    /// No attempts: the app decides.
    public static let never = ReconnectPolicy(maxAttempts: 0)
}
