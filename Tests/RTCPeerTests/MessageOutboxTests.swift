import Testing

@testable import RTCPeer

@Suite struct MessageOutboxTests {
    private func next(_ outbox: inout MessageOutbox) -> [UInt8]? { outbox.nextFrame()?.bytes }

    private func add(_ bytes: [UInt8], isText: Bool = false, to outbox: inout MessageOutbox) -> Bool {
        outbox.append(bytes, isText: isText)
    }

    private func drain(_ outbox: inout MessageOutbox) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        while let frame = outbox.nextFrame() { frames.append(frame.bytes) }
        return frames
    }

    @Test("without chunking a message is one frame with its kind, also an empty one")
    func plain() {
        var outbox = MessageOutbox(isChunked: false)
        #expect(add([1, 2], isText: true, to: &outbox))
        #expect(add([], to: &outbox))
        let first = outbox.nextFrame()
        #expect(first?.bytes == [1, 2] && first?.isText == true)
        let second = outbox.nextFrame()
        #expect(second?.bytes == [] && second?.isText == false)
        #expect(next(&outbox) == nil)
        #expect(outbox.waitingBytes == 0)
    }

    @Test("with chunking frames carry MORE and TEXT and never more than 64 KiB, and messages do not interleave")
    func chunked() {
        var outbox = MessageOutbox(isChunked: true)
        let large = [UInt8](repeating: 5, count: 65_535 * 2 + 1)
        #expect(add(large, isText: true, to: &outbox))
        #expect(add([], to: &outbox))
        #expect(add([9], to: &outbox))
        let frames = drain(&outbox)
        #expect(frames.map(\.count) == [65_536, 65_536, 2, 1, 2])
        #expect(frames.map { $0.first } == [3, 3, 2, 0, 0])
        #expect(frames.prefix(3).flatMap { $0.dropFirst() } == large)
        #expect(outbox.waitingBytes == 0)
    }

    @Test("frames follow a smaller limit of the peer")
    func smallFrames() {
        var outbox = MessageOutbox(isChunked: true, frameBytes: 11)
        #expect(add([UInt8](repeating: 1, count: 25), to: &outbox))
        #expect(drain(&outbox).map(\.count) == [11, 11, 6])
    }

    @Test("what waits is bounded in messages and bytes; a full outbox keeps what it has; one message always fits")
    func bounds() {
        var outbox = MessageOutbox(isChunked: false)
        var accepted = 0
        while accepted < 100_000, outbox.append([1], isText: false) { accepted += 1 }
        #expect(accepted == 16_384)
        #expect(outbox.waitingBytes == accepted)
        _ = outbox.nextFrame()
        #expect(add([1], to: &outbox))
        #expect(drain(&outbox).count == accepted)

        let half = [UInt8](repeating: 0, count: 65 << 20)
        #expect(add(half, to: &outbox))
        #expect(!add(half, to: &outbox))
        #expect(outbox.waitingBytes == half.count)
    }

    @Test("thousands of messages pass without the list growing")
    func steady() {
        var outbox = MessageOutbox(isChunked: true)
        for number in 0..<10_000 {
            #expect(add([UInt8(truncatingIfNeeded: number)], to: &outbox))
            #expect(add([UInt8(truncatingIfNeeded: number + 1)], to: &outbox))
            #expect(next(&outbox)?.last == UInt8(truncatingIfNeeded: number))
            #expect(next(&outbox)?.last == UInt8(truncatingIfNeeded: number + 1))
        }
        #expect(next(&outbox) == nil)
    }
}
