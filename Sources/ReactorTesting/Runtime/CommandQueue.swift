internal import ReactorCore
internal import Synchronization

/// One client's commands, carried out in order, one at a time, on a task of their own. Bounded in count and in bytes: a chunked
/// message alone may have 64 MiB (wire-protocol 5.8). Any thread.
final class CommandQueue: Sendable {
    struct Request: Sendable {
        var requestID: String
        var command: Command
        /// Of the message it came in.
        var byteCount: Int
    }

    private let requests: AsyncStream<Request>
    private let continuation: AsyncStream<Request>.Continuation
    /// Of what waits and what is being carried out.
    private let waitingBytes = Mutex(0)

    init() { (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostWaiting)) }

    /// Called once. The task ends with the queue; what waits then is still carried out.
    func start(
        first: @escaping @Sendable () async -> Void = {}, _ carryOut: @escaping @Sendable (Request) async -> Void,
        atEnd: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        let requests = self.requests
        // The queue's owner may let go of it before the last one is carried out.
        return Task.detached { [self] in
            await first()
            for await request in requests {
                await carryOut(request)
                waitingBytes.withLock { $0 -= request.byteCount }
            }
            await atEnd()
        }
    }

    /// False when too many or too large ones wait, or the queue has ended. A single one always has room.
    func append(_ request: Request) -> Bool {
        let hasRoom = waitingBytes.withLock { bytes in
            guard bytes == 0 || bytes + request.byteCount <= Self.mostBytes else { return false }
            bytes += request.byteCount
            return true
        }
        guard hasRoom else { return false }
        if case .enqueued = continuation.yield(request) { return true }
        waitingBytes.withLock { $0 -= request.byteCount }
        return false
    }

    func finish() { continuation.finish() }

    static let mostWaiting = 1024
    static let mostBytes = 64 << 20
}
