import Foundation
import Glibc

/// Pictures to push, as `Peers/blocks.py` makes them: a texture that scrolls without ever jumping, and the counter blocks on
/// top; with a band of noise below that no encoder can predict, so that a picture is as hard as wanted.
///
/// Used by one thread at a time.
final class PicturePainter: @unchecked Sendable {  // handed to the one thread that pushes
    let width: Int
    let height: Int
    /// BGRA, rows without padding.
    private(set) var pixels: [UInt8]
    /// Two screens side by side, the second the first once more.
    private let texture: [UInt8]
    private let noise: [UInt8]
    private let noiseRows: Int
    private var random = Random(state: 7)

    /// - Parameters:
    ///   - detail: how hard the texture is, 0 to 1.
    ///   - noiseShare: the share of the height that is new noise in every picture.
    init(width: Int, height: Int, detail: Double = 0.5, noiseShare: Double = 0.1) {
        self.width = width
        self.height = height
        pixels = [UInt8](repeating: 255, count: width * height * 4)
        noiseRows = Int(Double(height) * noiseShare)
        var random = Random(state: 99)
        texture = Self.makeTexture(width, height, detail, &random)
        noise = (0..<(1 << 20)).map { $0 % 4 == 3 ? 255 : UInt8(112 + random.next() % 32) }
    }

    /// The picture with this number, drawn now.
    func paint(counter: Int) {
        let offset = counter * 4 % width
        let clock = CounterBlocks.clockMilliseconds
        pixels.withUnsafeMutableBytes { target in
            texture.withUnsafeBytes { source in
                for row in 0..<(height - noiseRows) {
                    copy(source, at: (row * width * 2 + offset) * 4, to: target, row: row)
                }
            }
            noise.withUnsafeBytes { source in
                for row in (height - noiseRows)..<height {
                    copy(source, at: Int(random.next() % UInt64((source.count - width * 4) / 4)) * 4, to: target, row: row)
                }
            }
            CounterBlocks.draw(counter, clockMilliseconds: clock, into: target, width: width, height: height)
        }
    }

    private func copy(_ source: UnsafeRawBufferPointer, at offset: Int, to target: UnsafeMutableRawBufferPointer, row: Int) {
        let count = width * 4
        target.baseAddress!.advanced(by: row * count).copyMemory(from: source.baseAddress!.advanced(by: offset), byteCount: count)
    }

    /// Mean red, green and blue where the probe measures them: below the blocks, every eighth pixel of every eighth row.
    var meanRGB: [Double] {
        var sums = [0.0, 0.0, 0.0]
        var count = 0.0
        for y in stride(from: height / 4, to: height, by: 8) {
            for x in stride(from: 0, to: width, by: 8) {
                for channel in 0..<3 { sums[channel] += Double(pixels[(y * width + x) * 4 + 2 - channel]) }
                count += 1
            }
        }
        return sums.map { $0 / count }
    }

    private static func makeTexture(_ width: Int, _ height: Int, _ detail: Double, _ random: inout Random) -> [UInt8] {
        var sums = [Float](repeating: 128, count: width * height * 3)
        for (step, gain) in [(64, 60.0), (16, 40 * detail), (4, 25 * detail)] {
            let columns = width / step + 1
            for cellY in 0...(height / step) {
                let cells = (0..<(columns * 3)).map { _ in Float(random.normal() * gain) }
                for y in (cellY * step)..<min(height, (cellY + 1) * step) {
                    for x in 0..<width {
                        for channel in 0..<3 { sums[(y * width + x) * 3 + channel] += cells[x / step * 3 + channel] }
                    }
                }
            }
        }
        var texture = [UInt8](repeating: 255, count: width * height * 8)
        for y in 0..<height {
            for x in 0..<(2 * width) {
                for channel in 0..<3 {
                    texture[(y * width * 2 + x) * 4 + channel] = UInt8(max(0, min(255, sums[(y * width + x % width) * 3 + channel])))
                }
            }
        }
        return texture
    }

    /// xorshift64, so that every run paints the same.
    private struct Random {
        var state: UInt64

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }

        /// About standard normal: twelve uniform ones summed.
        mutating func normal() -> Double { (0..<12).reduce(-6.0) { sum, _ in sum + Double(next() >> 11) / Double(1 << 53) } }
    }
}

extension CounterBlocks {
    /// This machine's monotonic clock as the blocks carry it.
    static var clockMilliseconds: Int {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return (now.tv_sec * 1000 + now.tv_nsec / 1_000_000) & 0xFF_FFFF
    }

    /// Paints the blocks onto a BGRA picture with tightly packed rows; the counterpart of the reader.
    static func draw(_ counter: Int, clockMilliseconds: Int, into pixels: UnsafeMutableRawBufferPointer, width: Int, height: Int) {
        let columns = 16
        let cellWidth = width / columns
        let cellHeight = height / 24
        let words = [counter, clockMilliseconds].map { value in
            let word = UInt32(truncatingIfNeeded: value & 0xFF_FFFF)
            return word << 8 | UInt32(check(word))
        }
        for (word, bits) in words.enumerated() {
            for bit in 0..<32 {
                let level: UInt8 = bits >> UInt32(31 - bit) & 1 == 1 ? 235 : 16
                let top = (word * 2 + bit / columns) * cellHeight
                let left = bit % columns * cellWidth
                for y in top..<(top + cellHeight) {
                    for x in left..<(left + cellWidth) {
                        pixels.storeBytes(
                            of: UInt32(level) * 0x01_0101 | 0xFF00_0000, toByteOffset: (y * width + x) * 4, as: UInt32.self)
                    }
                }
            }
        }
    }
}
