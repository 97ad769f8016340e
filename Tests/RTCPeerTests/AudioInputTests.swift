import RTCBase
import Testing

@testable import RTCPeer

@Suite("AudioInput")
struct AudioInputTests {
    private static let mono = AudioInput.Format(sampleRate: 48_000, channels: 1)

    /// Pushes a ramp in chunks and gives back the samples of all blocks.
    private func blocks(_ input: inout AudioInput) -> [(block: AudioInput.Block, samples: [Int16])] {
        let memory = UnsafeMutableBufferPointer<Int16>.allocate(capacity: AudioInput.slotSamples)
        defer { memory.deallocate() }
        var result: [(AudioInput.Block, [Int16])] = []
        while let block = input.pop(into: memory) { result.append((block, Array(memory[..<block.format.blockSamples]))) }
        return result
    }

    private func push(_ input: inout AudioInput, _ samples: [Int16], _ format: AudioInput.Format = mono, at milliseconds: Int64) {
        samples.withUnsafeBufferPointer { input.append($0, format: format, now: MonotonicTime(milliseconds: milliseconds)) }
    }

    private func ramp(_ count: Int, from start: Int = 0) -> [Int16] { (0..<count).map { Int16(truncatingIfNeeded: start + $0) } }

    @Test(
        "X-9 chunks of any length become blocks of 20 ms without a sample lost",
        arguments: [1, 7, 160, 441, 480, 959, 960, 961, 4800, 30_000])
    func anyLength(chunk: Int) {
        var input = AudioInput()
        var got: [Int16] = []
        var pushed = 0
        while pushed < 48_000 {
            push(&input, ramp(chunk, from: pushed), at: 1000 + Int64(pushed + chunk) / 48)
            pushed += chunk
            for (block, samples) in blocks(&input) {
                #expect(block.format == Self.mono)
                got += samples
            }
        }
        #expect(input.dropped == 0)
        #expect(got == ramp(got.count))
        #expect(pushed - got.count < 960)
    }

    @Test("X-9 the formats that are accepted", arguments: [8_000, 16_000, 24_000, 32_000, 44_100, 48_000])
    func formats(rate: Int) {
        for channels in 1...2 {
            let format = AudioInput.Format(sampleRate: rate, channels: channels)
            #expect(format.isAllowed)
            #expect(format.blockSamples * 50 == rate * channels)
            #expect(format.blockSamples <= AudioInput.slotSamples)
        }
        #expect(!AudioInput.Format(sampleRate: rate, channels: 3).isAllowed)
        #expect(!AudioInput.Format(sampleRate: rate + 1, channels: 1).isAllowed)
        #expect(!AudioInput.Format(sampleRate: -rate, channels: 1).isAllowed)
    }

    @Test("X-9 a change of format drops the partial block, not the complete ones")
    func changeOfFormat() {
        var input = AudioInput()
        push(&input, ramp(960 + 500), at: 30)
        let stereo = AudioInput.Format(sampleRate: 16_000, channels: 2)
        push(&input, ramp(640, from: 7), stereo, at: 50)
        let got = blocks(&input)
        #expect(got.map(\.block.format) == [Self.mono, stereo])
        #expect(got.last?.samples == ramp(640, from: 7))
    }

    @Test("blocks know when they were captured: the end of a chunk is now")
    func captureTimes() {
        var input = AudioInput()
        push(&input, ramp(4800), at: 1100)
        #expect(blocks(&input).map(\.block.captured48kHz) == [48_000, 48_960, 49_920, 50_880, 51_840])
        push(&input, ramp(480), at: 1110)
        push(&input, ramp(480), at: 1123)
        #expect(blocks(&input).map(\.block.captured48kHz) == [52_800])
    }

    @Test("after a pause the block that was open is completed with silence")
    func pause() {
        var input = AudioInput()
        push(&input, ramp(100, from: 1), at: 1000)
        push(&input, ramp(960, from: 5), at: 3000)
        let got = blocks(&input)
        #expect(got.map(\.samples) == [ramp(100, from: 1) + [Int16](repeating: 0, count: 860), ramp(960, from: 5)])
    }

    @Test("more than half a second does not wait: the oldest go and are counted")
    func bound() {
        var input = AudioInput()
        for number in 0..<100 { push(&input, [Int16](repeating: Int16(number), count: 960), at: Int64(number) * 20) }
        #expect(input.count <= AudioInput.boundBlocks)
        #expect(input.dropped == UInt64(100 - input.count))
        let got = blocks(&input)
        #expect(got.last?.samples.first == 99)
        #expect(got.map { $0.samples[0] } == ((100 - got.count)..<100).map { Int16($0) })
    }

    @Test("a long chunk is not cut, up to ten seconds")
    func longChunk() {
        var input = AudioInput()
        push(&input, ramp(48_000 * 3), at: 3000)
        #expect(input.count == 150 && input.dropped == 0)
        #expect(blocks(&input).flatMap(\.samples) == ramp(48_000 * 3))
        push(&input, ramp(48_000 * 15), at: 20_000)
        #expect(input.count >= AudioInput.mostBlocks && input.count < AudioInput.mostBlocks + 4)
        #expect(input.dropped == UInt64(750 - input.count))
        #expect(blocks(&input).flatMap(\.samples).suffix(100) == ramp(48_000 * 15).suffix(100))
    }

    @Test("a queue that turns around its memory and grows keeps order and samples")
    func growth() {
        var input = AudioInput()
        var memory = [Int16](repeating: 0, count: AudioInput.slotSamples)
        for number in 0..<40 {
            push(&input, ramp(960, from: number), at: Int64(number) * 20)
            if number < 37 { memory.withUnsafeMutableBufferPointer { _ = input.pop(into: $0) } }
        }
        push(&input, ramp(300, from: 1), at: 806)
        push(&input, ramp(960 * 60 - 300, from: 301), at: 2000)
        let got = blocks(&input)
        #expect(input.dropped == 0)
        #expect(got.count == 63)
        #expect(got.dropFirst(3).flatMap(\.samples) == ramp(960 * 60, from: 1))
    }
}
