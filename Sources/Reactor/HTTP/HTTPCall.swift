import Synchronization

/// A request and the task that waits for it. Whoever finishes first (the HTTP thread or a cancellation) resumes the task.
final class HTTPCall: Sendable {
    /// Nil when the task was cancelled.
    typealias Outcome = Result<HTTPResponse, HTTPError>?

    let request: HTTPRequest
    private let state = Mutex(State.new)

    private enum State {
        case new
        case waiting(CheckedContinuation<Outcome, Never>)
        case finished
    }

    init(_ request: HTTPRequest) { self.request = request }

    var isWaiting: Bool { state.withLock { if case .waiting = $0 { true } else { false } } }

    /// False when the task was cancelled before it began to wait; the continuation is then already resumed.
    func wait(_ continuation: CheckedContinuation<Outcome, Never>) -> Bool {
        let begins = state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
        if !begins { continuation.resume(returning: nil) }
        return begins
    }

    /// Resumes the waiting task; false when it was resumed before, or never waits any more.
    @discardableResult
    func finish(_ outcome: Outcome) -> Bool {
        let continuation: CheckedContinuation<Outcome, Never>? = state.withLock { state in
            defer { state = .finished }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        continuation?.resume(returning: outcome)
        return continuation != nil
    }
}
