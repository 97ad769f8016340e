import Synchronization

/// Fans events out to any number of `AsyncStream`s, one per subscriber, each with its own bound.
///
/// A subscriber whose buffer is full loses its oldest events, counted here. Events are sent from one thread, so
/// all subscribers see one order. A cancelled or released stream unregisters itself.
package final class Broadcaster<Element: Sendable>: Sendable {
    private struct State {
        var subscribers: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var nextID: UInt64 = 0
        var isFinished = false
    }

    private let state = Mutex(State())
    private let dropped = Atomic<UInt64>(0)

    package init() {}

    package var droppedCount: UInt64 { dropped.load(ordering: .relaxed) }
    package var subscriberCount: Int { state.withLock { $0.subscribers.count } }

    package func makeStream(bufferingNewest limit: Int) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream<Element>.makeStream(bufferingPolicy: .bufferingNewest(limit))
        let id: UInt64? = state.withLock { state in
            if state.isFinished { return nil }
            state.nextID &+= 1
            state.subscribers[state.nextID] = continuation
            return state.nextID
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.subscribers.removeValue(forKey: id) }
        }
        return stream
    }

    package func send(_ element: Element) {
        let subscribers = state.withLock { Array($0.subscribers.values) }
        for subscriber in subscribers {
            if case .dropped = subscriber.yield(element) { dropped.add(1, ordering: .relaxed) }
        }
    }

    package func finish() {
        let subscribers = state.withLock { state in
            state.isFinished = true
            defer { state.subscribers.removeAll() }
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers { subscriber.finish() }
    }
}
