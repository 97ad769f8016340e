import Synchronization

/// The body of one PUT on its way into the store; never keeps more than was reserved.
final class UploadReceiver: HTTPBodySink {
    let id: String
    let expectedBytes: Int
    let generation: UInt64
    private let store: UploadStore
    private let state = Mutex(State())

    private struct State {
        var bytes: [UInt8] = []
        var received = 0
    }

    init(store: UploadStore, id: String, expectedBytes: Int, generation: UInt64) {
        self.store = store
        self.id = id
        self.expectedBytes = expectedBytes
        self.generation = generation
    }

    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            state.received += bytes.count
            guard state.received <= expectedBytes else {
                state.bytes = []
                return false
            }
            // All at once: growing by doubling would take twice the room that was reserved.
            if state.bytes.isEmpty { state.bytes.reserveCapacity(expectedBytes) }
            state.bytes.append(contentsOf: bytes)
            return true
        }
    }

    func abandon() {
        _ = take()
        store.abandon(self)
    }

    /// The bytes, which are gone from here then, and how many came.
    func take() -> (bytes: [UInt8], received: Int) {
        state.withLock { state in
            defer { state.bytes = [] }
            return (state.bytes, state.received)
        }
    }
}
