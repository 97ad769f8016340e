private import Synchronization

/// The faults that a runtime still has to commit, in the order they were asked for: of those for one route the first is
/// used up before the next begins. Any thread.
final class FaultPlan: Sendable {
    private struct State {
        var faults: [LocalFault] = []
        var committed: [LocalFault.Route: Int] = [:]
    }

    private let state = Mutex(State())

    func add(_ fault: LocalFault) {
        guard fault.times.map({ $0 > 0 }) ?? true else { return }
        state.withLock { state in
            // What stands behind an endless one would never come up.
            if fault.times == nil { state.faults.removeAll { $0.route == fault.route && $0.times == nil } }
            if state.faults.count < Self.capacity { state.faults.append(fault) }
        }
    }

    func removeAll() { state.withLock { $0.faults = [] } }

    /// How many requests to a route have met a fault.
    func committed(at route: LocalFault.Route) -> Int { state.withLock { $0.committed[route] ?? 0 } }

    /// What goes wrong with the next request to a route; nil for nothing.
    func next(at route: LocalFault.Route) -> LocalFault.Action? {
        state.withLock { state in
            guard let index = state.faults.firstIndex(where: { $0.route == route }) else { return nil }
            let action = state.faults[index].action
            state.committed[route, default: 0] += 1
            if let times = state.faults[index].times {
                state.faults[index].times = times - 1
                if times <= 1 { state.faults.remove(at: index) }
            }
            return action
        }
    }

    private static let capacity = 1024
}
