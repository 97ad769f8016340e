import Foundation
import Testing

@testable import ReactorCLI

@Suite(.timeLimit(.minutes(1))) struct PushInputTests {
    private func pipeInput(_ body: (FileHandle) -> Void) throws -> RawInput {
        let pipe = Pipe()
        body(pipe.fileHandleForWriting)
        try pipe.fileHandleForWriting.close()
        let path = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        defer { try? pipe.fileHandleForReading.close() }
        return try RawInput(path)
    }

    @Test("an input is cut into blocks, however it comes; a rest is told")
    func blocks() throws {
        let input = try pipeInput { pipe in
            for piece in [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10]] as [[UInt8]] { pipe.write(Data(piece)) }
        }
        var block = [UInt8](repeating: 0, count: 4)
        func next() throws -> RawInput.Block { try block.withUnsafeMutableBytes { try input.read(into: $0) { false } } }
        #expect(try next() == .full && block == [1, 2, 3, 4])
        #expect(try next() == .full && block == [5, 6, 7, 8])
        #expect(try next() == .end(left: 2))
    }

    @Test("a reader that is told to stop does not wait for its input")
    func stopped() throws {
        let pipe = Pipe()
        let input = try RawInput("/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)")
        var block = [UInt8](repeating: 0, count: 4)
        #expect(try block.withUnsafeMutableBytes { try input.read(into: $0) { true } } == .stopped)
        withExtendedLifetime(pipe) {}
    }

    @Test("a missing file is a failure that names it")
    func missing() { #expect(throws: CommandFailure.self) { _ = try RawInput("/nowhere/at/all") } }

    @Test("the pace keeps its rate over small delays, and does not catch up after a long one")
    func pace() {
        var pace = Pace(perSecond: 50)
        #expect(pace.delay(now: 1_000_000) == 0)
        #expect(pace.delay(now: 1_001_000) == 19_000)
        #expect(pace.delay(now: 1_045_000) == 0, "late by 5 ms")
        #expect(pace.delay(now: 1_050_000) == 10_000, "and not later for it")
        #expect(pace.delay(now: 2_000_000) == 0)
        #expect(pace.delay(now: 2_000_000) == 20_000)
    }

    @Test("the test pattern says its number and time in blocks, and moves")
    func pattern() {
        let (width, height) = (320, 192)
        let pattern = TestPattern(width: width, height: height)
        func draw(_ number: Int, _ milliseconds: Int) -> [UInt8] {
            var pixels = [UInt8](repeating: 0, count: width * height * 4)
            pixels.withUnsafeMutableBytes { pattern.draw(number, milliseconds: milliseconds, into: $0) }
            return pixels
        }
        func word(_ line: Int, of pixels: [UInt8]) -> Int {
            (0..<32).reduce(0) { value, bit in
                let x = bit % 16 * (width / 16) + width / 32
                let y = (line * 2 + bit / 16) * (height / 24) + height / 48
                return value << 1 | (pixels[(y * width + x) * 4 + 1] > 127 ? 1 : 0)
            }
        }
        let picture = draw(1_234_567, 7_654_321)
        #expect(word(0, of: picture) >> 8 == 1_234_567 && word(1, of: picture) >> 8 == 7_654_321)
        let check = 1_234_567 ^ 1_234_567 >> 8 ^ 1_234_567 >> 16 ^ 0x5A
        #expect(word(0, of: picture) & 0xFF == check & 0xFF)
        let below = (height / 2 * width) * 4
        #expect(picture[below...] != draw(1_234_568, 7_654_321)[below...])
        #expect(draw(0, 0)[below...] == draw(width / 4, 0)[below...], "one round")
    }

    @Test("the tone is loud enough to hear, never clips, and begins and ends each note in silence")
    func tone() {
        let samples = TestPattern.tone(from: 0, count: 48_000, rate: 48_000)
        #expect(samples.contains { $0 > 3900 } && samples.allSatisfy { abs(Int($0)) <= 4000 })
        #expect(samples[0] == 0 && abs(Int(samples[23_999])) < 40 && samples[24_000] == 0)
        #expect(TestPattern.tone(from: 1000, count: 50, rate: 48_000) == Array(samples[1000..<1050]))
    }

    @Test("bars and sizes read well at any value")
    func texts() {
        #expect(ProgressLine.bar(0.5, width: 4) == "[##..]")
        #expect(ProgressLine.bar(-1, width: 4) == "[....]" && ProgressLine.bar(9, width: 4) == "[####]")
        #expect(ProgressLine.bar(.nan, width: 4) == "[....]")
        #expect(
            [0, 999, 1000, 1_400_000, 99_960_000, 5_000_000_000].map(ProgressLine.size) == [
                "0 B", "999 B", "1.0 kB", "1.4 MB", "100 MB", "5.0 GB",
            ])
    }
}
