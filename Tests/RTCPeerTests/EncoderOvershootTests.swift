import Testing

@testable import RTCPeer

@Suite("EncoderOvershoot")
struct EncoderOvershootTests {
    /// Bits per second that come out in the end of an encoder that makes `excess` times what it is asked for.
    private func settled(excess: Double, meant: Int = 1_000_000) -> (made: Double, share: Double) {
        var overshoot = EncoderOvershoot()
        for _ in 0..<600 {
            let made = Double(overshoot.rate(for: meant)) * excess
            overshoot.onEncoded(byteCount: Int(made / 30 / 8), meant: meant, seconds: 1.0 / 30)
        }
        return (Double(overshoot.rate(for: meant)) * excess, overshoot.share)
    }

    @Test("an encoder that makes too much is asked for less, until it makes what is meant", arguments: [1.05, 1.1, 1.4])
    func tooMuch(excess: Double) {
        #expect(abs(settled(excess: excess).made - 1_000_000) < 20_000)
    }

    @Test("an encoder that makes too little or nothing is asked for what is meant, and no less than 0.6 of it ever")
    func bounds() {
        #expect(settled(excess: 0.5).share == 1)
        #expect(settled(excess: 3).share == 0.6)
        var overshoot = EncoderOvershoot()
        overshoot.onEncoded(byteCount: 100_000, meant: 0, seconds: 10)
        #expect(overshoot.rate(for: 1_000_000) == 1_000_000)
    }

    @Test("a frame with no time before it, as a stream begins with, lowers nothing")
    func first() {
        var overshoot = EncoderOvershoot()
        overshoot.onEncoded(byteCount: 60_000, meant: 1_000_000, seconds: 0)
        for _ in 0..<60 { overshoot.onEncoded(byteCount: 4_000, meant: 1_000_000, seconds: 1.0 / 30) }
        #expect(overshoot.share == 1)
    }

    @Test("once the pictures are easy again it is asked for everything within seconds")
    func back() {
        var overshoot = EncoderOvershoot()
        for _ in 0..<300 { overshoot.onEncoded(byteCount: 10_000, meant: 1_000_000, seconds: 1.0 / 30) }
        #expect(overshoot.share == 0.6)
        for _ in 0..<150 { overshoot.onEncoded(byteCount: 1_000, meant: 1_000_000, seconds: 1.0 / 30) }
        #expect(overshoot.share == 1)
    }
}
