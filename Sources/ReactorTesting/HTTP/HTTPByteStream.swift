// A response body that grows: any thread writes, the server's thread takes. Bounded: a client that reads too slowly loses the
// stream, never memory of ours.

import Synchronization

final class HTTPByteStream: Sendable {
    enum Piece: Hashable { case bytes(Int), nothingYet, finished }

    /// Sent when nothing else was for a while, so that a dead client is noticed.
    let keepAlive: [UInt8]
    private let maxPendingBytes: Int
    private let state = Mutex(State())

    private struct State {
        var pending: [UInt8] = []
        /// How much of `pending` is already taken.
        var taken = 0
        var isFinished = false
        var hasOverflowed = false
        var isOver = false
        var wake: (@Sendable () -> Void)?
        var onEnd: (@Sendable () -> Void)?
    }

    init(maxPendingBytes: Int = 1 << 20, keepAlive: [UInt8] = []) {
        self.maxPendingBytes = maxPendingBytes
        self.keepAlive = keepAlive
    }

    // MARK: - Writing

    /// Appends without waking the reader; call ``wake()`` afterwards. False when the stream is over or just became so because
    /// too much is waiting.
    func append(_ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            guard !state.isFinished, !state.isOver else { return false }
            guard state.pending.count - state.taken + bytes.count <= maxPendingBytes else {
                state.isFinished = true
                state.hasOverflowed = true
                return false
            }
            state.pending.append(contentsOf: bytes)
            return true
        }
    }

    func wake() { state.withLock { $0.wake }?() }

    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        let isTaken = append(bytes)
        wake()
        return isTaken
    }

    /// What is written so far still goes out.
    func finish() {
        state.withLock { $0.isFinished = true }
        wake()
    }

    /// Called once, when the answer is sent or the client is gone; at once when that is already so.
    func onEnd(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if !state.isOver { state.onEnd = body }
            return state.isOver
        }
        if isOver { body() }
    }

    // MARK: - The server's side

    func attach(wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    func take(into buffer: UnsafeMutableRawBufferPointer) -> Piece {
        state.withLock { state in
            let count = min(buffer.count, state.pending.count - state.taken)
            guard count > 0 else { return state.isFinished ? .finished : .nothingYet }
            state.pending.withUnsafeBytes { bytes in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[state.taken..<state.taken + count]))
            }
            state.taken += count
            if state.taken == state.pending.count {
                state.pending.removeAll(keepingCapacity: state.pending.count <= 4096)
                state.taken = 0
            } else if state.taken > maxPendingBytes {
                state.pending.removeFirst(state.taken)
                state.taken = 0
            }
            return .bytes(count)
        }
    }

    /// The client read too slowly; it is not waited for.
    var hasOverflowed: Bool { state.withLock { $0.hasOverflowed } }

    /// The connection is over.
    func end() {
        let onEnd = state.withLock { state in
            state.isOver = true
            state.isFinished = true
            state.wake = nil
            state.pending = []
            state.taken = 0
            defer { state.onEnd = nil }
            return state.onEnd
        }
        onEnd?()
    }
}
