/// A FIFO of limited capacity; the owner decides what happens when it is full.
///
/// Memory is taken as the queue fills, doubling up to the capacity, and kept: limits are far above what most queues ever hold,
/// and one that has been as full as it gets allocates no more.
package struct BoundedQueue<Element> {
    private var storage: [Element?]
    private var head = 0
    package let capacity: Int
    package private(set) var count = 0

    package init(capacity: Int) {
        self.capacity = max(1, capacity)
        storage = Array(repeating: nil, count: min(self.capacity, Self.firstRoom))
    }

    package var isEmpty: Bool { count == 0 }
    package var isFull: Bool { count == capacity }

    /// False, and nothing is stored, when the queue is full.
    package mutating func append(_ element: Element) -> Bool {
        guard count < capacity else { return false }
        if count == storage.count { grow() }
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

    private mutating func grow() {
        var larger = [Element?]()
        larger.reserveCapacity(min(capacity, storage.count * 2))
        larger += storage[head...]
        larger += storage[..<head]
        larger += repeatElement(nil, count: min(capacity, storage.count * 2) - storage.count)
        storage = larger
        head = 0
    }

    private static var firstRoom: Int { 8 }
}

extension BoundedQueue: Sendable where Element: Sendable {}
