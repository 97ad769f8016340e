import Synchronization

/// Keeps one registered handler alive; releasing it stops the handler.
///
/// ```swift
/// let subscription = reactor.onStatus { print($0) }   // runs until `subscription` goes away
/// ```
///
/// It does not keep the client alive, and one that outlives its client is harmless.
public final class Subscription: Sendable {
    /// Shared with whoever calls the handler, so that an event already on its way checks once more before it calls.
    let state: State
    private let onCancel: Mutex<(@Sendable () -> Void)?>

    /// - Parameter onCancel: unregisters the handler; called at most once, on the thread that cancels.
    init(state: State = State(), onCancel: @escaping @Sendable () -> Void) {
        self.state = state
        self.onCancel = Mutex(onCancel)
    }

    deinit { cancel() }

    /// Stops the handler: no later event starts it, one that runs now finishes.
    ///
    /// May be called from any thread, any number of times, and from inside the handler. It never waits.
    public func cancel() {
        state.cancel()
        let unregister = onCancel.withLock { $0.take() }
        unregister?()
    }

    /// Whether `cancel()` was called.
    public var isCancelled: Bool { state.isCancelled }

    /// Adds this subscription to a collection that keeps it, and its handler, alive.
    public func store(in subscriptions: inout [Subscription]) { subscriptions.append(self) }

    /// The one bit the registration and the caller of the handler share.
    final class State: Sendable {
        private let cancelled = Atomic(false)
        var isCancelled: Bool { cancelled.load(ordering: .acquiring) }
        func cancel() { cancelled.store(true, ordering: .releasing) }
    }
}
