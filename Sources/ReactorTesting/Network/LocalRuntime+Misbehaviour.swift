/// What a ``LocalSession`` keeps from its clients, and does not hear from them, without a word.
public enum LocalSilence: Sendable, Hashable {
    /// Nothing: it talks again.
    case none
    /// Pictures and sound; data channels go on.
    case media
    /// Everything but the connectivity checks of ICE: to a client it looks like a server that hangs.
    case everything
}

extension LocalRuntime {
    /// Makes the next requests to a route go wrong. What was asked for earlier comes first.
    ///
    /// ```swift
    /// runtime.misbehave(at: .offer, .refuse(503, retryAfterSeconds: 1), times: 2)
    /// ```
    ///
    /// - Parameters:
    ///   - route: where it happens.
    ///   - action: what happens.
    ///   - times: for how many requests; `nil` for all, until ``behave()``.
    public nonisolated func misbehave(at route: LocalFault.Route, _ action: LocalFault.Action, times: Int? = 1) {
        faults.add(LocalFault(at: route, action, times: times))
    }

    /// Forgets the faults that are still to come.
    public nonisolated func behave() { faults.removeAll() }

    /// How many requests to a route have gone wrong on purpose.
    public nonisolated func faultsCommitted(at route: LocalFault.Route) -> Int { faults.committed(at: route) }
}

extension LocalSession {
    /// Stops or resumes talking to the clients that are connected now; those that come later are not affected.
    public func goSilent(_ silence: LocalSilence) async { await core.setSilence(silence, of: self) }
}

extension RuntimeCore {
    func setSilence(_ silence: LocalSilence, of handle: LocalSession) {
        guard session?.handle === handle else { return }
        for connection in connections.values { connection.path.setSilence(silence) }
    }
}
