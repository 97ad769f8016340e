internal import Synchronization

/// A value that comes once, and any number of tasks that wait for it. A waiting task that is cancelled leaves, and the rest
/// goes on waiting.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiters: [UInt64: CheckedContinuation<Value, any Error>] = [:]
        var lastID: UInt64 = 0
    }

    private let state = Mutex(State())

    func fulfill(_ result: Result<Value, any Error>) {
        let waiters = state.withLock { state in
            state.result = result
            defer { state.waiters.removeAll() }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    /// - Throws: what the promise was broken with; `CancellationError` when this task is cancelled.
    var value: Value {
        get async throws {
            let id = state.withLock { state in
                state.lastID += 1
                return state.lastID
            }
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let result = state.withLock { state -> Result<Value, any Error>? in
                        if let result = state.result { return result }
                        if Task.isCancelled { return .failure(CancellationError()) }
                        state.waiters[id] = continuation
                        return nil
                    }
                    if let result { continuation.resume(with: result) }
                }
            } onCancel: {
                state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
            }
        }
    }
}
