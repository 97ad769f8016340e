// Pushed sound on its way to the encoder: chunks of any length in, blocks of 20 ms out, as many samples as Opus takes at a
// time. A change of format drops the block that is not complete (rule X-9); after a pause of the app the open block is
// completed with silence. Bounded: the oldest blocks go and are counted. A chunk is never cut short by its own length, up
// to ten seconds. Memory is only asked for by a chunk larger than any before.

internal import RTCBase

/// A queue of blocks in their app's format. Pure; used under its owner's lock.
struct AudioInput: Sendable {
    struct Format: Hashable, Sendable {
        var sampleRate: Int
        var channels: Int

        /// Samples of one block, all channels counted.
        var blockSamples: Int { sampleRate / 50 * channels }

        ///
        var isAllowed: Bool { Self.sampleRates.contains(sampleRate) && (1...2).contains(channels) }

        private static let sampleRates: Set<Int> = [8_000, 16_000, 24_000, 32_000, 44_100, 48_000]
    }

    struct Block: Hashable, Sendable {
        var format: Format
        /// When its first sample was captured, at 48 kHz from the monotonic clock's zero.
        var captured48kHz: Int64
    }

    /// Both empty until samples come.
    private var storage: [Int16] = []
    private var blocks: [Block] = []
    private var head = 0
    /// Complete blocks.
    private(set) var count = 0
    /// The block being filled lies behind the complete ones.
    private var open: Block?
    private var openSamples = 0
    /// Blocks that had to go.
    private(set) var dropped: UInt64 = 0

    init() {}

    /// Copies interleaved samples in; `now` is when their last one was captured. `format` is allowed and divides the count.
    mutating func append(_ samples: UnsafeBufferPointer<Int16>, format: Format, now: MonotonicTime) {
        let perChannel = samples.count / format.channels
        guard perChannel > 0 else { return }
        if blocks.isEmpty { allocate() }
        let end = Self.ticks(now)
        let start = end &- Int64(perChannel) * 48_000 / Int64(format.sampleRate)
        if let open, open.format != format { discardOpen() }
        if let open, start &- position(of: open, sample: openSamples) > Self.gapTicks { completeOpen(with: open) }
        reserve(forSamples: samples.count, format: format)

        let blockSamples = format.blockSamples
        var taken = 0
        while taken < samples.count {
            if open == nil {
                open = Block(
                    format: format,
                    captured48kHz: start &+ Int64(taken / format.channels) * 48_000 / Int64(format.sampleRate))
                openSamples = 0
            }
            let amount = min(blockSamples - openSamples, samples.count - taken)
            let target = slot(count) * Self.slotSamples + openSamples
            storage.withUnsafeMutableBufferPointer { memory in
                for i in 0..<amount { memory[target + i] = samples[taken + i] }
            }
            openSamples += amount
            taken += amount
            if openSamples == blockSamples, let complete = open { close(complete) }
        }
    }

    /// Takes the oldest block, copies its samples to `samples`, which has room for 1920 of them, and says what it is.
    mutating func pop(into samples: UnsafeMutableBufferPointer<Int16>) -> Block? {
        guard count > 0 else { return nil }
        let block = blocks[head]
        let length = min(block.format.blockSamples, samples.count)
        let offset = head * Self.slotSamples
        storage.withUnsafeBufferPointer { memory in
            for i in 0..<length { samples[i] = memory[offset + i] }
        }
        head = (head + 1) % blocks.count
        count -= 1
        return block
    }

    /// Forgets everything, without counting it.
    mutating func removeAll() {
        count = 0
        discardOpen()
    }

    private mutating func allocate() {
        let capacity = Self.boundBlocks + 2
        storage = Array(repeating: 0, count: capacity * Self.slotSamples)
        blocks = Array(repeating: Block(format: Format(sampleRate: 48_000, channels: 1), captured48kHz: 0), count: capacity)
    }

    private mutating func close(_ block: Block) {
        blocks[slot(count)] = block
        count += 1
        discardOpen()
        // Only a chunk longer than the longest that is kept whole comes here: the next block needs the slot.
        if count == blocks.count {
            head = (head + 1) % blocks.count
            count -= 1
            dropped &+= 1
        }
    }

    private mutating func completeOpen(with block: Block) {
        let target = slot(count) * Self.slotSamples
        for i in openSamples..<block.format.blockSamples { storage[target + i] = 0 }
        close(block)
    }

    private mutating func discardOpen() {
        open = nil
        openSamples = 0
    }

    /// Makes room for a chunk: the oldest go when more than half a second, or twice the chunk, would wait.
    private mutating func reserve(forSamples samples: Int, format: Format) {
        let incoming = samples / format.blockSamples + 1
        let bound = min(max(Self.boundBlocks, 2 * incoming), Self.mostBlocks)
        let excess = min(count, max(0, count + incoming - bound))
        if excess > 0 {
            let slotOfOpen = slot(count)
            head = (head + excess) % blocks.count
            count -= excess
            dropped &+= UInt64(excess)
            assert(slot(count) == slotOfOpen)
        }
        if count + incoming + 1 > blocks.count { grow(to: min(count + incoming + 2, Self.mostBlocks + 2)) }
    }

    private mutating func grow(to capacity: Int) {
        guard capacity > blocks.count else { return }
        var larger = Array(repeating: Int16(0), count: capacity * Self.slotSamples)
        var order = blocks
        for i in 0...count {
            let from = slot(i)
            if i < count { order[i] = blocks[from] }
            for j in 0..<Self.slotSamples { larger[i * Self.slotSamples + j] = storage[from * Self.slotSamples + j] }
        }
        order.append(contentsOf: repeatElement(order[0], count: capacity - order.count))
        storage = larger
        blocks = order
        head = 0
    }

    private func slot(_ index: Int) -> Int { (head + index) % blocks.count }

    private func position(of block: Block, sample: Int) -> Int64 {
        block.captured48kHz &+ Int64(sample / block.format.channels) * 48_000 / Int64(block.format.sampleRate)
    }

    static func ticks(_ time: MonotonicTime) -> Int64 { time.nanoseconds / 1_000_000 * 48 + time.nanoseconds % 1_000_000 * 48 / 1_000_000 }

    /// 20 ms at 48 kHz, two channels.
    static let slotSamples = 1920
    /// 500 ms.
    static let boundBlocks = 25
    /// Ten seconds.
    static let mostBlocks = 500
    /// A longer time between the end of one chunk and the start of the next is a pause of the source.
    static let gapTicks: Int64 = 4800
}
