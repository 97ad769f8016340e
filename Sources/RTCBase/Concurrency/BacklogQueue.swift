import Synchronization

/// A hand-off that keeps its backlog: elements queue up to a limit, then the oldest goes and is counted. Memory is taken as the
/// backlog grows, up to the limit, and kept.
///
/// Used where each element counts (audio blocks) and where a consumer asked for a longer queue than the newest
/// frame. Any number of producers, one consumer; a second consumer displaces the first, whose `next()` returns nil.
package final class BacklogQueue<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element?]
        var head = 0
        var count = 0
        var waiter: UnsafeContinuation<Bool, Never>?
        var isFinished = false
        var dropped: UInt64 = 0
        let capacity: Int

        init(capacity: Int) {
            self.capacity = max(1, capacity)
            elements = Array(repeating: nil, count: min(self.capacity, BacklogQueue.firstCount))
        }

        /// The oldest goes when the limit is reached; true then.
        mutating func append(_ element: Element) -> Bool {
            let isFull = count == capacity
            if isFull { _ = pop() }
            if count == elements.count { grow() }
            elements[(head + count) % elements.count] = element
            count += 1
            return isFull
        }

        private mutating func grow() {
            let ordered = elements[head...] + elements[..<head]
            let new = min(capacity, elements.count * 2)
            elements = ordered + Array(repeating: nil, count: new - elements.count)
            head = 0
        }

        mutating func pop() -> Element? {
            guard count > 0 else { return nil }
            let element = elements[head].take()
            head = (head + 1) % elements.count
            count -= 1
            return element
        }
    }

    private let state: Mutex<State>

    package init(capacity: Int) {
        state = Mutex(State(capacity: capacity))
    }

    package var droppedCount: UInt64 { state.withLock { $0.dropped } }
    package var count: Int { state.withLock { $0.count } }

    /// Appends an element; when full the oldest is dropped. False when the queue is finished.
    @discardableResult
    package func put(_ element: Element) -> Bool {
        let (accepted, waiter) = state.withLock { state -> (Bool, UnsafeContinuation<Bool, Never>?) in
            if state.isFinished { return (false, nil) }
            if state.append(element) { state.dropped &+= 1 }
            return (true, state.waiter.take())
        }
        waiter?.resume(returning: true)
        return accepted
    }

    /// Waits for the oldest element. Nil when finished and empty, cancelled, or displaced.
    package func next(isolation: isolated (any Actor)? = #isolation) async -> Element? {
        while true {
            // A cancelled consumer gets nothing of the backlog: it would otherwise go on for as long as that lasts.
            if Task.isCancelled { return nil }
            let (element, finished) = state.withLock { ($0.pop(), $0.isFinished) }
            if let element { return element }
            if finished { return nil }
            let again = await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    let (displaced, resumeNow) = state.withLock { state -> (UnsafeContinuation<Bool, Never>?, Bool) in
                        if state.count > 0 || state.isFinished || Task.isCancelled { return (nil, true) }
                        let old = state.waiter
                        state.waiter = continuation
                        return (old, false)
                    }
                    displaced?.resume(returning: false)
                    if resumeNow { continuation.resume(returning: true) }
                }
            } onCancel: {
                wake()
            }
            if !again { return nil }
        }
    }

    /// What a queue begins with: 2 s of sound.
    private static var firstCount: Int { 200 }

    package func finish() {
        state.withLock { $0.isFinished = true }
        wake()
    }

    private func wake() {
        let waiter = state.withLock { $0.waiter.take() }
        waiter?.resume(returning: true)
    }
}
