import RTCEngine
import RTCSimulation
import Testing

@Suite("PlayoutQueue")
struct PlayoutQueueTests {
    private func append(_ samples: [Int16], to queue: inout PlayoutQueue) {
        var copy = samples
        copy.withUnsafeMutableBufferPointer { queue.append($0[...]) }
    }

    @Test("what goes in comes out in blocks, over many moves of the memory")
    func fifo() {
        var queue = PlayoutQueue()
        let input = SyntheticSound.tone(333, frames: 0..<96_000)
        var output: [Int16] = []
        for start in stride(from: 0, to: input.count, by: 960) {
            append(Array(input[start..<start + 960]), to: &queue)
            while queue.pendingFrames >= 480 { output += queue.takeBlock(frames: 480) }
        }
        #expect(output == input)
        #expect(queue.takeBlock(frames: 480) == Array(repeating: 0, count: 480))
    }

    @Test("a break is drawn out instead of a click, into sound and out of it")
    func breaks() {
        var queue = PlayoutQueue()
        let loud = SyntheticSound.tone(440, amplitude: 12_000, frames: 27..<507)
        var output: [Int16] = []
        for _ in 0..<10 {
            queue.markBreak()
            append(loud, to: &queue)
            output += queue.takeBlock(frames: 480)
            queue.markBreak()
            queue.appendSilence(frames: 480)
            output += queue.takeBlock(frames: 480)
        }
        #expect(SyntheticSound.largestStep(loud) > 600)
        #expect(SyntheticSound.largestStep(output) < 900)
    }

    @Test("a fade ends at zero")
    func fade() {
        var queue = PlayoutQueue(channels: 2)
        append(Array(repeating: 10_000, count: 960), to: &queue)
        queue.fadeOutEnd(frames: 480)
        let block = queue.takeBlock(frames: 480)
        #expect(block[0] > 9_900 && block[958] == 0 && block[959] == 0)
        #expect(SyntheticSound.largestStep(block) < 30)
    }

    @Test("changing the number of channels keeps what waits")
    func channels() {
        var queue = PlayoutQueue()
        append([1, 2, 3, 4], to: &queue)
        queue.setChannels(2)
        #expect(queue.takeBlock(frames: 2) == [1, 1, 2, 2])
        queue.setChannels(1)
        #expect(queue.takeBlock(frames: 2) == [3, 4])
    }
}
