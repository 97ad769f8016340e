// Reading uploads: commands that refer to one may come before its bytes.

import Synchronization

extension UploadStore {
    /// What was reserved under an id, complete or not.
    func upload(_ id: String) -> Upload? { state.withLock { $0.entries[id]?.upload } }

    /// The bytes of an upload that is complete.
    func completeBytes(of id: String) -> [UInt8]? {
        state.withLock { state in
            if case .complete(let bytes)? = state.entries[id]?.content { bytes } else { nil }
        }
    }

    /// How many calls of ``bytes(of:within:)`` wait.
    var waiterCount: Int { state.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }

    /// The bytes of an upload, when they are there or as soon as they are.
    ///
    /// - Returns: nil for an id that nobody reserved, after `limit`, when the task is cancelled, and when the session ends.
    func bytes(of id: String, within limit: Duration = .seconds(10)) async -> [UInt8]? {
        enum Now { case have([UInt8]), never, wait(UInt64) }
        let now: Now = state.withLock { state in
            switch state.entries[id]?.content {
            case .complete(let bytes): return .have(bytes)
            case nil: return .never
            case .reserved, .receiving:
                state.nextWaiter += 1
                state.waiters[id, default: [:]][state.nextWaiter] = .announced
                return .wait(state.nextWaiter)
            }
        }
        switch now {
        case .have(let bytes): return bytes
        case .never: return nil
        case .wait(let waiter):
            let timer = Task {
                try? await Task.sleep(for: limit)
                if !Task.isCancelled { giveUp(waiter, on: id) }
            }
            defer { timer.cancel() }
            return await withTaskCancellationHandler {
                await withCheckedContinuation { wait(waiter, on: id, with: $0) }
            } onCancel: {
                giveUp(waiter, on: id)
            }
        }
    }

    /// The session is over: forgets everything.
    func removeAll() {
        let waiters = state.withLock { state in
            state.entries = [:]
            state.reservedBytes = 0
            state.generation += 1
            defer { state.waiters = [:] }
            return state.waiters.values.flatMap { $0.values.compactMap(\.continuation) }
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }

    private func wait(_ waiter: UInt64, on id: String, with continuation: CheckedContinuation<[UInt8]?, Never>) {
        let result: [UInt8]?? = state.withLock { state in
            switch state.entries[id]?.content {
            case .complete(let bytes): return bytes
            case nil: return .some(nil)
            case .reserved, .receiving:
                if case .announced? = state.waiters[id]?[waiter] {
                    state.waiters[id]?[waiter] = .waiting(continuation)
                    return nil
                }
                state.remove(waiter, on: id)
                return .some(nil)
            }
        }
        if let result { continuation.resume(returning: result) }
    }

    private func giveUp(_ waiter: UInt64, on id: String) {
        let continuation = state.withLock { state -> CheckedContinuation<[UInt8]?, Never>? in
            switch state.waiters[id]?[waiter] {
            case .waiting(let continuation):
                state.remove(waiter, on: id)
                return continuation
            case .announced: state.waiters[id]?[waiter] = .givenUp
            case .givenUp, nil: break
            }
            return nil
        }
        continuation?.resume(returning: nil)
    }
}
