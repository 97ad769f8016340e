import RTCBase
import RTCCodec
import RTCSimulation

/// Decoding of 720p and the conversion to BGRA, per frame.
enum CodecBenchmark {
    static func run(_ options: BenchmarkOptions, into report: inout BenchmarkReport) throws {
        let pool = FrameBufferPool(maxCached: 6)
        let copy = copySamples(options, pool: pool)
        for codec in [VideoCodec.vp9, .vp8] {
            let name = "decode/\(codec.rawValue.lowercased())-720p"
            guard options.includes(name) else { continue }
            let frames = try encode(codec, count: options.isSmoke ? 20 : 90)
            let samples = try Stopwatch.samples(options.sampleCount, units: frames.count * 1_000_000) {
                let decoder = try VPXDecoder(codec: codec)
                for frame in frames {
                    guard let picture = try decoder.decode(frame, pool: pool) else { throw BenchmarkFailure("\(name): no picture") }
                    consume(picture)
                }
            }
            report.add(name, unit: "ms/frame", samples: samples, reference: ("memcpy of the picture", copy))
        }
        if options.includes("convert/i420-bgra-720p") { try convert(options, pool: pool, copy: copy, into: &report) }
    }

    private static func convert(
        _ options: BenchmarkOptions, pool: FrameBufferPool, copy: [Double], into report: inout BenchmarkReport
    ) throws {
        var source = TestPicture()
        let picture = source.next(pool: pool)
        let pixels = UnsafeMutableRawBufferPointer.allocate(byteCount: width * height * 4, alignment: 64)
        defer { pixels.deallocate() }
        let count = options.isSmoke ? 20 : 100
        let samples = try Stopwatch.samples(options.sampleCount, units: count * 1_000_000) {
            for _ in 0..<count {
                guard PixelConverter.i420ToBGRA(picture, into: pixels) else { throw BenchmarkFailure("conversion refused") }
            }
        }
        report.add("convert/i420-bgra-720p", unit: "ms/frame", samples: samples, reference: ("memcpy of the picture", copy))
    }

    private static func encode(_ codec: VideoCodec, count: Int) throws -> [EncodedFrame] {
        let encoder = try VPXEncoder(settings: .init(codec: codec, bitsPerSecond: 6_000_000))
        let pool = FrameBufferPool(maxCached: 2)
        var source = TestPicture()
        return try (0..<count).compactMap { _ in try encoder.encode(source.next(pool: pool), pool: pool) }
    }

    /// Milliseconds to copy the planes of one picture.
    private static func copySamples(_ options: BenchmarkOptions, pool: FrameBufferPool) -> [Double] {
        let source = PlanarFrame(width: width, height: height, pool: pool)
        let target = PlanarFrame(width: width, height: height, pool: pool)
        source.memory.base.initializeMemory(as: UInt8.self, repeating: 1, count: source.memory.count)
        return Stopwatch.samples(options.sampleCount, units: 50 * 1_000_000) {
            for _ in 0..<50 {
                target.memory.base.copyMemory(from: source.memory.base, byteCount: source.memory.count)
                consume(target)
            }
        }
    }

    fileprivate static let width = 1280
    fileprivate static let height = 720
}

/// A moving pattern with grain, so that an encoder has to spend its bitrate.
private struct TestPicture {
    private var index = 0
    private var generator = SplitMix64(seed: 7)

    mutating func next(pool: FrameBufferPool) -> PlanarFrame {
        var picture = PlanarFrame(width: CodecBenchmark.width, height: CodecBenchmark.height, pool: pool)
        picture.rtpTimestamp = UInt32(index * 3000)
        for y in 0..<CodecBenchmark.height {
            let row = picture.planeY + y * picture.strideY
            var noise = generator.next()
            for x in 0..<CodecBenchmark.width {
                if x % 16 == 0 { noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407 }
                let wave = (x + index * 4) / 8 ^ (y + index * 2) / 8
                row[x] = UInt8(truncatingIfNeeded: 64 + (wave & 0x3F) * 2 + Int(noise >> UInt64(x % 16 * 4) & 0xF))
            }
        }
        for y in 0..<picture.chromaHeight {
            for x in 0..<picture.chromaWidth {
                picture.planeU[y * picture.strideU + x] = UInt8(truncatingIfNeeded: 96 + (x + index) / 10)
                picture.planeV[y * picture.strideV + x] = UInt8(truncatingIfNeeded: 96 + (y + index) / 6)
            }
        }
        index += 1
        return picture
    }
}
