import Testing

@testable import ReactorTesting

/// The blocks of a picture, read as `Peers/blocks.py` reads them.
struct BlockReading: Equatable {
    var counter: Int
    var clock: Int

    init(counter: Int, clock: Int) {
        self.counter = counter
        self.clock = clock
    }

    init?(_ picture: Picture) {
        let (cellHeight, cellWidth) = (picture.height / 24, picture.width / 16)
        guard cellHeight >= 2, cellWidth >= 2 else { return nil }
        var words: [Int] = []
        for half in 0..<2 {
            var value = 0
            for bit in 0..<32 {
                let y = Int((Double(half * 2 + bit / 16) + 0.5) * Double(cellHeight))
                let x = Int((Double(bit % 16) + 0.5) * Double(cellWidth))
                value = value << 1 | (picture.pixels[y * picture.width + x] >> 8 & 0xFF > 127 ? 1 : 0)
            }
            let word = value >> 8
            guard value & 0xFF == (word ^ word >> 8 ^ word >> 16 ^ 0x5A) & 0xFF else { return nil }
            words.append(word)
        }
        self.init(counter: words[0], clock: words[1])
    }
}

@Suite("Counter blocks")
struct CounterBlocksTests {
    @Test("Number and clock are read back, at any size", arguments: [(64, 48), (160, 90), (640, 360), (1_282, 722)])
    func readBack(width: Int, height: Int) {
        for (number, clock) in [(0, 0), (1, 0xFF_FFFF), (0xABCDEF, 0x123456), (0x1_000_007, -1)] {
            let picture = Picture(width: width, height: height) {
                CounterBlocks.paint(number: number, milliseconds: clock, on: $0)
            }
            #expect(BlockReading(picture) == BlockReading(counter: number & 0xFF_FFFF, clock: clock & 0xFF_FFFF))
        }
    }

    @Test("The model's own reader agrees")
    func ownReader() throws {
        let picture = Picture(width: 320, height: 180) { CounterBlocks.paint(number: 4_711, milliseconds: 99, on: $0) }
        let reading = try #require(
            picture.pixels.withUnsafeBytes { CounterBlocks.read($0, width: 320, height: 180) })
        #expect(reading.number == 4_711 && reading.milliseconds == 99)
        let noise = Picture("hills", width: 320, height: 180)
        #expect(noise.pixels.withUnsafeBytes { CounterBlocks.read($0, width: 320, height: 180) } == nil)
        #expect(noise.pixels.withUnsafeBytes { CounterBlocks.read($0, width: 640, height: 360) } == nil, "too few bytes")
    }
}
