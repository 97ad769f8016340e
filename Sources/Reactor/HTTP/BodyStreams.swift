// Bodies too large for memory, on their way between the HTTP thread and the one task that writes or reads them. Both are
// bounded: a full one pauses the transfer, an empty one of an upload does too, and the task waits for the other side.

import CCurl
import Synchronization

/// The body of an answer: the HTTP thread puts bytes in, a task takes them out.
final class IncomingBody: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isFinished = false
        var isPaused = false
        var waiter: CheckedContinuation<Void, Never>?
        var resume: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Only an answer with this status is a body; any other one is kept whole with its status.
    let expectedStatus: Int

    init(expectedStatus: Int) { self.expectedStatus = expectedStatus }

    // MARK: HTTP thread

    /// `resume` continues the transfer; any thread may call it.
    func attach(_ resume: @escaping @Sendable () -> Void) { state.withLock { $0.resume = resume } }

    /// False when there is no room: the transfer pauses, and the same bytes come again.
    func put(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (taken, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard state.bytes.count < Self.capacityBytes else {
                state.isPaused = true
                return (false, nil)
            }
            state.bytes.append(contentsOf: bytes)
            return (true, state.waiter.take())
        }
        waiter?.resume()
        return taken
    }

    // MARK: The task

    /// The next bytes; nil when the body has ended, complete or not.
    func next() async -> [UInt8]? {
        while true {
            let (bytes, isFinished, resume) = state.withLock { state -> ([UInt8], Bool, (@Sendable () -> Void)?) in
                var bytes: [UInt8] = []
                swap(&bytes, &state.bytes)
                defer { state.isPaused = false }
                return (bytes, state.isFinished, state.isPaused ? state.resume : nil)
            }
            resume?()
            if !bytes.isEmpty { return bytes }
            if isFinished { return nil }
            await withCheckedContinuation { continuation in
                let isNews = state.withLock { state in
                    if !state.bytes.isEmpty || state.isFinished { return true }
                    state.waiter = continuation
                    return false
                }
                if isNews { continuation.resume() }
            }
        }
    }

    /// The transfer is over.
    func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            state.resume = nil
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Room for what libcurl delivers while the task writes; libcurl's pieces are 16 KiB.
    static let capacityBytes = 256 << 10
}

/// The body of a request: a task puts bytes in, the HTTP thread takes them out.
final class OutgoingBody: Sendable {
    enum Piece: Hashable {
        case bytes(Int)
        case end
        /// Nothing there yet.
        case pause
        case abort
    }

    private struct State {
        var bytes: [UInt8] = []
        /// How much of `bytes` is gone.
        var offset = 0
        var isFinished = false
        /// The transfer takes no more, or the task gives no more.
        var isClosed = false
        var isPaused = false
        var waiter: CheckedContinuation<Void, Never>?
        var resume: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    /// What `Content-Length` says.
    let byteCount: Int

    init(byteCount: Int) { self.byteCount = byteCount }

    // MARK: HTTP thread

    func attach(_ resume: @escaping @Sendable () -> Void) { state.withLock { $0.resume = resume } }

    func take(into buffer: UnsafeMutableRawBufferPointer) -> Piece {
        let (piece, waiter) = state.withLock { state -> (Piece, CheckedContinuation<Void, Never>?) in
            if state.isClosed { return (.abort, nil) }
            let count = min(buffer.count, state.bytes.count - state.offset)
            guard count > 0 else {
                if state.isFinished { return (.end, nil) }
                state.isPaused = true
                return (.pause, state.waiter.take())
            }
            state.bytes.withUnsafeBytes { bytes in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[state.offset..<state.offset + count]))
            }
            state.offset += count
            return (.bytes(count), state.offset == state.bytes.count ? state.waiter.take() : nil)
        }
        waiter?.resume()
        return piece
    }

    /// The transfer is over, or will be.
    func close() {
        let waiter = state.withLock { state in
            state.isClosed = true
            state.resume = nil
            return state.waiter.take()
        }
        waiter?.resume()
    }

    // MARK: The task

    /// Hands a piece over and waits until libcurl has taken it; false when the transfer takes no more.
    func put(_ bytes: [UInt8]) async -> Bool {
        let (isOpen, resume) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            if state.isClosed { return (false, nil) }
            state.bytes = bytes
            state.offset = 0
            defer { state.isPaused = false }
            return (true, state.isPaused ? state.resume : nil)
        }
        guard isOpen else { return false }
        resume?()
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.isClosed || state.offset == state.bytes.count { return true }
                state.waiter = continuation
                return false
            }
            if isDone { continuation.resume() }
        }
        return state.withLock { !$0.isClosed }
    }

    /// Everything was put.
    func finish() {
        let resume = state.withLock { state -> (@Sendable () -> Void)? in
            state.isFinished = true
            defer { state.isPaused = false }
            return state.isPaused ? state.resume : nil
        }
        resume?()
    }
}
