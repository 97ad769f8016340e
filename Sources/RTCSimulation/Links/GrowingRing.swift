/// A FIFO that doubles when full and never shrinks; only for simulations, where what may pile up is part of the question.
struct GrowingRing<Element: Sendable>: Sendable {
    private var storage: [Element?]
    private var head = 0
    private(set) var count = 0

    /// - Parameter capacity: rounded up to a power of two.
    init(capacity: Int = 64) {
        var size = 8
        while size < capacity { size *= 2 }
        storage = Array(repeating: nil, count: size)
    }

    var isEmpty: Bool { count == 0 }
    var first: Element? { count > 0 ? storage[head] : nil }

    mutating func append(_ element: Element) {
        if count == storage.count { grow() }
        storage[(head + count) & (storage.count - 1)] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = storage[head].take()
        head = (head + 1) & (storage.count - 1)
        count -= 1
        return element
    }

    private mutating func grow() {
        var larger: [Element?] = Array(repeating: nil, count: storage.count * 2)
        for index in 0..<count { larger[index] = storage[(head + index) & (storage.count - 1)] }
        storage = larger
        head = 0
    }
}
