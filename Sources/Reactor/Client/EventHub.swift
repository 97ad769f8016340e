internal import Dispatch
internal import RTCBase
internal import Synchronization

/// Delivers control events: to the handlers on the event queue, and to the streams.
///
/// Events are posted from the network thread, so handlers and streams see one order. Handlers are always posted to the
/// queue, never called inline, and a handler whose subscription was cancelled, or whose client was closed, is not
/// started any more. The far end decides how many messages and errors there are, so those that wait behind a slow handler
/// are bounded; changes of status are few and never dropped.
final class EventHub: Sendable {
    private struct Handlers {
        var nextID: UInt64 = 0
        var status: [Registered<ReactorStatus>] = []
        var message: [Registered<JSONValue>] = []
        var runtimeMessage: [Registered<JSONValue>] = []
        var error: [Registered<ReactorError>] = []
        var track: [Registered<Track>] = []
    }

    private struct Registered<Value: Sendable>: Sendable {
        let id: UInt64
        let state: Subscription.State
        let handler: @Sendable (Value) -> Void
    }

    private let handlers = Mutex(Handlers())
    private let isClosed = Atomic(false)
    /// Events posted to the queue whose handlers have not run yet.
    private let waiting = Atomic<Int>(0)
    private let dropped = Atomic<UInt64>(0)
    let queue: DispatchQueue
    private let metrics: (any ReactorMetrics)?
    private let newestError = Mutex<ReactorError?>(nil)

    let statusUpdates = Broadcaster<ReactorStatus>()
    let messages = Broadcaster<JSONValue>()
    let runtimeMessages = Broadcaster<JSONValue>()
    let runtimeEvents = Broadcaster<RuntimeEvent>()
    let errors = Broadcaster<ReactorError>()
    let trackUpdates = Broadcaster<TrackList>()
    /// All of the above and more, in one order.
    let events = Broadcaster<ReactorEvent>()

    init(queue: DispatchQueue?, metrics: (any ReactorMetrics)? = nil) {
        self.metrics = metrics
        self.queue = queue ?? DispatchQueue(label: "reactor.events")
    }

    // MARK: Registration

    func onStatus(_ handler: @escaping @Sendable (ReactorStatus) -> Void) -> Subscription { add(\.status, handler) }
    func onMessage(_ handler: @escaping @Sendable (JSONValue) -> Void) -> Subscription { add(\.message, handler) }
    func onRuntimeMessage(_ handler: @escaping @Sendable (JSONValue) -> Void) -> Subscription { add(\.runtimeMessage, handler) }
    func onError(_ handler: @escaping @Sendable (ReactorError) -> Void) -> Subscription { add(\.error, handler) }
    func onTrack(_ handler: @escaping @Sendable (Track) -> Void) -> Subscription { add(\.track, handler) }

    private func add<Value>(
        _ list: any WritableKeyPath<Handlers, [Registered<Value>]> & Sendable, _ handler: @escaping @Sendable (Value) -> Void
    ) -> Subscription {
        let state = Subscription.State()
        let id = handlers.withLock { table in
            table.nextID += 1
            table[keyPath: list].append(Registered(id: table.nextID, state: state, handler: handler))
            return table.nextID
        }
        return Subscription(state: state) { [weak self] in
            // The handler may own the last reference to a client, whose end comes back here: released outside the lock.
            let removed = self?.handlers.withLock { table -> Registered<Value>? in
                guard let index = table[keyPath: list].firstIndex(where: { $0.id == id }) else { return nil }
                return table[keyPath: list].remove(at: index)
            }
            withExtendedLifetime(removed) {}
        }
    }

    // MARK: Posting (network thread)

    func post(status: ReactorStatus) {
        metrics?.changed(to: status, droppedEvents: droppedCount)
        statusUpdates.send(status)
        events.send(.status(status))
        post(status, to: \.status, isBounded: false)
    }

    func post(message: JSONValue) {
        messages.send(message)
        events.send(.message(message))
        post(message, to: \.message)
    }

    func post(runtimeMessage: JSONValue) {
        runtimeMessages.send(runtimeMessage)
        events.send(.runtimeMessage(runtimeMessage))
        if runtimeEvents.subscriberCount > 0 { runtimeEvents.send(RuntimeEvent(runtimeMessage)) }
        post(runtimeMessage, to: \.runtimeMessage)
    }

    func post(error: ReactorError) {
        metrics?.failed(error)
        newestError.withLock { $0 = error }
        errors.send(error)
        events.send(.error(error))
        post(error, to: \.error)
    }

    func post(sessionID: String?) { events.send(.sessionID(sessionID)) }

    func post(tracks: TrackList) {
        trackUpdates.send(tracks)
        events.send(.tracks(tracks))
    }

    func post(trackReceived track: Track) {
        events.send(.trackReceived(track))
        post(track, to: \.track)
    }

    var lastError: ReactorError? { newestError.withLock { $0 } }

    /// Messages and errors that no handler saw because too many waited already.
    var droppedCount: UInt64 { dropped.load(ordering: .relaxed) }

    private func post<Value: Sendable>(
        _ value: Value, to list: any KeyPath<Handlers, [Registered<Value>]> & Sendable, isBounded: Bool = true
    ) {
        let current = handlers.withLock { $0[keyPath: list] }
        guard !current.isEmpty else { return }
        if isBounded, waiting.load(ordering: .relaxed) >= Self.maxWaiting {
            dropped.add(1, ordering: .relaxed)
            return
        }
        waiting.add(1, ordering: .relaxed)
        queue.async { [self] in
            waiting.subtract(1, ordering: .relaxed)
            for registered in current where !registered.state.isCancelled && !isClosed.load(ordering: .acquiring) {
                registered.handler(value)
            }
        }
    }

    static let maxWaiting = 4096

    /// No handler starts from now on, and every stream ends.
    func close() {
        isClosed.store(true, ordering: .releasing)
        let old = handlers.withLock { table in
            defer { table = Handlers(nextID: table.nextID) }
            return table
        }
        // Handlers may own the last reference to anything: they are released outside the lock.
        withExtendedLifetime(old) {}
        statusUpdates.finish()
        messages.finish()
        runtimeMessages.finish()
        runtimeEvents.finish()
        errors.finish()
        trackUpdates.finish()
        events.finish()
    }
}
