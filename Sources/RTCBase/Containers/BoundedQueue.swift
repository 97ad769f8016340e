/// A FIFO of fixed capacity; the owner decides what happens when it is full.
package struct BoundedQueue<Element> {
    private var storage: [Element?]
    private var head = 0
    package private(set) var count = 0

    package init(capacity: Int) { storage = Array(repeating: nil, count: max(1, capacity)) }

    package var capacity: Int { storage.count }
    package var isEmpty: Bool { count == 0 }
    package var isFull: Bool { count == storage.count }

    /// False, and nothing is stored, when the queue is full.
    package mutating func append(_ element: Element) -> Bool {
        guard count < storage.count else { return false }
        storage[(head + count) % storage.count] = element
        count += 1
        return true
    }

    package mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = storage[head].take()
        head = (head + 1) % storage.count
        count -= 1
        return element
    }

    package var first: Element? { count > 0 ? storage[head] : nil }

    package mutating func removeAll() { while popFirst() != nil {} }
}

extension BoundedQueue: Sendable where Element: Sendable {}
