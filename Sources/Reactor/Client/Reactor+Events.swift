internal import RTCBase

extension Reactor {
    /// Calls `handler` on each change of status, in order, on the event queue; not for the present status.
    ///
    /// - Returns: a token; releasing it stops the handler, so keep it.
    public nonisolated func onStatus(_ handler: @escaping @Sendable (ReactorStatus) -> Void) -> Subscription {
        state.hub.onStatus(handler)
    }

    /// Calls `handler` for each message of the model, on the event queue: an object with `type` and `data`.
    ///
    /// - Returns: a token; releasing it stops the handler, so keep it.
    public nonisolated func onMessage(_ handler: @escaping @Sendable (JSONValue) -> Void) -> Subscription {
        state.hub.onMessage(handler)
    }

    /// Calls `handler` for each message of the platform, on the event queue: clip readiness, moderation, the session's end.
    ///
    /// - Returns: a token; releasing it stops the handler, so keep it.
    public nonisolated func onRuntimeMessage(_ handler: @escaping @Sendable (JSONValue) -> Void) -> Subscription {
        state.hub.onRuntimeMessage(handler)
    }

    /// Calls `handler` for failures that no call was waiting for, and for failed connects and reconnects, on the event queue.
    ///
    /// - Returns: a token; releasing it stops the handler, so keep it.
    public nonisolated func onError(_ handler: @escaping @Sendable (ReactorError) -> Void) -> Subscription {
        state.hub.onError(handler)
    }

    /// Changes of status from now on, as a sequence. Each access is a stream of its own that keeps the newest 64 and ends
    /// when the client is closed or released.
    public nonisolated var statusUpdates: AsyncStream<ReactorStatus> { state.hub.statusUpdates.makeStream(bufferingNewest: 64) }

    /// Failures from now on, as a sequence. Each access is a stream of its own that keeps the newest 64 and ends when the
    /// client is closed or released.
    public nonisolated var errors: AsyncStream<ReactorError> { state.hub.errors.makeStream(bufferingNewest: 64) }

    /// Messages of the model from now on, as a sequence; what a command replies is among them. Each access is a stream of its own that keeps the newest 256 and
    /// ends when the client is closed or released.
    public nonisolated var messages: AsyncStream<JSONValue> { state.hub.messages.makeStream(bufferingNewest: 256) }

    /// Messages of the platform from now on, as a sequence. Each access is a stream of its own that keeps the newest 64 and
    /// ends when the client is closed or released.
    public nonisolated var runtimeMessages: AsyncStream<JSONValue> { state.hub.runtimeMessages.makeStream(bufferingNewest: 64) }

    /// The same as typed values: a clip that is ready or failed, a moderation notice, and anything else as it came. Each access
    /// is a stream of its own that keeps the newest 64 and ends when the client is closed or released.
    public nonisolated var runtimeEvents: AsyncStream<RuntimeEvent> { state.hub.runtimeEvents.makeStream(bufferingNewest: 64) }
}

extension Reactor {
    /// Calls `handler` for each track that a new connection has negotiated, on the event queue; after a reconnect again.
    ///
    /// - Returns: a token; releasing it stops the handler, so keep it.
    public nonisolated func onTrack(_ handler: @escaping @Sendable (Track) -> Void) -> Subscription { state.hub.onTrack(handler) }

    /// The declared tracks each time they change, from now on: when a session declares them, and an empty list when it is over.
    /// Each access is a stream of its own that keeps the newest 64 and ends when the client is closed or released.
    public nonisolated var trackUpdates: AsyncStream<TrackList> { state.hub.trackUpdates.makeStream(bufferingNewest: 64) }

    /// Everything that happens on this client from now on, in one order.
    ///
    /// ```swift
    /// for await event in reactor.events {
    ///     switch event {
    ///     case .status(let status): show(status)
    ///     case .error(let error): report(error)
    ///     default: break
    ///     }
    /// }
    /// ```
    ///
    /// Each access is a stream of its own that keeps the newest 256 and ends when the client is closed or released.
    public nonisolated var events: AsyncStream<ReactorEvent> { state.hub.events.makeStream(bufferingNewest: 256) }

    /// Whether ``close()`` was called. A closed client stays closed.
    public nonisolated var isClosed: Bool { state.isClosed }

    /// The model this client was made for, as given.
    public nonisolated var model: String { engine.model }

    /// The newest failure that ``errors`` gave; nil before the first. A later success does not clear it.
    public nonisolated var lastError: ReactorError? { state.hub.lastError }
}
