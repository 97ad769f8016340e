import Foundation
import Glibc

/// Pictures with counter blocks for whoever reads them as `Peers/blocks.py` does: a texture that scrolls, and the blocks on
/// top, B, G, R, A.
struct CounterPattern {
    let width: Int
    let height: Int
    /// The texture, as wide as two pictures, so that a scrolled one is a copy of rows.
    private let texture: [UInt8]
    private var pixels: [UInt8]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        var texture = [UInt8](repeating: 255, count: 2 * width * height * 4)
        for y in 0..<height {
            for x in 0..<width {
                let light = UInt8(64 + ((x >> 4 &* 37) ^ (y >> 4 &* 59)) % 96 + (x * 60 / width))
                for place in [(y * 2 * width + x) * 4, (y * 2 * width + x + width) * 4] {
                    texture[place] = light
                    texture[place + 1] = light &+ UInt8(y >> 5 & 31)
                    texture[place + 2] = 200 &- light / 2
                }
            }
        }
        self.texture = texture
        pixels = [UInt8](repeating: 255, count: width * height * 4)
    }

    /// Picture `number`, stamped with the monotonic clock of now; valid during `body`.
    mutating func withPicture<R>(_ number: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let offset = number * 4 % width
        let (width, height) = (width, height)
        return try pixels.withUnsafeMutableBytes { pixels in
            texture.withUnsafeBytes { texture in
                for y in 0..<height {
                    memcpy(pixels.baseAddress! + y * width * 4, texture.baseAddress! + (y * 2 * width + offset) * 4, width * 4)
                }
            }
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            Self.draw(number, milliseconds: now.tv_sec * 1000 + now.tv_nsec / 1_000_000, pixels, width: width, height: height)
            return try body(UnsafeRawBufferPointer(pixels))
        }
    }

    private static func draw(_ number: Int, milliseconds: Int, _ pixels: UnsafeMutableRawBufferPointer, width: Int, height: Int) {
        let (cellWidth, cellHeight) = (width / 16, height / 24)
        for (index, word) in [number & 0xFF_FFFF, milliseconds & 0xFF_FFFF].enumerated() {
            let value = word << 8 | Int(CounterBlocks.check(UInt32(word)))
            for bit in 0..<32 {
                let level: Int32 = value >> (31 - bit) & 1 == 1 ? 235 : 16
                let x = bit % 16 * cellWidth
                let top = (index * 2 + bit / 16) * cellHeight
                for y in top..<top + cellHeight { memset(pixels.baseAddress! + (y * width + x) * 4, level, cellWidth * 4) }
            }
        }
    }
}
