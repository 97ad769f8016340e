import Synchronization

/// One suite at a time for those that measure time on the network thread or count what the process holds open: the suites of
/// all test targets share one process, one network thread and few processors.
///
/// A test target makes a trait of it (`NetworkTurnTrait`), because only test targets import Testing.
package enum NetworkTurn {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private static let state = Mutex(State())

    package static func run<Failure: Error>(_ body: () async throws(Failure) -> Void) async throws(Failure) {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.isTaken else {
                    state.isTaken = true
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
        defer { pass() }
        try await body()
    }

    private static func pass() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.isTaken = false
            return nil
        }
        next?.resume()
    }
}
