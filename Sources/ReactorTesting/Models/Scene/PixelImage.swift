/// A decoded picture, for backdrops: 32-bit pixels, B, G, R, A in memory, rows without padding.
struct PixelImage: Sendable {
    let width: Int
    let height: Int
    let pixels: [UInt32]

    init?(width: Int, height: Int, pixels: [UInt32]) {
        guard width > 0, height > 0, pixels.count == width * height else { return nil }
        self.width = width
        self.height = height
        self.pixels = pixels
    }

    /// Scaled so that it covers the size, the rest cut off evenly; each pixel is the mean of up to 4 x 4 of the picture.
    func covering(width targetWidth: Int, height targetHeight: Int) -> [UInt32] {
        let scale = min(Double(width) / Double(targetWidth), Double(height) / Double(targetHeight))
        let left = (Double(width) - scale * Double(targetWidth)) / 2
        let top = (Double(height) - scale * Double(targetHeight)) / 2
        let samples = max(1, min(4, Int(scale.rounded(.up))))
        var result = [UInt32](repeating: 0, count: targetWidth * targetHeight)
        for y in 0..<targetHeight {
            for x in 0..<targetWidth {
                var (red, green, blue) = (0, 0, 0)
                for part in 0..<samples * samples {
                    let u = left + (Double(x) + (Double(part % samples) + 0.5) / Double(samples)) * scale
                    let v = top + (Double(y) + (Double(part / samples) + 0.5) / Double(samples)) * scale
                    let pixel = pixels[min(height - 1, Int(v)) * width + min(width - 1, Int(u))]
                    red += Int(pixel >> 16 & 0xFF)
                    green += Int(pixel >> 8 & 0xFF)
                    blue += Int(pixel & 0xFF)
                }
                let count = samples * samples
                result[y * targetWidth + x] = 0xFF00_0000 | UInt32(red / count) << 16 | UInt32(green / count) << 8 | UInt32(blue / count)
            }
        }
        return result
    }

    /// The same picture, opaque: what is transparent gets dark.
    var onBlack: PixelImage {
        var opaque = pixels
        for place in opaque.indices {
            let alpha = opaque[place] >> 24
            opaque[place] = Canvas.mix(0, opaque[place], alpha + (alpha >> 7))
        }
        return PixelImage(width: width, height: height, pixels: opaque) ?? self
    }
}
