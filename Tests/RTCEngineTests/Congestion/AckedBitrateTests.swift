import RTCEngine
import Testing

@Suite("AckedBitrate")
struct AckedBitrateTests {
    @Test("bursts of a frame rate make the mean rate", arguments: [200, 500])
    func mean(milliseconds: Int) throws {
        var rate = AckedBitrate()
        // 30 frames a second of 5000 bytes: 1.2 Mbit/s.
        for frame in 0..<60 {
            for packet in 0..<5 { rate.add(arrival: Int64(frame) * 33_333_333 + Int64(packet) * 1_000_000, byteCount: 1_000) }
        }
        let measured = try #require(rate.bitsPerSecond(milliseconds: milliseconds))
        #expect(abs(measured - 1.2e6) < 0.18e6)
    }

    @Test("nothing is said before half of the span was seen, or after silence")
    func unknown() {
        var rate = AckedBitrate()
        #expect(rate.bitsPerSecond(milliseconds: 500) == nil)
        rate.add(arrival: 0, byteCount: 1_000)
        rate.add(arrival: 100_000_000, byteCount: 1_000)
        #expect(rate.bitsPerSecond(milliseconds: 500) == nil)
        rate.add(arrival: 400_000_000, byteCount: 1_000)
        #expect(rate.bitsPerSecond(milliseconds: 500) != nil)
        rate.add(arrival: 30_000_000_000, byteCount: 1_000)
        #expect(rate.bitsPerSecond(milliseconds: 500) == nil)
    }

    @Test("late and senseless times trap nothing")
    func extremes() {
        var rate = AckedBitrate()
        for value in [Int64.max, .min, 0, -5, .max, 1] { rate.add(arrival: value, byteCount: 65_535) }
        rate.add(arrival: .min, byteCount: 1)
        _ = rate.bitsPerSecond(milliseconds: 500)
    }
}
