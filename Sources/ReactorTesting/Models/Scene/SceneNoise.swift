/// Random-looking numbers that are the same everywhere: each is a function of a seed and a place.
struct SceneNoise: Hashable, Sendable {
    let seed: UInt64

    init(seed: UInt64) { self.seed = seed }

    /// FNV-1a of the text.
    init(_ text: String) {
        seed = text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    /// SplitMix64's mixing.
    func bits(_ place: Int) -> UInt64 {
        var value = seed &+ (UInt64(bitPattern: Int64(place)) &+ 1) &* 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    /// From 0 up to 1.
    func unit(_ place: Int) -> Double { Double(bits(place) >> 11) * 0x1p-53 }

    func under(_ bound: Int, _ place: Int) -> Int { Int(bits(place) % UInt64(max(1, bound))) }

    /// Another, unrelated source.
    func branch(_ number: Int) -> SceneNoise { SceneNoise(seed: bits(number &* 7919 &+ 0x5EED)) }

    /// From 0 to 1 along `turn`, which repeats after 1: `cells` random heights, joined by lines or, when smooth, by curves.
    func line(_ turn: Double, cells: Int, isSmooth: Bool) -> Double {
        let place = (turn - turn.rounded(.down)) * Double(cells)
        let cell = min(cells - 1, Int(place))
        var share = place - Double(cell)
        if isSmooth { share *= share * (3 - 2 * share) }
        let left = unit(cell)
        return left + (unit((cell + 1) % cells) - left) * share
    }
}
