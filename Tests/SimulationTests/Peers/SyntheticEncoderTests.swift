import RTCBase
import RTCSimulation
import Testing

@Suite("SyntheticEncoder")
struct SyntheticEncoderTests {
    private static let start = MonotonicTime(milliseconds: 5_000)

    private static func make(_ change: (inout SyntheticEncoder.Settings) -> Void = { _ in }) -> SyntheticEncoder {
        var settings = SyntheticEncoder.Settings()
        change(&settings)
        return SyntheticEncoder(settings, seed: 3, pool: FrameBufferPool())
    }

    private static func frames(_ encoder: inout SyntheticEncoder, _ count: Int) -> [EncodedFrame?] {
        (0..<count).map { encoder.makeFrame(rtpTimestamp: UInt32($0) * 3_000, now: start.adding(milliseconds: Int64($0) * 33)) }
    }

    @Test("makes what it is told, on average, with sizes that differ", arguments: [300_000, 2_000_000, 12_000_000] as [Int64])
    func rate(bitsPerSecond: Int64) {
        var encoder = Self.make()
        encoder.setRate(bitsPerSecond: bitsPerSecond)
        let sizes = Self.frames(&encoder, 600).compactMap { $0?.bytes.count }
        let made = Double(sizes.reduce(0, +) * 8) / 20
        #expect(abs(made / Double(bitsPerSecond) - 1) < 0.08)
        let mean = Double(sizes.reduce(0, +)) / Double(sizes.count)
        #expect(sizes.contains { Double($0) > mean * 1.2 } && sizes.contains { Double($0) < mean * 0.8 })
    }

    @Test("never makes more than its own most, which may change")
    func ceiling() {
        var encoder = Self.make { $0.maxBitsPerSecond = 300_000 }
        encoder.setRate(bitsPerSecond: 5_000_000)
        let before = Self.frames(&encoder, 300).compactMap { $0?.bytes.count }.reduce(0, +)
        #expect(before * 8 < 3_600_000)
        encoder.maxBitsPerSecond = 2_000_000
        let after = Self.frames(&encoder, 300).compactMap { $0?.bytes.count }.reduce(0, +)
        #expect(abs(Double(after * 8) / 20_000_000 - 1) < 0.1)
    }

    @Test("begins with a key frame, makes one when asked, and no other; those are larger")
    func keyFrames() throws {
        var encoder = Self.make { $0.sceneChange = 0 }
        encoder.setRate(bitsPerSecond: 2_000_000)
        let first = Self.frames(&encoder, 90).compactMap(\.self)
        #expect(first.map(\.isKeyFrame) == [true] + Array(repeating: false, count: 89))
        encoder.requestKeyFrame()
        let second = Self.frames(&encoder, 10).compactMap(\.self)
        #expect(second.map(\.isKeyFrame) == [true] + Array(repeating: false, count: 9))
        let largest = try #require(second.dropFirst().map(\.bytes.count).max())
        #expect(second[0].bytes.count > largest * 2)
    }

    @Test("skips while congested, and makes nothing before it has a rate")
    func congestion() {
        var encoder = Self.make()
        let none = Self.frames(&encoder, 3)
        #expect(none.allSatisfy { $0 == nil })
        encoder.setRate(bitsPerSecond: 1_000_000)
        encoder.setCongested(true)
        let skipped = Self.frames(&encoder, 5)
        #expect(skipped.allSatisfy { $0 == nil })
        encoder.setCongested(false)
        let made = Self.frames(&encoder, 1)
        #expect(made[0] != nil)
        #expect(encoder.framesSkipped == 8 && encoder.framesMade == 1)
    }

    @Test("gives up size when bits are short and takes it back, without flapping")
    func steps() {
        var encoder = Self.make { $0.codec = .vp8 }
        encoder.setRate(bitsPerSecond: 3_000_000)
        _ = Self.frames(&encoder, 60)
        #expect(encoder.scale == 1)
        encoder.setRate(bitsPerSecond: 300_000)
        let small = Self.frames(&encoder, 60).compactMap(\.self)
        #expect(encoder.scale <= 0.5)
        // VP8 starts anew with another size.
        #expect(small[0].isKeyFrame)
        encoder.setRate(bitsPerSecond: 3_000_000)
        _ = Self.frames(&encoder, 400)
        #expect(encoder.scale == 1)
        let changes = encoder.stepChanges
        for rate in [680_000, 720_000, 680_000, 720_000] as [Int64] {
            encoder.setRate(bitsPerSecond: rate)
            _ = Self.frames(&encoder, 120)
        }
        #expect(encoder.stepChanges <= changes + 1)
    }

    @Test("frames tell their number; wrong bytes are noticed")
    func content() throws {
        var encoder = Self.make()
        encoder.setRate(bitsPerSecond: 2_000_000)
        for (number, frame) in Self.frames(&encoder, 20).enumerated() {
            let bytes = try #require(frame).bytes
            #expect(SyntheticEncoder.number(of: bytes) == number)
            var copy = bytes.withBytes { $0.copy() }
            copy[118] ^= 1
            let broken = MediaBytes(copying: copy.span.bytes)
            #expect(SyntheticEncoder.number(of: broken) == nil)
        }
        let short = MediaBytes(copying: ([1, 2, 3] as [UInt8]).span.bytes)
        #expect(SyntheticEncoder.number(of: short) == nil)
    }
}
