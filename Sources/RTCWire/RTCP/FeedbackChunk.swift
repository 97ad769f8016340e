import RTCBase

/// The two-bit packet status of transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions §3.1.1).
enum FeedbackSymbol: UInt8 {
    case notReceived = 0
    case smallDelta = 1
    case largeDelta = 2

    init(_ status: PacketStatus) {
        switch status {
        case .notReceived: self = .notReceived
        case .received(let delta): self = UInt8(exactly: delta) != nil ? .smallDelta : .largeDelta
        }
    }

    /// Bytes its receive delta takes.
    var deltaCount: Int { Int(rawValue) }

    /// Unfolds one chunk (§3.1.3, §3.1.4), up to `count` symbols in all; a last chunk may carry more than are left.
    static func readChunk(_ chunk: UInt16, count: Int, into symbols: inout [FeedbackSymbol]) throws(WireError) {
        let room = count - symbols.count
        if chunk & 0x8000 == 0 {
            let symbol = try FeedbackSymbol(bits: chunk >> 13)
            for _ in 0..<min(room, Int(chunk & 0x1FFF)) { symbols.append(symbol) }
        } else if chunk & 0x4000 == 0 {
            for index in 0..<min(room, 14) { symbols.append(chunk >> (13 - UInt16(index)) & 1 == 1 ? .smallDelta : .notReceived) }
        } else {
            for index in 0..<min(room, 7) { symbols.append(try FeedbackSymbol(bits: chunk >> (12 - 2 * UInt16(index)))) }
        }
    }

    /// The value 3 is reserved.
    private init(bits: UInt16) throws(WireError) {
        guard let symbol = FeedbackSymbol(rawValue: UInt8(bits & 3)) else { throw .badValue }
        self = symbol
    }
}

/// Collects symbols until no kind of chunk can hold one more: a run of equal ones, 14 without a large delta, or 7.
struct FeedbackChunkPacker {
    private var symbols: (low: UInt32, count: Int) = (0, 0)  // two bits each, the first symbol in the lowest bits
    private var isRun = true
    private var hasLarge = false
    private static let maxRun = 8191

    var isEmpty: Bool { symbols.count == 0 }

    private func symbol(_ index: Int) -> UInt16 { UInt16(symbols.low >> (2 * UInt32(index)) & 3) }

    func canAdd(_ new: FeedbackSymbol) -> Bool {
        if symbols.count < 7 { return true }
        if symbols.count < 14, !hasLarge, new != .largeDelta { return true }
        return symbols.count < Self.maxRun && isRun && symbol(0) == UInt16(new.rawValue)
    }

    mutating func add(_ new: FeedbackSymbol) {
        if symbols.count < 14 { symbols.low |= UInt32(new.rawValue) << (2 * UInt32(symbols.count)) }
        isRun = isRun && symbol(0) == UInt16(new.rawValue)
        hasLarge = hasLarge || new == .largeDelta
        symbols.count += 1
    }

    /// The chunk to write when another symbol does not fit; what a seven-symbol chunk leaves over stays.
    mutating func takeFull() -> UInt16 {
        if isRun { return takeRun() }
        if symbols.count == 14, !hasLarge { return takeBits() }
        return takePairs()
    }

    /// The next of the last chunks.
    mutating func takeRest() -> UInt16 {
        if isRun { return takeRun() }
        return hasLarge || symbols.count <= 7 ? takePairs() : takeBits()
    }

    private mutating func takeRun() -> UInt16 {
        defer { self = FeedbackChunkPacker() }
        return symbol(0) << 13 | UInt16(symbols.count)
    }

    private mutating func takeBits() -> UInt16 {
        defer { self = FeedbackChunkPacker() }
        var chunk: UInt16 = 0x8000
        for index in 0..<min(symbols.count, 14) { chunk |= symbol(index) << (13 - UInt16(index)) }
        return chunk
    }

    private mutating func takePairs() -> UInt16 {
        var chunk: UInt16 = 0xC000
        for index in 0..<min(symbols.count, 7) { chunk |= symbol(index) << (12 - 2 * UInt16(index)) }
        let rest = (low: symbols.low >> 14, count: max(0, symbols.count - 7))
        self = FeedbackChunkPacker()
        for index in 0..<rest.count {
            if let symbol = FeedbackSymbol(rawValue: UInt8(rest.low >> (2 * UInt32(index)) & 3)) { add(symbol) }
        }
        return chunk
    }
}
