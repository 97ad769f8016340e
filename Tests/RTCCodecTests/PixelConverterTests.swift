import RTCBase
import RTCCodec
import Testing

@Suite("PixelConverter")
struct PixelConverterTests {
    @Test("VID-11 every pixel to the last column is right, whatever the width", arguments: [638, 642, 853, 1, 3, 640])
    func lastColumn(width: Int) throws {
        let height = 5
        let frame = Pictures.moving(width: width, height: height, time: 1, pool: FrameBufferPool())
        var bgra = [UInt8](repeating: 0xa5, count: width * height * 4 + 16)
        let size = width * height * 4
        let done = bgra.withUnsafeMutableBytes {
            PixelConverter.i420ToBGRA(frame, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<size]))
        }
        #expect(done)
        #expect(bgra[size...].allSatisfy { $0 == 0xa5 }, "wrote past the end")
        var worst = 0
        for y in 0..<height {
            for x in [0, width / 2, max(0, width - 2), width - 1] {
                let expected = Self.rgb(frame, x, y)
                let at = (y * width + x) * 4
                worst = max(
                    worst, abs(Int(bgra[at]) - expected.b), abs(Int(bgra[at + 1]) - expected.g), abs(Int(bgra[at + 2]) - expected.r))
                #expect(bgra[at + 3] == 255)
            }
        }
        #expect(worst <= 3)
    }

    @Test("VID-11 padding between rows is respected and left alone", arguments: [638, 642, 853])
    func padding(width: Int) throws {
        let height = 4
        let stride = width * 4 + 52
        let frame = Pictures.moving(width: width, height: height, time: 2, pool: FrameBufferPool())
        var padded = [UInt8](repeating: 0x5a, count: stride * (height - 1) + width * 4)
        var tight = [UInt8](repeating: 0, count: width * height * 4)
        #expect(padded.withUnsafeMutableBytes { PixelConverter.i420ToBGRA(frame, into: $0, bytesPerRow: stride) })
        #expect(tight.withUnsafeMutableBytes { PixelConverter.i420ToBGRA(frame, into: $0) })
        for y in 0..<height {
            #expect(padded[(y * stride)..<(y * stride + width * 4)] == tight[(y * width * 4)..<((y + 1) * width * 4)])
            if y < height - 1 { #expect(padded[(y * stride + width * 4)..<((y + 1) * stride)].allSatisfy { $0 == 0x5a }) }
        }
        // And back: the padded rows give the picture that the tight ones give.
        let pool = FrameBufferPool()
        let a = try #require(
            padded.withUnsafeBytes { PixelConverter.bgraToI420($0, width: width, height: height, bytesPerRow: stride, pool: pool) })
        let b = try #require(tight.withUnsafeBytes { PixelConverter.bgraToI420($0, width: width, height: height, pool: pool) })
        #expect(Pictures.md5(a) == Pictures.md5(b))
    }

    @Test(
        "a picture is fitted into another size whole, in the middle, on black", arguments: [(64, 32), (32, 64), (33, 17), (64, 64), (1, 1)])
    func fit(size: (width: Int, height: Int)) throws {
        let pool = FrameBufferPool()
        var white = PlanarFrame(width: size.width, height: size.height, pool: pool)
        white.memory.base.initializeMemory(as: UInt8.self, repeating: 235, count: white.memory.count)
        white.rtpTimestamp = 77
        let (width, height) = (80, 48)
        let fitted = try #require(PixelConverter.fit(white, width: width, height: height, pool: pool))
        #expect(fitted.width == width && fitted.height == height && fitted.rtpTimestamp == 77)
        func luma(_ x: Int, _ y: Int) -> UInt8 { fitted.planeY[y * fitted.strideY + x] }
        let scale = min(80.0 / Double(size.width), 48.0 / Double(size.height))
        let inner = (Int((Double(size.width) * scale).rounded()), Int((Double(size.height) * scale).rounded()))
        let lit = (0..<height).reduce(0) { sum, y in sum + (0..<width).filter { luma($0, y) == 235 }.count }
        #expect(lit == inner.0 * inner.1)
        #expect(luma(width / 2, height / 2) == 235)
        if inner.0 < width { #expect(luma(0, height / 2) == 16 && luma(width - 1, height / 2) == 16) }
        if inner.1 < height { #expect(luma(width / 2, 0) == 16 && luma(width / 2, height - 1) == 16) }
        #expect(PixelConverter.fit(white, width: 0, height: 48, pool: pool) == nil)
        #expect(PixelConverter.fit(white, width: 20_000, height: 48, pool: pool) == nil)
    }

    @Test("VID-10 BGRA to I420 and back is close, for odd sizes too", arguments: [(64, 48), (175, 143), (853, 3), (1, 1), (2, 1)])
    func thereAndBack(size: (width: Int, height: Int)) throws {
        let (width, height) = size
        var original = [UInt8](repeating: 255, count: width * height * 4)
        for y in 0..<height {
            for x in 0..<width {
                let at = (y * width + x) * 4
                original[at] = UInt8(x * 200 / max(width, 64) + 20)
                original[at + 1] = UInt8(y * 200 / max(height, 64) + 30)
                original[at + 2] = UInt8((x + y) * 100 / max(width + height, 64) + 50)
            }
        }
        let pool = FrameBufferPool()
        let frame = try #require(original.withUnsafeBytes { PixelConverter.bgraToI420($0, width: width, height: height, pool: pool) })
        #expect(frame.chromaWidth == (width + 1) / 2 && frame.chromaHeight == (height + 1) / 2)
        var back = [UInt8](repeating: 0, count: original.count)
        #expect(back.withUnsafeMutableBytes { PixelConverter.i420ToBGRA(frame, into: $0) })
        #expect(zip(original, back).map { abs(Int($0) - Int($1)) }.max() ?? 255 <= 8)
    }

    @Test(
        "VID-10 a picture pushed as I420 or NV12 keeps its planes, for odd sizes too", arguments: [(64, 48), (175, 143), (853, 3), (1, 1)])
    func planes(size: (width: Int, height: Int)) throws {
        let (width, height) = size
        let pool = FrameBufferPool()
        let original = Pictures.moving(width: width, height: height, time: 3, pool: pool)
        var i420 = [UInt8](repeating: 0, count: PixelConverter.tightByteCount(width: width, height: height))
        #expect(i420.withUnsafeMutableBytes { PixelConverter.copyTight(original, into: $0) })
        let chroma = original.chromaWidth * original.chromaHeight
        var nv12 = Array(i420[..<(width * height)])
        for index in 0..<chroma { nv12 += [i420[width * height + index], i420[width * height + chroma + index]] }
        for (layout, bytes) in [(PixelLayout.i420, i420), (.nv12, nv12)] {
            let frame = bytes.withUnsafeBytes { PixelConverter.toI420($0, layout: layout, width: width, height: height, pool: pool) }
            #expect(Pictures.md5(try #require(frame)) == Pictures.md5(original), "\(layout)")
            // One byte short is refused.
            #expect(
                bytes.dropLast().withUnsafeBytes {
                    PixelConverter.toI420($0, layout: layout, width: width, height: height, pool: pool) == nil
                })
        }
    }

    @Test("Sizes that cannot be are refused in every layout", arguments: PixelLayout.allCases)
    func badSizes(layout: PixelLayout) {
        let bytes = [UInt8](repeating: 0, count: 64)
        for (width, height) in [(0, 4), (4, 0), (-1, 4), (4, -1), (Int.max, 4), (20_000, 1)] {
            #expect(
                bytes.withUnsafeBytes {
                    PixelConverter.toI420($0, layout: layout, width: width, height: height, pool: FrameBufferPool()) == nil
                })
        }
    }

    @Test("BGRA and RGBA go through the same door")
    func packedLayouts() throws {
        let pool = FrameBufferPool()
        let bgra: [UInt8] = (0..<(8 * 6)).flatMap { [UInt8(truncatingIfNeeded: $0 * 5), 90, 200, 255] as [UInt8] }
        let rgba: [UInt8] = (0..<(8 * 6)).flatMap { [200, 90, UInt8(truncatingIfNeeded: $0 * 5), 255] as [UInt8] }
        let one = bgra.withUnsafeBytes { PixelConverter.toI420($0, layout: .bgra, width: 8, height: 6, pool: pool) }
        let other = rgba.withUnsafeBytes { PixelConverter.toI420($0, layout: .rgba, width: 8, height: 6, pool: pool) }
        #expect(Pictures.md5(try #require(one)) == Pictures.md5(try #require(other)))
    }

    @Test("RGBA is BGRA with red and blue exchanged, both ways")
    func rgba() throws {
        let pool = FrameBufferPool()
        let frame = Pictures.moving(width: 101, height: 7, time: 4, pool: pool)
        var bgra = [UInt8](repeating: 0, count: 101 * 7 * 4)
        var rgba = bgra
        #expect(bgra.withUnsafeMutableBytes { PixelConverter.i420ToBGRA(frame, into: $0) })
        #expect(rgba.withUnsafeMutableBytes { PixelConverter.i420ToRGBA(frame, into: $0) })
        for at in stride(from: 0, to: bgra.count, by: 4) {
            #expect([bgra[at], bgra[at + 1], bgra[at + 2], bgra[at + 3]] == [rgba[at + 2], rgba[at + 1], rgba[at], rgba[at + 3]])
        }
        let a = try #require(bgra.withUnsafeBytes { PixelConverter.bgraToI420($0, width: 101, height: 7, pool: pool) })
        let b = try #require(rgba.withUnsafeBytes { PixelConverter.rgbaToI420($0, width: 101, height: 7, pool: pool) })
        let difference = Pictures.difference(a, b)
        #expect(max(difference.y, difference.u, difference.v) < 1)
    }

    @Test("known colours: BT.601 limited range")
    func colours() {
        let pool = FrameBufferPool()
        let cases: [(y: UInt8, u: UInt8, v: UInt8, bgr: [Int])] = [
            (16, 128, 128, [0, 0, 0]), (235, 128, 128, [255, 255, 255]), (81, 90, 240, [0, 0, 255]), (41, 240, 110, [255, 0, 0]),
        ]
        for (y, u, v, bgr) in cases {
            let frame = Pictures.flat(width: 4, height: 4, y: y, u: u, v: v, pool: pool)
            var pixels = [UInt8](repeating: 1, count: 64)
            #expect(pixels.withUnsafeMutableBytes { PixelConverter.i420ToBGRA(frame, into: $0) })
            #expect(zip(pixels, bgr).allSatisfy { abs(Int($0) - $1) <= 3 }, "\(pixels.prefix(4))")
        }
    }

    @Test("a buffer that is too small is refused and untouched")
    func tooSmall() {
        let pool = FrameBufferPool()
        let frame = Pictures.moving(width: 16, height: 4, time: 0, pool: pool)
        var pixels = [UInt8](repeating: 7, count: 16 * 4 * 4 - 1)
        #expect(!pixels.withUnsafeMutableBytes { PixelConverter.i420ToBGRA(frame, into: $0) })
        #expect(!pixels.withUnsafeMutableBytes { PixelConverter.i420ToBGRA(frame, into: $0, bytesPerRow: 63) })
        #expect(!pixels.withUnsafeMutableBytes { PixelConverter.i420ToBGRA(frame, into: $0, bytesPerRow: .max) })
        #expect(pixels.allSatisfy { $0 == 7 })
        #expect(pixels.withUnsafeBytes { PixelConverter.bgraToI420($0, width: 16, height: 4, pool: pool) } == nil)
        #expect(pixels.withUnsafeBytes { PixelConverter.bgraToI420($0, width: 0, height: 4, pool: pool) } == nil)
        var tight = [UInt8](repeating: 7, count: PixelConverter.tightByteCount(width: 16, height: 4) - 1)
        #expect(!tight.withUnsafeMutableBytes { PixelConverter.copyTight(frame, into: $0) })
        var broken = frame
        broken.strideY = 1 << 40
        #expect(!pixels.withUnsafeMutableBytes { PixelConverter.i420ToBGRA(broken, into: $0) })
    }

    @Test("scaling keeps the picture and its timestamps", arguments: [(160, 90), (639, 361), (33, 17)])
    func scale(size: (width: Int, height: Int)) throws {
        let pool = FrameBufferPool()
        var frame = Pictures.flat(width: 320, height: 180, y: 90, u: 60, v: 200, pool: pool)
        frame.rtpTimestamp = 77
        frame.metadata = FrameMetadata(frameID: 5)
        let scaled = try #require(PixelConverter.scale(frame, width: size.width, height: size.height, pool: pool))
        #expect(scaled.rtpTimestamp == 77 && scaled.metadata?.frameID == 5)
        let expected = Pictures.flat(width: size.width, height: size.height, y: 90, u: 60, v: 200, pool: pool)
        let difference = Pictures.difference(scaled, expected)
        #expect(max(difference.y, difference.u, difference.v) <= 1)
        #expect(PixelConverter.scale(frame, width: 0, height: 4, pool: pool) == nil)
        #expect(PixelConverter.scale(frame, width: 100_000, height: 4, pool: pool) == nil)
    }

    /// BT.601 limited range, as ITU-R BT.601 §2.5 has it, in floating point.
    private static func rgb(_ frame: PlanarFrame, _ x: Int, _ y: Int) -> (r: Int, g: Int, b: Int) {
        let luma = 1.164 * (Double(frame.planeY[y * frame.strideY + x]) - 16)
        let u = Double(frame.planeU[y / 2 * frame.strideU + x / 2]) - 128
        let v = Double(frame.planeV[y / 2 * frame.strideV + x / 2]) - 128
        func clamp(_ value: Double) -> Int { Int(min(255, max(0, value.rounded()))) }
        return (clamp(luma + 1.596 * v), clamp(luma - 0.813 * v - 0.391 * u), clamp(luma + 2.018 * u))
    }
}
