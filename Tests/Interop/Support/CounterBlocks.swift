import Foundation
import Glibc
import Reactor

/// The numbers that `Peers/blocks.py` paints into each frame: 16 columns by 4 rows of black and white cells, two words of 24
/// bits, each with a check of 8. They say which frame this is and how old it is, at any scale.
struct CounterBlocks: Sendable, Hashable {
    /// The model's frame number, 24 bits.
    var counter: Int
    /// The sender's monotonic clock in milliseconds, 24 bits.
    var clockMilliseconds: Int

    /// Reads a BGRA picture, rows tightly packed; nil when a check does not fit.
    init?(pixels: Data, width: Int, height: Int) {
        let columns = 16
        let cellWidth = width / columns
        let cellHeight = height / 24
        guard cellWidth >= 2, cellHeight >= 2, pixels.count >= width * height * 4 else { return nil }
        let words: [UInt32] = pixels.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
            (0..<2).map { word in
                (0..<32).reduce(UInt32(0)) { value, bit in
                    let x = (bit % columns) * cellWidth + cellWidth / 2
                    let y = (word * 2 + bit / columns) * cellHeight + cellHeight / 2
                    let green: UInt8 = bytes[(y * width + x) * 4 + 1]
                    return value << 1 | (green > 127 ? 1 : 0)
                }
            }
        }
        guard words.allSatisfy({ UInt8($0 & 0xFF) == Self.check($0 >> 8) }) else { return nil }
        counter = Int(words[0] >> 8)
        clockMilliseconds = Int(words[1] >> 8)
    }

    init?(_ frame: VideoFrame) { self.init(pixels: frame.pixels, width: Int(frame.width), height: Int(frame.height)) }

    static func check(_ word: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: word ^ word >> 8 ^ word >> 16 ^ 0x5A) }

    /// How old the frame is, for a sender on this machine.
    var ageMilliseconds: Int {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let milliseconds = now.tv_sec * 1000 + now.tv_nsec / 1_000_000
        return (milliseconds - clockMilliseconds) & 0xFF_FFFF
    }
}
