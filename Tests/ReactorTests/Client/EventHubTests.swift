import Dispatch
import RTCBase
import Synchronization
import Testing

@testable import Reactor

@Suite struct EventHubTests {
    /// The queue has run everything that was posted before.
    private func settle(_ hub: EventHub) async {
        await withCheckedContinuation { continuation in hub.queue.async { continuation.resume() } }
    }

    @Test("R-63, R-64 releasing a subscription stops its handler, at once when nobody keeps it")
    func subscriptionLifetime() async {
        let hub = EventHub(queue: nil)
        let seen = Mutex<[String]>([])
        _ = hub.onStatus { _ in seen.withLock { $0.append("dropped") } }
        var kept: Subscription? = hub.onStatus { _ in seen.withLock { $0.append("kept") } }
        hub.post(status: .connecting)
        await settle(hub)
        #expect(seen.withLock { $0 } == ["kept"])
        kept?.cancel()
        kept = nil
        hub.post(status: .waiting)
        await settle(hub)
        #expect(seen.withLock { $0 } == ["kept"])
    }

    @Test("R-63 an event already on its way checks the subscription before it calls")
    func cancelledWhilePosted() async {
        let queue = DispatchQueue(label: "test.events")
        let hub = EventHub(queue: queue)
        let count = Atomic(0)
        let subscription = hub.onStatus { _ in count.add(1, ordering: .relaxed) }
        queue.suspend()
        hub.post(status: .connecting)
        subscription.cancel()
        queue.resume()
        await settle(hub)
        #expect(count.load(ordering: .relaxed) == 0)
    }

    @Test("X-18 cancelling a subscription whose handler owns the last reference to the client does not deadlock", .timeLimit(.minutes(1)))
    func lastReferenceInHandler() throws {
        var client: Reactor? = try Reactor(model: "owner/name", local: true)
        weak let observed = client
        let subscription = client?.onStatus { [client] _ in _ = client?.status }
        client = nil
        #expect(observed != nil)
        subscription?.cancel()
        #expect(observed == nil)
    }

    @Test("X-18 handlers of one client never run at the same time, and one may close the client")
    func serialAndReentrant() async throws {
        let client = try Reactor(model: "owner/name", local: true)
        let order = Mutex<[Int]>([])
        let first = client.onStatus { _ in
            order.withLock { $0.append(1) }
            client.close()
        }
        let second = client.onStatus { _ in order.withLock { $0.append(2) } }
        client.state.hub.post(status: .connecting)
        client.state.hub.post(status: .waiting)
        await settle(client.state.hub)
        // After close() no handler starts, not even the second one of the same event.
        #expect(order.withLock { $0 } == [1])
        withExtendedLifetime((first, second)) {}
    }

    @Test("X-19 onStatus does not replay, and R-73 each stream gets what the handlers get, in order")
    func streamsAndHandlers() async {
        let hub = EventHub(queue: nil)
        hub.post(status: .connecting)
        let seen = Mutex<[ReactorStatus]>([])
        let subscription = hub.onStatus { status in seen.withLock { $0.append(status) } }
        let one = hub.statusUpdates.makeStream(bufferingNewest: 64)
        let other = hub.statusUpdates.makeStream(bufferingNewest: 64)
        let expected: [ReactorStatus] = [.waiting, .ready, .disconnected]
        for status in expected { hub.post(status: status) }
        await settle(hub)
        hub.close()
        var streamed: [[ReactorStatus]] = [[], []]
        for await status in one { streamed[0].append(status) }
        for await status in other { streamed[1].append(status) }
        #expect(seen.withLock { $0 } == expected)
        #expect(streamed == [expected, expected])
        withExtendedLifetime(subscription) {}
    }

    @Test("messages that wait behind a blocked handler are bounded and counted; changes of status always arrive")
    func boundedWaiting() async {
        let queue = DispatchQueue(label: "test.events")
        let hub = EventHub(queue: queue)
        let messages = Atomic(0)
        let statuses = Atomic(0)
        let first = hub.onMessage { _ in messages.add(1, ordering: .relaxed) }
        let second = hub.onStatus { _ in statuses.add(1, ordering: .relaxed) }
        queue.suspend()
        for _ in 0..<(EventHub.maxWaiting + 10) { hub.post(message: .null) }
        hub.post(status: .connecting)
        queue.resume()
        await settle(hub)
        #expect(messages.load(ordering: .relaxed) == EventHub.maxWaiting)
        #expect(hub.droppedCount == 10)
        #expect(statuses.load(ordering: .relaxed) == 1)
        withExtendedLifetime((first, second)) {}
    }

    @Test("R-70 no message reaches both kinds of handler")
    func kindsApart() async {
        let hub = EventHub(queue: nil)
        let model = Mutex<[JSONValue]>([])
        let runtime = Mutex<[JSONValue]>([])
        let first = hub.onMessage { value in model.withLock { $0.append(value) } }
        let second = hub.onRuntimeMessage { value in runtime.withLock { $0.append(value) } }
        hub.post(message: "m")
        hub.post(runtimeMessage: "r")
        await settle(hub)
        #expect(model.withLock { $0 } == ["m"])
        #expect(runtime.withLock { $0 } == ["r"])
        withExtendedLifetime((first, second)) {}
    }
}
