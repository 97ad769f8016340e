import RTCBase
import RTCCodec

@testable import RTCPeer

/// BGRA pictures for tests of publishing: a pattern that moves, with a block per bit of the picture's number in the first
/// rows, bright for 1, large enough to survive the codec and any step of the resolution.
enum PushedPictures {
    /// Tight rows.
    static func bgra(width: Int, height: Int, number: Int) -> [UInt8] {
        var pixels = [UInt8](repeating: 255, count: width * height * 4)
        let block = max(1, width / bits)
        pixels.withUnsafeMutableBytes { pixels in
            var y = 0
            while y < height {
                var x = 0
                while x < width {
                    let value =
                        y < height / 4
                        ? (number >> min(x / block, bits - 1) & 1 == 1 ? 220 : 30)
                        : 64 + ((x + 3 * number) ^ (y + number)) & 0x7F
                    let at = (y * width + x) * 4
                    pixels[at] = UInt8(truncatingIfNeeded: value)
                    pixels[at + 1] = UInt8(truncatingIfNeeded: value)
                    pixels[at + 2] = UInt8(truncatingIfNeeded: value)
                    x += 1
                }
                y += 1
            }
        }
        return pixels
    }

    /// The same as an encode worker takes it.
    static func planes(width: Int, height: Int, number: Int, pool: FrameBufferPool) -> PlanarFrame {
        bgra(width: width, height: height, number: number).withUnsafeBytes { pixels in
            PixelConverter.bgraToI420(pixels, width: width, height: height, pool: pool)!
        }
    }

    /// The number drawn in a decoded picture, modulo 256.
    static func number(_ picture: PlanarFrame) -> Int {
        let block = Double(picture.width) / Double(bits)
        var number = 0
        for bit in 0..<bits {
            let x = Int((Double(bit) + 0.5) * block)
            if picture.planeY[picture.height / 8 * picture.strideY + x] > 120 { number |= 1 << bit }
        }
        return number
    }

    private static let bits = 8
}

extension LocalTrack {
    @discardableResult
    func push(width: Int, height: Int, number: Int, metadata: FrameMetadata = FrameMetadata()) -> Bool {
        PushedPictures.bgra(width: width, height: height, number: number).withUnsafeBytes {
            push(bgra: $0, width: width, height: height, metadata: metadata)
        }
    }
}
