// What an encoder is asked for so that it makes what it may. In: the bytes of its frames, and the rate that was meant. Out: a
// rate, lower than meant for an encoder that makes more than it is asked for. Pure: no clock. libvpx ends some ten percent
// above its rate when pictures are hard; that much too much, for good, stands as a queue before the network.

/// Corrects an encoder that makes too much; one that makes too little is left alone.
struct EncoderOvershoot: Sendable {
    /// What is asked for, as a share of what is meant.
    private(set) var share = 1.0
    private var bits = 0.0
    private var meantBits = 0.0
    private var seconds = 0.0

    /// What to ask the encoder for.
    func rate(for bitsPerSecond: Int) -> Int { max(1_000, Int(Double(bitsPerSecond) * share)) }

    /// A frame for `seconds` of the stream came out, of which `meant` bits per second were to be used. The first frame of all has
    /// no time before it and says nothing.
    mutating func onEncoded(byteCount: Int, meant bitsPerSecond: Int, seconds span: Double) {
        guard span > 0 else { return }
        bits += Double(byteCount * 8)
        meantBits += Double(bitsPerSecond) * span
        seconds += span
        guard seconds >= Self.windowSeconds, meantBits > 0 else { return }
        let ratio = bits / meantBits
        share = min(max(share * (1 - Self.gain * (ratio - 1)), Self.least), 1)
        (bits, meantBits, seconds) = (0, 0, 0)
    }

    private static let windowSeconds = 0.5
    /// Of the difference, what is made up for at once.
    private static let gain = 0.5
    private static let least = 0.6
}
