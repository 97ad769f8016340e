internal import RTCBase

/// Readings at an interval, for one subscriber. Its task knows the client's state and not the client, and ends with either.
enum StatsStream {
    static func make(state: ClientState, interval: Duration) -> AsyncStream<ConnectionStats> {
        let (stream, continuation) = AsyncStream.makeStream(of: ConnectionStats.self, bufferingPolicy: .bufferingNewest(1))
        let statuses = state.hub.statusUpdates.makeStream(bufferingNewest: 1)
        let task = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await _ in statuses {} }
                group.addTask { await read(state, interval: interval) { continuation.yield($0) } }
                await group.next()
                group.cancelAll()
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    private static func read(_ state: ClientState, interval: Duration, _ yield: (ConnectionStats) -> Void) async {
        let clock = ContinuousClock()
        var memory: StatsMemory?
        var due = clock.now
        while !Task.isCancelled {
            // Outside of `.ready` there is nothing to read.
            if let (stats, next) = try? await state.engine?.stats(since: memory) {
                memory = next
                yield(stats)
            }
            due = max(due.advanced(by: interval.forSleep), clock.now)
            try? await clock.sleep(until: due, tolerance: nil)
        }
    }
}
