internal import Synchronization

/// Decides between a request that is about to go out and its cancellation: what has passed is not to be taken back, because the
/// far end may act on it; what has not will not.
final class RequestGate: Sendable {
    private enum State {
        static let undecided: UInt8 = 0
        static let passed: UInt8 = 1
        static let closed: UInt8 = 2
    }

    private let state = Atomic<UInt8>(State.undecided)

    /// A request is about to go out; false when it may not.
    func pass() -> Bool { decide(State.passed) }

    /// Keeps requests from going out; false when one has passed already.
    func close() -> Bool { decide(State.closed) }

    private func decide(_ wanted: UInt8) -> Bool {
        let (exchanged, original) = state.compareExchange(expected: State.undecided, desired: wanted, ordering: .acquiringAndReleasing)
        return exchanged || original == wanted
    }
}
