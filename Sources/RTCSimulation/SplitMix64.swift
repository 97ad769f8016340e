// The only source of chance in simulations: a seed names a run exactly.

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and the same on every platform.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// In 0..<1.
    package mutating func nextUnit() -> Double { Double(next() >> 11) * 0x1p-53 }

    package mutating func chance(_ probability: Double) -> Bool { probability > 0 && nextUnit() < probability }

    /// In 0...limit; 0 for a limit that is not positive.
    package mutating func nextNanoseconds(upTo limit: Int64) -> Int64 { limit > 0 ? Int64.random(in: 0...limit, using: &self) : 0 }
}
