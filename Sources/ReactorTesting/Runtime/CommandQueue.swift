internal import ReactorCore

/// One client's commands, carried out in order, one at a time, on a task of their own. Bounded. Any thread.
final class CommandQueue: Sendable {
    struct Request: Sendable {
        var requestID: String
        var command: Command
    }

    private let requests: AsyncStream<Request>
    private let continuation: AsyncStream<Request>.Continuation

    init() { (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostWaiting)) }

    /// Called once. The task ends with the queue; what waits then is still carried out.
    func start(
        _ carryOut: @escaping @Sendable (Request) async -> Void, atEnd: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        let requests = self.requests
        return Task.detached {
            for await request in requests { await carryOut(request) }
            await atEnd()
        }
    }

    /// False when too many wait, or the queue has ended.
    func append(_ request: Request) -> Bool {
        if case .enqueued = continuation.yield(request) { return true }
        return false
    }

    func finish() { continuation.finish() }

    private static let mostWaiting = 1024
}
