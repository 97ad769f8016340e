internal import Foundation

/// Moving pictures and a tone for whoever has no camera at hand. B, G, R, A bytes.
///
/// A coloured texture scrolls sideways; the two lines of blocks on top are the picture's number and the monotonic clock in
/// milliseconds, 24 bits each and 8 bits of check, most significant bit first and white for 1, so that a program can read
/// which picture it sees and how old it is.
struct TestPattern {
    let width: Int
    let height: Int
    /// As wide as two pictures, so that a scrolled one is a copy of rows.
    private let texture: [UInt8]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        var texture = [UInt8](repeating: 255, count: 2 * width * height * 4)
        for x in 0..<width {
            let hue = Self.hue(Double(x) / Double(width))
            for y in 0..<height {
                let light = 0.35 + 0.65 * Double(y) / Double(height)
                let isRaised = (x / 32 + y / 32).isMultiple(of: 2)
                let shade = isRaised ? light : light * 0.8
                for place in [(y * 2 * width + x) * 4, (y * 2 * width + x + width) * 4] {
                    texture[place] = UInt8(hue.blue * shade)
                    texture[place + 1] = UInt8(hue.green * shade)
                    texture[place + 2] = UInt8(hue.red * shade)
                }
            }
        }
        self.texture = texture
    }

    /// Draws picture `number` into `width * height * 4` bytes.
    func draw(_ number: Int, milliseconds: Int, into pixels: UnsafeMutableRawBufferPointer) {
        guard pixels.count >= width * height * 4, let base = pixels.baseAddress else { return }
        let offset = number * 4 % width
        texture.withUnsafeBytes { texture in
            guard let source = texture.baseAddress else { return }
            for y in 0..<height { memcpy(base + y * width * 4, source + (y * 2 * width + offset) * 4, width * 4) }
        }
        let (cellWidth, cellHeight) = (width / 16, height / 24)
        for (line, word) in [number & 0xFF_FFFF, milliseconds & 0xFF_FFFF].enumerated() {
            let value = word << 8 | Self.check(word)
            for bit in 0..<32 {
                let level: Int32 = value >> (31 - bit) & 1 == 1 ? 235 : 16
                let top = (line * 2 + bit / 16) * cellHeight
                for y in top..<top + cellHeight { memset(base + (y * width + bit % 16 * cellWidth) * 4, level, cellWidth * 4) }
            }
        }
    }

    /// Samples of a tone that goes up a scale, a note every half second; mono.
    static func tone(from sample: Int, count: Int, rate: Int) -> [Int16] {
        (sample..<sample + count).map { index in
            let note = [0, 2, 4, 5, 7, 9, 11, 12][index / (rate / 2) % 8]
            let frequency = 261.63 * pow(2, Double(note) / 12)
            let phase = Double(index % (rate / 2)) / Double(rate)
            // Without a fade each change of note clicks.
            let fade = min(1, phase * 100, (0.5 - phase) * 100)
            return Int16(4000 * fade * sin(2 * .pi * frequency * phase))
        }
    }

    private static func hue(_ turn: Double) -> (red: Double, green: Double, blue: Double) {
        func channel(_ shift: Double) -> Double { 127.5 + 127.5 * cos(2 * .pi * (turn - shift)) }
        return (channel(0), channel(1.0 / 3), channel(2.0 / 3))
    }

    private static func check(_ word: Int) -> Int { (word ^ word >> 8 ^ word >> 16 ^ 0x5A) & 0xFF }
}
