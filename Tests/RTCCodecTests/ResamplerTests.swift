import RTCCodec
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Resampler")
struct ResamplerTests {
    private func resample(_ samples: [Int16], with resampler: Resampler, chunk: Int) throws -> [Int16] {
        var result: [Int16] = []
        var output = [Int16](repeating: 0, count: resampler.maxOutput(ofInput: chunk) * resampler.channels)
        var start = 0
        while start < samples.count {
            let end = min(samples.count, start + chunk * resampler.channels)
            let count = try output.withUnsafeMutableBufferPointer { output in
                try samples[start..<end].withUnsafeBufferPointer { input in try resampler.process(input, into: output) }
            }
            result += output[..<(count * resampler.channels)]
            start = end
        }
        return result
    }

    private func tone(_ frequency: Double, rate: Int, seconds: Double) -> [Int16] {
        (0..<Int(seconds * Double(rate))).map { Int16(12_000 * sin(2 * .pi * frequency * Double($0) / Double(rate))) }
    }

    /// Zero crossings upwards in a second.
    private func pitch(_ samples: [Int16]) -> Double {
        let middle = samples.dropFirst(2000).dropLast(2000)
        var (crossings, first, last) = (0, 0, 0)
        for index in middle.indices.dropFirst() where samples[index - 1] < 0 && samples[index] >= 0 {
            if crossings == 0 { first = index }
            last = index
            crossings += 1
        }
        return crossings < 2 ? 0 : Double(crossings - 1) * 48_000 / Double(last - first)
    }

    @Test(
        "X-9 the pitch stays, the amplitude too, whatever the length of the chunks", arguments: [8_000, 16_000, 24_000, 32_000, 44_100],
        [63, 441, 882])
    func pitch(rate: Int, chunk: Int) throws {
        let resampler = try Resampler(inputRate: rate, outputRate: 48_000, channels: 1)
        let output = try resample(tone(440, rate: rate, seconds: 1), with: resampler, chunk: chunk)
        // The filter keeps a few back.
        #expect(output.count > 47_000 && output.count <= 48_000)
        #expect(abs(pitch(output) - 440) < 1)
        let peak = output.map { abs(Int($0)) }.max() ?? 0
        #expect((11_500...12_500).contains(peak))
        // No step that a sine of this height does not make: clicks at the seams of chunks would be larger.
        let step = zip(output.dropFirst(200), output.dropFirst(201)).map { abs(Int($1) - Int($0)) }.max() ?? 0
        #expect(step < 800)
    }

    @Test("two channels stay apart")
    func stereo() throws {
        let left = tone(440, rate: 44_100, seconds: 0.5)
        let samples = left.flatMap { (sample: Int16) -> [Int16] in [sample, 0] }
        let output = try resample(samples, with: Resampler(inputRate: 44_100, outputRate: 48_000, channels: 2), chunk: 882)
        #expect(stride(from: 1, to: output.count, by: 2).allSatisfy { output[$0] == 0 })
        #expect(abs(pitch(stride(from: 0, to: output.count, by: 2).map { output[$0] }) - 440) < 1)
    }

    @Test("what makes no sense is refused")
    func refusals() throws {
        #expect(kind { try Resampler(inputRate: 0, outputRate: 48_000, channels: 1) } == .invalidArgument)
        #expect(kind { try Resampler(inputRate: 44_100, outputRate: 48_000, channels: 3) } == .invalidArgument)
        #expect(kind { try Resampler(inputRate: 44_100, outputRate: 48_000, channels: 1, quality: 11) } == .invalidArgument)
        let resampler = try Resampler(inputRate: 44_100, outputRate: 48_000, channels: 2)
        var output = [Int16](repeating: 0, count: 10)
        let odd = [Int16](repeating: 0, count: 3)
        let long = [Int16](repeating: 0, count: 40)
        output.withUnsafeMutableBufferPointer { output in
            #expect(kind { _ = try odd.withUnsafeBufferPointer { try resampler.process($0, into: output) } } == .invalidArgument)
            #expect(kind { _ = try long.withUnsafeBufferPointer { try resampler.process($0, into: output) } } == .tooLarge)
        }
    }
}
