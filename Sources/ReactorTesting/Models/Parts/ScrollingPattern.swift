/// A picture of coloured squares that scrolls by four pixels from one to the next and repeats after a width.
struct ScrollingPattern: Sendable {
    let width: Int
    let height: Int
    /// Twice as wide as a picture, so that a scrolled one is a piece of each row.
    private let texture: [UInt32]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        let noise = SceneNoise(seed: 7)
        var texture = [UInt32](repeating: 0, count: 2 * width * height)
        for y in 0..<height {
            for x in 0..<width {
                let (coarse, fine) = (noise.bits(x / 64 + y / 64 * 977), noise.bits(1_000_000 + x / 16 + y / 16 * 977))
                func channel(_ shift: UInt64) -> UInt32 { UInt32(68 + (coarse >> shift & 0x5F) + (fine >> shift & 0x1F)) }
                let pixel = 0xFF00_0000 | channel(0) << 16 | channel(8) << 8 | channel(16)
                texture[y * 2 * width + x] = pixel
                texture[y * 2 * width + width + x] = pixel
            }
        }
        self.texture = texture
    }

    func paint(_ number: Int, on canvas: Canvas) {
        guard canvas.width == width, canvas.height == height else { return }
        let offset = number * 4 % width
        texture.withUnsafeBufferPointer { texture in
            for y in 0..<height { canvas.row(y).update(from: texture.baseAddress! + y * 2 * width + offset, count: width) }
        }
    }
}
