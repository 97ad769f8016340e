package import RTCBase
import RTCCodec

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Flat pictures whose grey value tells their number, encoded as they are asked for. Used on one thread at a time.
package final class TestVideo: @unchecked Sendable {  // handed to one thread, the network thread or a test's own
    package let codec: VideoCodec
    private let width: Int
    private let height: Int
    private let encoder: VPXEncoder
    private let pool = FrameBufferPool()
    private let carriesMetadata: Bool
    private var number = 0

    package init(codec: VideoCodec = .vp8, width: Int = 64, height: Int = 48, carriesMetadata: Bool = false) throws {
        self.codec = codec
        self.width = width
        self.height = height
        self.carriesMetadata = carriesMetadata
        encoder = try VPXEncoder(
            settings: VPXEncoder.Settings(codec: codec, bitsPerSecond: 500_000, framesPerSecond: 30))
    }

    /// The luma of frame `number`, counted from 0: steps of 10 that a decoder's error cannot blur.
    package static func luma(_ number: Int) -> Int { 40 + (number % 16) * 10 }

    /// The number of a frame modulo 16, by the grey of its BGRA pixels.
    package static func number(grey: Int) -> Int {
        // BT.601, limited range: grey = (luma - 16) * 255 / 219.
        let luma = Double(grey) * 219 / 255 + 16
        return Int(((luma - 40) / 10).rounded())
    }

    package func next(forceKeyFrame: Bool = false) -> (frame: EncodedFrame, metadata: FrameMetadata?)? {
        var picture = PlanarFrame(width: width, height: height, pool: pool)
        picture.planeY.update(repeating: UInt8(Self.luma(number)), count: picture.strideY * height)
        picture.planeU.update(repeating: 128, count: picture.strideU * picture.chromaHeight)
        picture.planeV.update(repeating: 128, count: picture.strideV * picture.chromaHeight)
        picture.rtpTimestamp = UInt32(truncatingIfNeeded: 1_000_000 + number * 3000)
        number += 1
        let metadata =
            carriesMetadata
            ? FrameMetadata(
                frameID: UInt64(number), captureTimeMicros: UInt64(number) * 33_333, userData: FrameUserData(Array("frame \(number)".utf8)))
            : nil
        guard let frame = try? encoder.encode(picture, forceKeyFrame: forceKeyFrame, pool: pool) else { return nil }
        return (frame, metadata)
    }
}

/// A sine tone in Opus packets of 20 ms. Used on one thread at a time.
package final class TestTone: @unchecked Sendable {  // handed to the network thread
    private let encoder: OpusEncoder
    private let frequency: Double
    private var position = 0

    package init(frequency: Double = 440) throws {
        self.frequency = frequency
        encoder = try OpusEncoder()
    }

    package func next() -> [UInt8]? {
        let samples = (0..<960).map { index in
            Int16(12_000 * sin(2 * .pi * frequency * Double(position + index) / 48_000))
        }
        position += samples.count
        return try? encoder.encode(samples)
    }

    /// A stretch of a tone at 48 kHz, one channel.
    package static func samples(frequency: Double, count: Int) -> [Int16] {
        (0..<count).map { Int16(12_000 * sin(2 * .pi * frequency * Double($0) / 48_000)) }
    }

    /// How strong a frequency is among samples at 48 kHz, as a share of all their energy (Goertzel).
    package static func share(of frequency: Double, in samples: [Int16]) -> Double {
        let step = 2 * Double.pi * frequency / 48_000
        var (real, imaginary, energy) = (0.0, 0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let value = Double(sample)
            real += value * cos(step * Double(index))
            imaginary += value * sin(step * Double(index))
            energy += value * value
        }
        guard energy > 0 else { return 0 }
        return 2 * (real * real + imaginary * imaginary) / (Double(samples.count) * energy)
    }
}
