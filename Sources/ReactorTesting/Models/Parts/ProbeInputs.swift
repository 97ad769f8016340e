#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
internal import Reactor

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// What the probe model received since its last report.
struct ProbeInputs: Sendable {
    private var frames = 0
    private var undecoded = 0
    private var tagged = 0
    private var counters: [Int] = []
    private var ages: [Int] = []
    private var last: VideoFrame?
    private var samples: [Int16] = []
    private var sampleCount = 0

    mutating func add(_ frame: VideoFrame, nowMilliseconds: Int) {
        frames += 1
        if frame.userData != nil { tagged += 1 }
        last = frame
        let reading = frame.pixels.withUnsafeBytes { CounterBlocks.read($0, width: Int(frame.width), height: Int(frame.height)) }
        guard let reading else {
            undecoded += 1
            return
        }
        guard counters.count < Self.mostCounters else { return }
        counters.append(reading.number)
        ages.append((nowMilliseconds - reading.milliseconds) & 0xFF_FFFF)
    }

    mutating func add(_ block: [Int16]) {
        sampleCount += block.count
        samples += block
        if samples.count > Self.pitchSamples { samples.removeFirst(samples.count - Self.pitchSamples) }
    }

    /// The data of an `input_report`, and a fresh start; nil when nothing came.
    mutating func takeReport() -> JSONValue? {
        defer { self = ProbeInputs() }
        guard frames > 0 || sampleCount > 0 else { return nil }
        var missing = 0
        if let first = counters.first, let final = counters.last { missing = final - first + 1 - Set(counters).count }
        let ages = ages.sorted()
        return [
            "frames": .number(Double(frames)), "undecoded": .number(Double(undecoded)),
            "first_counter": .number(Double(counters.first ?? -1)), "last_counter": .number(Double(counters.last ?? -1)),
            "missing": .number(Double(missing)), "width": .number(Double(last?.width ?? 0)), "height": .number(Double(last?.height ?? 0)),
            "mean_rgb": .array(meanColour.map { .number(($0 * 10).rounded() / 10) }),
            "latency_ms": .number(ages.isEmpty ? -1 : Double(ages[ages.count / 2])), "tagged": .number(Double(tagged)),
            "mic_hz": .number(Self.pitch(samples)), "mic_samples": .number(Double(sampleCount)),
        ]
    }

    /// Of the last picture, below the counter blocks: red, green, blue, 0...255.
    private var meanColour: [Double] {
        guard let last, last.width >= 8, last.height >= 8 else { return [0, 0, 0] }
        let (width, height) = (Int(last.width), Int(last.height))
        var (sums, count) = ([0, 0, 0], 0)
        last.pixels.withUnsafeBytes { pixels in
            guard pixels.count >= width * height * 4 else { return }
            for y in stride(from: height / 4, to: height, by: 8) {
                for x in stride(from: 0, to: width, by: 8) {
                    for channel in 0..<3 { sums[channel] += Int(pixels[(y * width + x) * 4 + 2 - channel]) }
                    count += 1
                }
            }
        }
        return sums.map { Double($0) / Double(max(1, count)) }
    }

    /// The strongest frequency of 48 kHz sound in hertz, 60 to 2000; 0 for silence. To 2 Hz for a fifth of a second of it.
    static func pitch(_ samples: [Int16]) -> Double {
        guard samples.count >= 256, samples.contains(where: { $0 != 0 }) else { return 0 }
        // A twentieth of a second tells 20 Hz apart.
        let coarse = strongest(stride(from: 60.0, through: 2000, by: 20), samples.suffix(2400))
        return strongest(stride(from: coarse - 20, through: coarse + 20, by: 2), samples.suffix(9600))
    }

    private static func strongest(_ frequencies: StrideThrough<Double>, _ samples: ArraySlice<Int16>) -> Double {
        var best = (frequency: 0.0, power: -1.0)
        for frequency in frequencies {
            // Goertzel's algorithm.
            let factor = 2 * cos(2 * .pi * frequency / 48_000)
            var (last, before) = (0.0, 0.0)
            for sample in samples { (last, before) = (Double(sample) + factor * last - before, last) }
            let power = last * last + before * before - factor * last * before
            if power > best.power { best = (frequency, power) }
        }
        return best.frequency
    }

    private static let mostCounters = 1_000
    /// Half a second.
    private static let pitchSamples = 24_000
}
