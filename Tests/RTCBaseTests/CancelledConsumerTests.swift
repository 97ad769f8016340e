import RTCBase
import Synchronization
import Testing

@Suite struct CancelledConsumerTests {
    @Test("C8 a cancelled consumer gets nothing of what still waits")
    func cancelledConsumerStops() async {
        let queue = BacklogQueue<Int>(capacity: 100)
        let slot = NewestSlot<Int>()
        let started = Gate()
        let consumer = Task {
            await started.wait()
            return (await queue.next(), await slot.next())
        }
        for number in 0..<100 { queue.put(number) }
        slot.put(1)
        consumer.cancel()
        started.open()
        let (element, newest) = await consumer.value
        #expect(element == nil)
        #expect(newest == nil)
    }
}

/// Opens once; also before anybody waits, and for a cancelled waiter.
private final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiter: CheckedContinuation<Void, Never>?)>((false, nil))

    func open() {
        let waiter = state.withLock { state in
            state.isOpen = true
            return state.waiter.take()
        }
        waiter?.resume()
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiter = continuation }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
