/// The 96 bits that tie a response to its request (RFC 8489 §5).
package struct STUNTransaction: Hashable, Sendable {
    package var high: UInt32
    package var low: UInt64

    package init(high: UInt32, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The 12 bytes as they are in a message.
    package var bytes: [UInt8] { withUnsafeBytes(of: high.bigEndian) { Array($0) } + withUnsafeBytes(of: low.bigEndian) { Array($0) } }

    /// A new one. The generator must be unpredictable where somebody could profit from guessing.
    package init(using generator: inout some RandomNumberGenerator) {
        self.init(high: UInt32.random(in: 0...UInt32.max, using: &generator), low: UInt64.random(in: 0...UInt64.max, using: &generator))
    }
}
