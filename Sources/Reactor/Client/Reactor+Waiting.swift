internal import RTCBase

extension Reactor {
    /// Waits until the client has this status; returns at once when it has.
    ///
    /// By the time it returns the status may have changed again. A failed connect does not end the wait: another may follow.
    /// - Parameters:
    ///   - status: what to wait for.
    ///   - timeout: how long to wait; nil sets no limit, and zero or less only looks.
    /// - Throws: `.requestTimeout` when the time is over; `.aborted` when the client is closed meanwhile, and `.invalidState` when
    ///   it was closed before. A cancelled task throws `CancellationError`.
    public func waitForStatus(_ status: ReactorStatus, timeout: Duration? = nil) async throws {
        let operation = "wait_for_status"
        let updates = statusUpdates
        let state = self.state
        if state.isClosed { throw ReactorError.clientGone(operation) }
        try await Self.within(timeout, waitingFor: "status \(status.rawValue)", operation: operation) {
            if state.read({ $0.status }) == status { return }
            for await update in updates where update == status { return }
            throw Self.waitEnded(operation)
        }
    }

    /// Waits until the session has declared its tracks, and returns the one with this name; at once when they are declared.
    ///
    /// - Parameters:
    ///   - name: the declared name.
    ///   - timeout: how long to wait; nil sets no limit, and zero or less only looks.
    /// - Throws: `.notFound` when the session declares no such track; otherwise as ``waitForStatus(_:timeout:)``.
    public func waitForTrack(_ name: String, timeout: Duration? = nil) async throws -> Track {
        let operation = "wait_for_track"
        let updates = events
        let state = self.state
        if state.isClosed { throw ReactorError.clientGone(operation) }
        try await Self.within(timeout, waitingFor: "the session's tracks", operation: operation) {
            if state.read({ !$0.declarations.isEmpty || $0.status == .ready }) { return }
            for await event in updates {
                switch event {
                case .tracks(let tracks) where !tracks.isEmpty: return
                // A session may have no tracks at all.
                case .status(.ready): return
                default: continue
                }
            }
            throw Self.waitEnded(operation)
        }
        return try track(name)
    }

    /// The end of a stream that is not the value that was waited for: the task was cancelled, or the client is gone.
    private static func waitEnded(_ operation: String) -> any Error {
        if Task.isCancelled { return CancellationError() }
        return ReactorError(.aborted, "\(operation) was interrupted: the client was closed", operation: operation)
    }

    private static func within(
        _ timeout: Duration?, waitingFor what: String, operation: String, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try Task.checkCancellation()
        guard let timeout else { return try await body() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: timeout.forSleep)
                throw ReactorError(.requestTimeout, "timed out: no \(what) within \(timeout)", operation: operation)
            }
            try await group.next()
        }
    }
}
