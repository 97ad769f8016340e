private import Synchronization

/// The network of one runtime: conditions that hold for all its connections, those there are and those to come. Any thread.
final class NetworkShaper: Sendable {
    private struct WeakPath {
        weak var path: NetworkPath?
    }

    private struct State {
        var conditions: NetworkConditions
        var paths: [WeakPath] = []
        var count: UInt64 = 0
    }

    private let state: Mutex<State>
    private let tally = NetworkTally()

    init(_ conditions: NetworkConditions) { state = Mutex(State(conditions: conditions)) }

    var conditions: NetworkConditions { state.withLock { $0.conditions } }

    var statistics: NetworkStatistics { tally.statistics }

    /// What is on its way keeps its time, unless the rate, its queue or the seed changes: then it starts its way anew.
    func set(_ conditions: NetworkConditions) {
        state.withLock { state in
            state.conditions = conditions
            for entry in state.paths { entry.path?.set(conditions) }
        }
    }

    /// The path of one connection, for `PeerConfiguration.impairment`; it lives as long as that connection.
    func makePath() -> NetworkPath {
        state.withLock { state in
            let path = NetworkPath(state.conditions, number: state.count, tally: tally)
            state.count &+= 1
            state.paths.removeAll { $0.path == nil }
            state.paths.append(WeakPath(path: path))
            return path
        }
    }
}
