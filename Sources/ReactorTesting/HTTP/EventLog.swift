// What happened to the runtime's session, for `GET /events` (wire-protocol 3.5): the last transitions in a ring, each with a
// sequence number, and the subscribers that get the new ones. A subscriber that reads too slowly loses its connection and may
// come back with the last id it saw.

import ReactorCore
import Synchronization

#if canImport(Glibc)
    private import Glibc
#elseif canImport(Darwin)
    private import Darwin
#endif

final class EventLog: Sendable {
    private let capacity: Int
    private let maxSubscribers: Int
    private let maxPendingBytes: Int
    private let state = Mutex(State())

    private struct State {
        /// The newest at the end, numbered without gaps up to `lastID`.
        var events: [[UInt8]] = []
        var lastID = 0
        var subscribers: [UInt64: HTTPByteStream] = [:]
        var nextSubscriber: UInt64 = 0
        var isFinished = false
    }

    /// - Parameters:
    ///   - capacity: how many events a new subscriber can still get.
    ///   - maxPendingBytes: how much may wait for one subscriber.
    init(capacity: Int = 1024, maxSubscribers: Int = 16, maxPendingBytes: Int = 4 << 20) {
        self.maxPendingBytes = maxPendingBytes
        self.capacity = max(1, capacity)
        self.maxSubscribers = maxSubscribers
    }

    var lastID: Int { state.withLock { $0.lastID } }
    var subscriberCount: Int { state.withLock { $0.subscribers.count } }

    /// Notes one transition. From any thread; never waits.
    ///
    /// - Parameters:
    ///   - event: `start_session`, `connection_opened`, `timeout` and so on; `from` and `to` are session states.
    ///   - detail: an object. Nothing secret belongs in it; beyond 16 KiB it is left out.
    func record(event: String, from: String, to: String, detail: [String: WireValue] = [:]) {
        var text: [UInt8] = []
        for shown in [detail, ["truncated": .bool(true)]] {
            let value = WireValue.object([
                "type": .string("transition"), "event": .string(event), "from": .string(from), "to": .string(to),
                "ts": .number(Self.unixMilliseconds()), "detail": .object(shown),
            ])
            text = (try? JSONText.write(value)) ?? []
            if !text.isEmpty, text.count <= Self.maxEventBytes { break }
        }
        let line = text
        let woken: [HTTPByteStream] = state.withLock { state in
            state.lastID += 1
            let bytes = Array("id: \(state.lastID)\ndata: ".utf8) + line + Array("\n\n".utf8)
            if state.events.count >= 2 * capacity { state.events.removeFirst(state.events.count - capacity) }
            state.events.append(bytes)
            // Appended under the lock, so that all see one order.
            defer { state.subscribers = state.subscribers.filter { !$0.value.hasOverflowed } }
            for subscriber in state.subscribers.values { _ = subscriber.append(bytes) }
            return Array(state.subscribers.values)
        }
        for subscriber in woken { subscriber.wake() }
    }

    /// What came after `id`, as far as it is still known, and everything to come. An id that was never given is another run's
    /// and counts as 0. Nil when there are too many subscribers.
    func subscribe(after id: Int) -> HTTPByteStream? {
        let stream = HTTPByteStream(maxPendingBytes: maxPendingBytes, keepAlive: Array(": keep-alive\n\n".utf8))
        let number: UInt64? = state.withLock { state in
            guard state.subscribers.count < maxSubscribers || state.isFinished else { return nil }
            // The first bytes make the header go out.
            _ = stream.append(Array(": events\n\n".utf8))
            let kept = min(state.events.count, capacity)
            let known = (0...state.lastID).contains(id) ? id : 0
            let missed = min(kept, state.lastID - known)
            for event in state.events.suffix(missed) where !stream.append(event) { break }
            state.nextSubscriber += 1
            if !state.isFinished { state.subscribers[state.nextSubscriber] = stream }
            return state.nextSubscriber
        }
        guard let number else { return nil }
        stream.onEnd { [weak self] in _ = self?.state.withLock { $0.subscribers.removeValue(forKey: number) } }
        if state.withLock({ $0.isFinished }) { stream.finish() }
        return stream
    }

    /// Ends all subscriptions.
    func finish() {
        let subscribers = state.withLock { state in
            state.isFinished = true
            defer { state.subscribers = [:] }
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers { subscriber.finish() }
    }

    private static func unixMilliseconds() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec) * 1000 + Double(now.tv_nsec / 1_000_000)
    }

    private static let maxEventBytes = 16 << 10
}
