import Foundation
import RTCBase
import RTCCodec

/// The shared vectors, beside the package or where `REACTOR_SHARED` says.
enum Vectors {
    static let folder: URL? = {
        let shared =
            if let path = ProcessInfo.processInfo.environment["REACTOR_SHARED"] {
                URL(fileURLWithPath: path)
            } else {
                URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
                    .deletingLastPathComponent().appendingPathComponent("shared")
            }
        let folder = shared.appendingPathComponent("vectors/vp8")
        return FileManager.default.fileExists(atPath: folder.path) ? folder : nil
    }()

    static let streams: [String] = {
        guard let folder, let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else { return [] }
        return names.filter { $0.hasSuffix(".ivf") }.sorted()
    }()

    /// Frames of an IVF file: a 32-byte header, then a 12-byte header (size, timestamp) before each frame.
    static func frames(_ name: String) throws -> [[UInt8]] {
        guard let folder else { return [] }
        let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
        var frames: [[UInt8]] = []
        var offset = 32
        while offset + 12 <= bytes.count {
            let size = (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
            frames.append(Array(bytes[(offset + 12)..<(offset + 12 + size)]))
            offset += 12 + size
        }
        return frames
    }

    /// (md5, "WIDTHxHEIGHT") of each frame.
    static func sums(_ name: String) throws -> [(md5: String, size: String)] {
        guard let folder else { return [] }
        let text = try String(contentsOf: folder.appendingPathComponent(name + ".md5"), encoding: .utf8)
        return text.split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            let parts = words[1].split(separator: "-")
            return (String(words[0]), String(parts[parts.count - 2]))
        }
    }
}

extension EncodedFrame {
    init(_ bytes: [UInt8], codec: VideoCodec, rtpTimestamp: UInt32 = 0) {
        self.init(
            codec: codec, bytes: MediaBytes(copying: bytes.span.bytes), isKeyFrame: false, rtpTimestamp: rtpTimestamp, ssrc: 1,
            firstPacketTime: MonotonicTime(nanoseconds: 1), completeTime: MonotonicTime(nanoseconds: 2))
    }

    var array: [UInt8] { [UInt8](bytes.buffer) }
}

/// Pictures made by rule, and their comparison.
enum Pictures {
    /// A smooth picture that moves with `time`; both chroma planes vary to the last row and column.
    static func moving(width: Int, height: Int, time: Int, pool: FrameBufferPool) -> PlanarFrame {
        var frame = PlanarFrame(width: width, height: height, pool: pool)
        frame.rtpTimestamp = UInt32(truncatingIfNeeded: time * 3000)
        fill(frame.planeY, frame.strideY, width, height) { x, y in 40 + (x + 3 * time + y / 2) % 160 }
        fill(frame.planeU, frame.strideU, frame.chromaWidth, frame.chromaHeight) { x, y in 60 + (x + time) % 128 / 2 + y % 64 }
        fill(frame.planeV, frame.strideV, frame.chromaWidth, frame.chromaHeight) { x, y in 200 - (y + time) % 128 / 2 - x % 64 }
        return frame
    }

    static func flat(width: Int, height: Int, y: UInt8, u: UInt8, v: UInt8, pool: FrameBufferPool) -> PlanarFrame {
        let frame = PlanarFrame(width: width, height: height, pool: pool)
        fill(frame.planeY, frame.strideY, width, height) { _, _ in Int(y) }
        fill(frame.planeU, frame.strideU, frame.chromaWidth, frame.chromaHeight) { _, _ in Int(u) }
        fill(frame.planeV, frame.strideV, frame.chromaWidth, frame.chromaHeight) { _, _ in Int(v) }
        return frame
    }

    private static func fill(_ plane: UnsafeMutablePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int, _ value: (Int, Int) -> Int) {
        var y = 0
        while y < height {
            let row = plane + y * stride
            var x = 0
            while x < width {
                row[x] = UInt8(truncatingIfNeeded: value(x, y))
                x += 1
            }
            y += 1
        }
    }

    /// Root of the mean squared difference of each plane, at most 255.
    static func difference(_ a: PlanarFrame, _ b: PlanarFrame) -> (y: Double, u: Double, v: Double) {
        guard a.width == b.width, a.height == b.height else { return (255, 255, 255) }
        return (
            difference(a.planeY, a.strideY, b.planeY, b.strideY, a.width, a.height),
            difference(a.planeU, a.strideU, b.planeU, b.strideU, a.chromaWidth, a.chromaHeight),
            difference(a.planeV, a.strideV, b.planeV, b.strideV, a.chromaWidth, a.chromaHeight)
        )
    }

    private static func difference(
        _ a: UnsafeMutablePointer<UInt8>, _ strideA: Int, _ b: UnsafeMutablePointer<UInt8>, _ strideB: Int, _ width: Int, _ height: Int
    ) -> Double {
        var sum = 0
        var y = 0
        while y < height {
            var x = 0
            while x < width {
                let delta = Int(a[y * strideA + x]) &- Int(b[y * strideB + x])
                sum &+= delta &* delta
                x &+= 1
            }
            y &+= 1
        }
        return (Double(sum) / Double(width * height)).squareRoot()
    }

    static func md5(_ frame: PlanarFrame) -> String {
        let count = PixelConverter.tightByteCount(width: frame.width, height: frame.height)
        return withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer in
            PixelConverter.copyTight(frame, into: buffer) ? MD5.hex(UnsafeRawBufferPointer(buffer)) : "not copied"
        }
    }

    /// `count` frames of a moving picture, the first a key frame.
    static func encoded(_ codec: VideoCodec, width: Int, height: Int, count: Int, pool: FrameBufferPool) throws -> [EncodedFrame] {
        let encoder = try VPXEncoder(settings: .init(codec: codec, bitsPerSecond: 500_000))
        return try (0..<count).compactMap { time in
            try encoder.encode(moving(width: width, height: height, time: time, pool: pool), pool: pool)
        }
    }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
