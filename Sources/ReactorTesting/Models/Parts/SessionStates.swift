internal import Synchronization

/// A value that a model's command handlers and its run loop share.
final class Mutexed<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func withLock<R: Sendable>(_ body: (inout Value) throws -> R) rethrows -> R { try value.withLock { try body(&$0) } }
}

/// What a model keeps of the newest session; a runtime has one at a time. Another session begins with a state of its own.
struct SessionStates<State: Sendable>: Sendable {
    private weak var session: LocalSession?
    private var state: Mutexed<State>?

    init() {}

    mutating func state(in session: LocalSession, begin: () -> State) -> Mutexed<State> {
        if self.session === session, let state { return state }
        let fresh = Mutexed(begin())
        self.session = session
        state = fresh
        return fresh
    }
}
