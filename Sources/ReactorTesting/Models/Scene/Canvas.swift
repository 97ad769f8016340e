// The pixels of one picture and the ways to draw on them. Pixels are 32-bit words, B, G, R, A in memory on the little-endian
// machines this runs on. Every function clips to the picture; the row loops are plain so that they vectorize.

/// A picture that is being drawn, rows without padding.
struct Canvas {
    // Borrowed for the length of the closure that made the canvas; all places are clipped to width x height below.
    private let pixels: UnsafeMutablePointer<UInt32>
    let width: Int
    let height: Int

    /// - Precondition: `bytes` holds `width * height * 4` bytes.
    init(_ bytes: UnsafeMutableRawBufferPointer, width: Int, height: Int) {
        precondition(width > 0 && height > 0 && bytes.count >= width * height * 4)
        pixels = bytes.baseAddress!.assumingMemoryBound(to: UInt32.self)
        self.width = width
        self.height = height
    }

    /// The pixels of row `y`, which must lie in the picture.
    @inline(__always)
    func row(_ y: Int) -> UnsafeMutablePointer<UInt32> {
        precondition(y >= 0 && y < height)
        return pixels + y * width
    }

    func fillRow(_ y: Int, _ pixel: UInt32) { row(y).update(repeating: pixel, count: width) }

    func fill(x: Int, y: Int, width: Int, height: Int, _ pixel: UInt32, weight: UInt32 = 256) {
        let columns = max(0, x)..<max(max(0, x), min(self.width, x + width))
        for y in max(0, y)..<max(max(0, y), min(self.height, y + height)) {
            let row = row(y)
            if weight >= 256 {
                (row + columns.lowerBound).update(repeating: pixel, count: columns.count)
            } else {
                for x in columns { row[x] = Canvas.mix(row[x], pixel, weight) }
            }
        }
    }

    @inline(__always)
    func blend(x: Int, y: Int, _ pixel: UInt32, weight: UInt32) {
        guard x >= 0, x < width, y >= 0, y < height else { return }
        let place = pixels + (y * width + x)
        place.pointee = Canvas.mix(place.pointee, pixel, weight)
    }

    /// Mixes in a whole picture of the same size.
    func blend(_ other: Canvas, weight: UInt32) {
        guard other.width == width, other.height == height else { return }
        for place in 0..<width * height { pixels[place] = Canvas.mix(pixels[place], other.pixels[place], weight) }
    }

    func blend(_ other: [UInt32], weight: UInt32) {
        guard other.count == width * height else { return }
        other.withUnsafeBufferPointer { other in
            for place in 0..<width * height { pixels[place] = Canvas.mix(pixels[place], other[place], weight) }
        }
    }

    /// `weight` 0 is all `under`, 256 all `over`.
    @inline(__always)
    static func mix(_ under: UInt32, _ over: UInt32, _ weight: UInt32) -> UInt32 {
        let rest = 256 &- weight
        let redBlue = ((under & 0xFF00FF) &* rest &+ (over & 0xFF00FF) &* weight) >> 8 & 0xFF00FF
        let green = ((under & 0xFF00) &* rest &+ (over & 0xFF00) &* weight) >> 8 & 0xFF00
        return 0xFF00_0000 | redBlue | green
    }
}
