/// What the app sees of a session. Raw values are the public spelling.
package enum SessionStatus: String, Hashable, Sendable, CaseIterable {
    case disconnected
    case connecting
    case waiting
    case ready
}

/// Names one caller that waits for a lifecycle operation; made by the shell, unique per call.
package struct CallID: Hashable, Sendable {
    package var number: UInt64
    package init(_ number: UInt64) { self.number = number }
}

/// Names one transport attempt. Everything that comes back late carries it, and an older one is ignored (SW-03).
package struct Generation: Hashable, Comparable, Sendable {
    package var number: UInt64
    package init(_ number: UInt64) { self.number = number }
    package static func < (lhs: Generation, rhs: Generation) -> Bool { lhs.number < rhs.number }
}

/// Names one request to end a session. A number of its own, because all local sessions have one id.
package struct EndToken: Hashable, Sendable {
    package var number: UInt64
    package init(_ number: UInt64) { self.number = number }
}

/// What one attempt has to do, in the order of wire-protocol 0.
package struct Attempt: Hashable, Sendable {
    package var generation: Generation
    package var purpose: Purpose
    /// A connection id to use instead of registering one: given by the caller of connect (the offer goes out as POST), or kept for
    /// a reconnect (PUT).
    package var connectionID: UInt32?

    package enum Purpose: Hashable, Sendable {
        /// Make a new session and wait until it is connectable.
        case create
        /// Look at an existing session and wait until it is connectable.
        case adopt(sessionID: String)
        /// Only a new transport for a session whose capabilities are known.
        case reconnect(sessionID: String, capabilities: Capabilities)
    }

    package init(generation: Generation, purpose: Purpose, connectionID: UInt32? = nil) {
        self.generation = generation
        self.purpose = purpose
        self.connectionID = connectionID
    }
}

/// How a lifecycle call ends.
package enum CallOutcome: Hashable, Sendable {
    case success
    case failure(CoreError)
    /// The caller's task was cancelled: the call throws `CancellationError`.
    case cancelled
}
