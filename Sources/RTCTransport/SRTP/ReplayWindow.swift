/// Which of the newest indexes of a stream have been accepted (RFC 3711 §3.3.2).
///
/// A ring of bits, as in RFC 6479: the bit of an index is its remainder, and words are cleared as the window moves over them, so
/// moving costs no shifting.
package struct ReplayWindow {
    /// The highest index accepted, -1 before there is one.
    package private(set) var highest: Int64 = -1
    private var words = [UInt64](repeating: 0, count: ReplayWindow.wordCount)

    package init() {}

    /// Whether `index`, which is not negative, was neither accepted before nor lies behind the window.
    package func admits(_ index: Int64) -> Bool {
        if index > highest { return true }
        guard highest - index < ReplayWindow.capacity else { return false }
        return words[ReplayWindow.word(index)] & ReplayWindow.bit(index) == 0
    }

    /// Notes an index that is admitted and whose packet is authentic.
    package mutating func accept(_ index: Int64) {
        if index > highest {
            let last = index >> 6
            var next = max((highest >> 6) + 1, last - Int64(ReplayWindow.wordCount) + 1)
            while next <= last {
                words[Int(next) & (ReplayWindow.wordCount - 1)] = 0
                next += 1
            }
            highest = index
        }
        words[ReplayWindow.word(index)] |= ReplayWindow.bit(index)
    }

    /// Back to the beginning, with the same memory.
    package mutating func reset() {
        highest = -1
        for position in words.indices { words[position] = 0 }
    }

    private static func word(_ index: Int64) -> Int { Int(truncatingIfNeeded: index >> 6) & (wordCount - 1) }
    private static func bit(_ index: Int64) -> UInt64 { 1 << UInt64(index & 63) }

    /// Indexes that are told apart. RFC 3711 asks for 64; a retransmission on the same SSRC comes hundreds of packets late (SRTP-04).
    package static let capacity: Int64 = 1024
    /// A power of two, and more than the capacity by at least the word that is half cleared.
    private static let wordCount = 32
}
