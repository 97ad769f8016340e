import Dispatch
import Synchronization
import Testing

@testable import Reactor

@Suite("Subscription")
struct SubscriptionTests {
    private final class Counter: Sendable {
        private let value = Mutex(0)
        var count: Int { value.withLock { $0 } }
        func increment() { value.withLock { $0 += 1 } }
    }

    @Test("B16 cancelling unregisters once, however often and from wherever it is called")
    func cancelOnce() {
        let counter = Counter()
        let subscription = Subscription { counter.increment() }
        #expect(!subscription.isCancelled)
        DispatchQueue.concurrentPerform(iterations: 16) { _ in subscription.cancel() }
        #expect(subscription.isCancelled)
        #expect(counter.count == 1)
    }

    @Test("R-63, R-64 releasing it cancels")
    func release() {
        let counter = Counter()
        _ = Subscription { counter.increment() }
        #expect(counter.count == 1)
        var kept: [Subscription] = []
        Subscription { counter.increment() }.store(in: &kept)
        #expect(counter.count == 1)
        kept.removeAll()
        #expect(counter.count == 2)
    }

    @Test("B16 an event on its way sees the cancellation without keeping the subscription")
    func sharedState() {
        let state = Subscription.State()
        weak var seen: Subscription?
        do {
            let subscription = Subscription(state: state) {}
            seen = subscription
            #expect(!state.isCancelled)
            withExtendedLifetime(subscription) {}
        }
        #expect(seen == nil && state.isCancelled)
    }

    @Test("a cancellation handler may cancel again")
    func reentrant() {
        let slot = Mutex<Subscription?>(nil)
        let counter = Counter()
        let subscription = Subscription {
            counter.increment()
            slot.withLock { $0 }?.cancel()
        }
        slot.withLock { $0 = subscription }
        subscription.cancel()
        slot.withLock { $0 = nil }
        #expect(counter.count == 1)
    }
}
