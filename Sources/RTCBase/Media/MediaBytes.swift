import Synchronization

/// A block of pixel or bitstream memory with a fixed capacity, taken from a `FrameBufferPool` and given back when
/// the last reference goes.
///
/// Sharing rule that makes it `Sendable`: the maker fills it and sets `count` before handing the first reference to
/// anybody else; from then on it is read only.
package final class MediaBytes: @unchecked Sendable {  // protected by the sharing rule above
    package let base: UnsafeMutableRawPointer
    package let capacity: Int
    package private(set) var count: Int
    private let pool: FrameBufferPool?

    fileprivate init(base: UnsafeMutableRawPointer, capacity: Int, pool: FrameBufferPool?) {
        self.base = base
        self.capacity = capacity
        self.count = 0
        self.pool = pool
    }

    /// A block of its own, not from a pool.
    package convenience init(capacity: Int) {
        let size = max(16, capacity)
        self.init(base: .allocate(byteCount: size, alignment: 64), capacity: size, pool: nil)
    }

    /// A block holding a copy of `bytes`.
    package convenience init(copying bytes: RawSpan) {
        self.init(capacity: bytes.byteCount)
        _ = append(bytes)
    }

    deinit {
        if let pool { pool.giveBack(base, capacity: capacity) } else { base.deallocate() }
    }

    package func setCount(_ newCount: Int) {
        precondition(newCount >= 0 && newCount <= capacity)
        count = newCount
    }

    /// False, and nothing is written, when the bytes do not fit.
    package func append(_ bytes: RawSpan) -> Bool {
        guard bytes.byteCount <= capacity - count else { return false }
        bytes.withUnsafeBytes { source in
            if let address = source.baseAddress { (base + count).copyMemory(from: address, byteCount: source.count) }
        }
        count += bytes.byteCount
        return true
    }

    package var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// The filled part, for the duration of `body`.
    package func withBytes<R, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        let filled = UnsafeRawBufferPointer(start: base, count: count)
        return try body(filled.bytes)
    }
}

/// Where the blocks of a pool come from. Pictures come and go by the megabyte on several threads; taken from the heap they
/// leave its arenas full of holes, each held open by something small.
package struct FrameMemory: Sendable {
    /// A block of at least this many bytes, aligned to 64 of them.
    package let allocate: @Sendable (_ byteCount: Int) -> UnsafeMutableRawPointer
    /// Gets the block with the same `byteCount`.
    package let deallocate: @Sendable (UnsafeMutableRawPointer, _ byteCount: Int) -> Void

    package init(
        allocate: @escaping @Sendable (_ byteCount: Int) -> UnsafeMutableRawPointer,
        deallocate: @escaping @Sendable (UnsafeMutableRawPointer, _ byteCount: Int) -> Void
    ) {
        self.allocate = allocate
        self.deallocate = deallocate
    }

    /// The process's heap.
    package static let heap = FrameMemory(
        allocate: { .allocate(byteCount: $0, alignment: 64) }, deallocate: { base, _ in base.deallocate() })
}

/// Bounded reuse of frame memory: at most `maxCached` blocks wait for reuse, sorted by nothing, matched by size.
package final class FrameBufferPool: Sendable {
    private struct Block: @unchecked Sendable {  // owned by the pool while it sits in the list
        let base: UnsafeMutableRawPointer
        let capacity: Int
    }

    private let blocks: Mutex<[Block]>
    private let maxCached: Int
    private let memory: FrameMemory

    package init(maxCached: Int = 8, memory: FrameMemory = .heap) {
        self.maxCached = maxCached
        self.memory = memory
        var list: [Block] = []
        list.reserveCapacity(maxCached)
        blocks = Mutex(list)
    }

    deinit {
        blocks.withLock { list in
            for block in list { memory.deallocate(block.base, block.capacity) }
            list.removeAll()
        }
    }

    /// An empty block of at least `capacity` bytes, reused when a cached one fits and is not over four times as big.
    package func take(capacity: Int) -> MediaBytes {
        let reused: Block? = blocks.withLock { list in
            guard let index = list.lastIndex(where: { $0.capacity >= capacity && $0.capacity / 4 <= max(capacity, 4096) }) else {
                return nil
            }
            list.swapAt(index, list.count - 1)
            return list.removeLast()
        }
        if let reused { return MediaBytes(base: reused.base, capacity: reused.capacity, pool: self) }
        let size = max(64, capacity)
        return MediaBytes(base: memory.allocate(size), capacity: size, pool: self)
    }

    fileprivate func giveBack(_ base: UnsafeMutableRawPointer, capacity: Int) {
        let block = Block(base: base, capacity: capacity)
        let surplus: Block? = blocks.withLock { list in
            guard maxCached > 0 else { return block }
            // When full, the oldest block goes: after a change of size the pool forgets the old size.
            let evicted = list.count >= maxCached ? list.removeFirst() : nil
            list.append(block)
            return evicted
        }
        if let surplus { memory.deallocate(surplus.base, surplus.capacity) }
    }

    package var cachedCount: Int { blocks.withLock { $0.count } }
}
