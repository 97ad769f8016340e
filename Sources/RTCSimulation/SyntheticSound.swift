// Sound made and measured by formula, for tests and benchmarks of the audio path: nothing recorded, nothing random but by seed.

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// One channel at 48 kHz.
package enum SyntheticSound {
    package static func tone(_ frequency: Double, amplitude: Double = 8_000, frames: Range<Int>) -> [Int16] {
        frames.map { Int16((amplitude * sin(2 * .pi * frequency * Double($0) / 48_000)).rounded()) }
    }

    /// Something like a vowel: pulses of a voice through two resonances, with a pitch that wavers, and a little breath.
    package static func voice(pitch: Double, frames: Int, seed: UInt64 = 1) -> [Int16] {
        var generator = SplitMix64(seed: seed)
        var phase = 0.0
        var states = [(0.0, 0.0), (0.0, 0.0)]
        let formants = [(700.0, 0.985), (1_220.0, 0.975)]
        var raw = (0..<frames).map { frame -> Double in
            let wavering = pitch * (1 + 0.03 * sin(2 * .pi * 5 * Double(frame) / 48_000))
            phase += wavering / 48_000
            var source = 0.02 * (generator.nextUnit() - 0.5)
            if phase >= 1 {
                phase -= 1
                source += 1
            }
            var sum = 0.0
            for (index, (frequency, radius)) in formants.enumerated() {
                let value =
                    source + 2 * radius * cos(2 * .pi * frequency / 48_000) * states[index].0 - radius * radius * states[index].1
                states[index] = (value, states[index].0)
                sum += value
            }
            return sum
        }
        let peak = raw.reduce(1e-9) { max($0, abs($1)) }
        for index in raw.indices { raw[index] *= 9_000 / peak }
        return raw.map { Int16($0) }
    }

    /// The voice in syllables, four a second with pauses between: what a detector of speech takes for speech.
    package static func speech(pitch: Double, frames: Int, seed: UInt64 = 1) -> [Int16] {
        voice(pitch: pitch, frames: frames, seed: seed).enumerated().map { index, sample in
            let place = Double(index % 12_000) / 9_000
            return place < 1 ? Int16(Double(sample) * sin(.pi * place) * sin(.pi * place)) : 0
        }
    }

    package static func noise(frames: Int, amplitude: Double = 3_000, seed: UInt64 = 2) -> [Int16] {
        var generator = SplitMix64(seed: seed)
        return (0..<frames).map { _ in Int16(amplitude * (2 * generator.nextUnit() - 1)) }
    }

    /// The largest difference between neighbours.
    package static func largestStep(_ samples: some Sequence<Int16>) -> Int {
        var largest = 0
        var before: Int?
        for sample in samples {
            if let before { largest = max(largest, abs(Int(sample) - before)) }
            before = Int(sample)
        }
        return largest
    }

    /// Amplitude of one frequency.
    package static func amplitude(of frequency: Double, in samples: some Collection<Int16>) -> Double {
        var (real, imaginary) = (0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let angle = 2 * .pi * frequency * Double(index) / 48_000
            real += Double(sample) * cos(angle)
            imaginary += Double(sample) * sin(angle)
        }
        return (real * real + imaginary * imaginary).squareRoot() * 2 / Double(max(1, samples.count))
    }

    /// The frequency of a tone near `expected`, from its zero crossings upwards.
    package static func pitch(_ samples: [Int16]) -> Double {
        var (first, last): (Double?, Double) = (nil, 0)
        var periods = -1
        for index in 1..<samples.count where samples[index - 1] < 0 && samples[index] >= 0 {
            let (a, b) = (Double(samples[index - 1]), Double(samples[index]))
            last = Double(index - 1) + a / (a - b)
            if first == nil { first = last }
            periods += 1
        }
        guard let first, periods > 0 else { return 0 }
        return Double(periods) * 48_000 / (last - first)
    }
}
