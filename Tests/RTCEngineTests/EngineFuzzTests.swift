import PeerTestSupport
import RTCEngine
import RTCSimulation
import Testing

/// Whole streams through a receiving and a sending engine; see `FuzzBudget` for replaying a seed, and for longer runs.
@Suite("Engine fuzz")
struct EngineFuzzTests {
    @Test("arbitrary bytes never trap and deadlines end", arguments: FuzzBudget.starts(rounds: 200))
    func arbitrary(start: UInt64) {
        for seed in FuzzBudget(from: start) { Self.arbitrary(seed) }
    }

    private static func arbitrary(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let count = Int.random(in: 0...6000, using: &generator)
        EngineFuzz.packets((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    @Test("mostly well-formed streams with leaps, repeats and broken payloads never trap", arguments: FuzzBudget.starts(rounds: 200))
    func shaped(start: UInt64) {
        for seed in FuzzBudget(from: start) { Self.shaped(seed) }
    }

    private static func shaped(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed &+ 1_000_000)
        var bytes: [UInt8] = []
        for _ in 0..<800 {
            let length = UInt8.random(in: 0...24, using: &generator)
            let shape = UInt8.random(in: 0...255, using: &generator)
            bytes += [
                5 + 8 * UInt8.random(in: 0...3, using: &generator), UInt8.random(in: 0...12, using: &generator), shape | 0x20, length,
            ]
            bytes += (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        EngineFuzz.packets(bytes)
    }

    @Test("a sending engine takes any requests, reports and frames", arguments: FuzzBudget.starts(rounds: 200))
    func sending(start: UInt64) {
        for seed in FuzzBudget(from: start) { Self.sending(seed) }
    }

    private static func sending(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed &+ 2_000_000)
        // Everything is published first.
        var bytes: [UInt8] = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0]
        for _ in 0..<600 {
            let length = UInt8.random(in: 0...(generator.chance(0.1) ? 255 : 40), using: &generator)
            let kind: UInt8 =
                generator.chance(0.02) ? UInt8.random(in: 0...1, using: &generator) : UInt8.random(in: 2...11, using: &generator)
            bytes += [kind, UInt8.random(in: 0...20, using: &generator), UInt8.random(in: 0...255, using: &generator), length]
            bytes += (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        EngineFuzz.sending(bytes)
    }
}
