internal import RTCPeer
private import Synchronization

/// What became of the datagrams between a ``LocalRuntime`` and its clients, over all connections so far.
public struct NetworkStatistics: Sendable, Hashable {
    /// Datagrams of one direction. What is still on its way is in none of the counts.
    public struct Direction: Sendable, Hashable {
        /// Arrived, second copies included.
        public var passed = 0
        /// Lost by chance (``NetworkConditions/loss``).
        public var lost = 0
        /// Found no room in the queue (``NetworkConditions/queueBytes``), or more than 8192 datagrams already on the way.
        public var overflowed = 0
        /// Fell into an outage (``NetworkConditions/outages``).
        public var cutOff = 0
        /// Swallowed by a connection that was told to go silent.
        public var silenced = 0

        /// Nothing counted yet.
        public init() {}
    }

    /// From the runtime to its clients.
    public var toClients = Direction()
    /// From the clients to the runtime.
    public var fromClients = Direction()

    /// Nothing counted yet.
    public init() {}
}

/// The counts of all paths of a runtime, from any thread.
final class NetworkTally: Sendable {
    enum Outcome: Sendable {
        case passed, lost, overflowed, cutOff, silenced
    }

    private let state = Mutex(NetworkStatistics())

    var statistics: NetworkStatistics { state.withLock { $0 } }

    func count(_ outcome: Outcome, _ direction: DatagramDirection, by amount: Int = 1) {
        state.withLock { statistics in
            switch direction {
            case .outgoing: statistics.toClients.count(outcome, by: amount)
            case .incoming: statistics.fromClients.count(outcome, by: amount)
            }
        }
    }
}

extension NetworkStatistics.Direction {
    fileprivate mutating func count(_ outcome: NetworkTally.Outcome, by amount: Int) {
        switch outcome {
        case .passed: passed += amount
        case .lost: lost += amount
        case .overflowed: overflowed += amount
        case .cutOff: cutOff += amount
        case .silenced: silenced += amount
        }
    }
}
