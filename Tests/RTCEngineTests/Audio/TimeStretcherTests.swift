import RTCEngine
import RTCSimulation
import Testing

@Suite("TimeStretcher")
struct TimeStretcherTests {
    /// Runs sound through in blocks of 10 ms and changes its length whenever `every` blocks have gone.
    private func stretch(_ input: [Int16], by frames: Int, every: Int = 6, channels: Int = 1, care: TimeStretcher.Care = .gentle)
        -> (output: [Int16], changed: Int, operations: Int)
    {
        var stretcher = TimeStretcher(channels: channels)
        var samples = input
        var place = 0
        var (changed, operations, block) = (0, 0, 0)
        while place + 2_000 < samples.count / channels {
            if block % every == every - 1 {
                let amount =
                    frames < 0
                    ? -stretcher.accelerate(&samples, from: place, atMost: -frames, care: care)
                    : stretcher.expand(&samples, from: place, about: frames, care: care)
                changed += amount
                operations += amount == 0 ? 0 : 1
            }
            place += 480
            block += 1
        }
        return (samples, changed, operations)
    }

    @Test("tones keep their pitch and have no step in them", arguments: [110.0, 440, 3_333], [-480, 480])
    func tones(frequency: Double, change: Int) {
        let input = SyntheticSound.tone(frequency, frames: 0..<48_000)
        let (output, changed, operations) = stretch(input, by: change, every: 3)
        #expect(operations > 20)
        #expect(output.count == input.count + changed)
        #expect(abs(changed) >= operations * 120)
        let step = SyntheticSound.largestStep(input)
        #expect(SyntheticSound.largestStep(output) <= step + step / 8 + 8)
        #expect(abs(SyntheticSound.pitch(output) / frequency - 1) < 0.01)
        // Joints fall a fraction of a period beside the ideal place, so phases differ between pieces.
        let pieces = stride(from: 0, to: output.count - 2_400, by: 2_400).map {
            SyntheticSound.amplitude(of: frequency, in: output[$0..<$0 + 2_400])
        }
        #expect(pieces.allSatisfy { $0 > 7_000 && $0 < 8_800 })
    }

    @Test("a voice has no step that it had not before, however it is stretched", arguments: [85.0, 210], [-960, 480])
    func voices(pitch: Double, change: Int) {
        let input = SyntheticSound.voice(pitch: pitch, frames: 72_000)
        let (output, changed, operations) = stretch(input, by: change, every: 4)
        #expect(operations > 15)
        #expect(abs(changed) > 4_000)
        #expect(SyntheticSound.largestStep(output) <= SyntheticSound.largestStep(input) * 11 / 10)
    }

    @Test("a lag shorter than the fade joins as well")
    func shortLag() {
        let input = SyntheticSound.tone(400, frames: 0..<24_000)
        let (output, changed, operations) = stretch(input, by: -130, every: 3)
        #expect(operations > 10 && changed == -120 * operations)
        #expect(SyntheticSound.largestStep(output) <= SyntheticSound.largestStep(input) * 9 / 8)
    }

    @Test("noise is not thinned out where it is joined")
    func noise() {
        let input = SyntheticSound.noise(frames: 48_000)
        let (output, _, operations) = stretch(input, by: -480, every: 3, care: .urgent)
        func power(_ samples: [Int16]) -> Double { samples.reduce(0) { $0 + Double($1) * Double($1) } / Double(samples.count) }
        #expect(SyntheticSound.largestStep(output) <= SyntheticSound.largestStep(input) * 11 / 10)
        #expect(operations == 0 || abs(power(output) / power(input) - 1) < 0.1)
    }

    @Test("what is too quiet to hear is cut where it is wanted, to the sample", arguments: [-1, -77, -480, 333])
    func quiet(change: Int) {
        let input = SyntheticSound.noise(frames: 9_600, amplitude: 8)
        let (_, changed, operations) = stretch(input, by: change)
        #expect(changed == change * operations && operations > 0)
    }

    @Test("the sides of a stereo sound stay together")
    func stereo() {
        let left = SyntheticSound.tone(440, frames: 0..<48_000)
        let right = SyntheticSound.tone(660, amplitude: 4_000, frames: 0..<48_000)
        let input = zip(left, right).flatMap { [$0, $1] }
        let (output, changed, operations) = stretch(input, by: -480, channels: 2)
        #expect(operations > 10)
        #expect(output.count == input.count + 2 * changed)
        let sides = [
            stride(from: 0, to: output.count, by: 2).map { output[$0] }, stride(from: 1, to: output.count, by: 2).map { output[$0] },
        ]
        for (side, (frequency, amplitude)) in zip(sides, [(440.0, 8_000.0), (660.0, 4_000.0)]) {
            let step = Int(amplitude * 2 * .pi * frequency / 48_000) + 1
            #expect(SyntheticSound.largestStep(side) <= step * 5 / 4)
            #expect(abs(SyntheticSound.pitch(side) / frequency - 1) < 0.01)
        }
    }

    @Test("too little sound, or none, is left as it is", arguments: [0, 100, 359])
    func tooShort(_ frames: Int) {
        var stretcher = TimeStretcher(channels: 1)
        var samples = SyntheticSound.tone(440, frames: 0..<frames)
        let before = samples
        #expect(stretcher.accelerate(&samples, from: 0, atMost: 480, care: .urgent) == 0)
        #expect(stretcher.expand(&samples, from: 0, about: 480, care: .urgent) == 0)
        #expect(samples == before)
    }

    @Test("arbitrary sound and wishes do not trap")
    func arbitrary() {
        var generator = SplitMix64(seed: 20_240_607)
        for _ in 0..<300 {
            let channels = Bool.random(using: &generator) ? 1 : 2
            var stretcher = TimeStretcher(channels: channels)
            var samples = (0..<Int.random(in: 0...3_000, using: &generator) * channels).map { _ in
                Bool.random(using: &generator) ? Int16.random(in: .min ... .max, using: &generator) : 0
            }
            let start = Int.random(in: 0...max(0, samples.count / channels), using: &generator)
            let wish = Int.random(in: -10...2_000, using: &generator)
            let count = samples.count
            let removed = stretcher.accelerate(&samples, from: start, atMost: wish, care: .urgent)
            let added = stretcher.expand(&samples, from: start, about: wish, care: .urgent)
            #expect(samples.count == count + (added - removed) * channels)
        }
    }
}
