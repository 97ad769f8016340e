// The frame's number and the clock, painted into the picture so that they survive video coding: 16 columns by 4 rows of black and
// white cells from the top left, a 16th of the width by a 24th of the height each. Two words of 24 bits, most significant bit
// first, each followed by a check of 8: the number, and the monotonic clock in milliseconds. Any scaled copy reads the same way.

enum CounterBlocks {
    private static let columns = 16

    static func paint(number: Int, milliseconds: Int, on canvas: Canvas) {
        let (cellWidth, cellHeight) = (canvas.width / columns, canvas.height / 24)
        for (index, word) in [number, milliseconds].enumerated() {
            let value = UInt32(truncatingIfNeeded: word & 0xFF_FFFF) << 8 | check(UInt32(truncatingIfNeeded: word & 0xFF_FFFF))
            for bit in 0..<32 {
                let level: UInt32 = value >> UInt32(31 - bit) & 1 == 1 ? 235 : 16
                canvas.fill(
                    x: bit % columns * cellWidth, y: (index * 2 + bit / columns) * cellHeight, width: cellWidth, height: cellHeight,
                    0xFF00_0000 | level &* 0x010101)
            }
        }
    }

    /// Number and clock of a picture, B, G, R, A without padding; nil when a check does not fit.
    static func read(_ pixels: UnsafeRawBufferPointer, width: Int, height: Int) -> (number: Int, milliseconds: Int)? {
        let (cellWidth, cellHeight) = (width / columns, height / 24)
        guard cellWidth >= 2, cellHeight >= 2, pixels.count >= width * height * 4 else { return nil }
        var words: [UInt32] = []
        for word in 0..<2 {
            var value: UInt32 = 0
            for bit in 0..<32 {
                let x = bit % columns * cellWidth + cellWidth / 2
                let y = (word * 2 + bit / columns) * cellHeight + cellHeight / 2
                value = value << 1 | (pixels[(y * width + x) * 4 + 1] > 127 ? 1 : 0)
            }
            guard value & 0xFF == check(value >> 8) else { return nil }
            words.append(value >> 8)
        }
        return (Int(words[0]), Int(words[1]))
    }

    static func check(_ word: UInt32) -> UInt32 { (word ^ word >> 8 ^ word >> 16 ^ 0x5A) & 0xFF }
}
