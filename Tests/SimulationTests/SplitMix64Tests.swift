import RTCSimulation
import Testing

@Suite("SplitMix64")
struct SplitMix64Tests {
    @Test("gives the published sequence of seed 1234567")
    func reference() {
        var generator = SplitMix64(seed: 1_234_567)
        let numbers = (0..<5).map { _ in generator.next() }
        #expect(
            numbers == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423, 4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ])
    }

    @Test("units stay in 0..<1 and chances come out as often as they should")
    func distribution() {
        var generator = SplitMix64(seed: 1)
        let units = (0..<10_000).map { _ in generator.nextUnit() }
        #expect(units.allSatisfy { (0..<1).contains($0) })
        let hits = (0..<10_000).count { _ in generator.chance(0.1) }
        #expect((850...1_150).contains(hits))
        let never = generator.chance(0)
        let nothing = generator.nextNanoseconds(upTo: 0)
        #expect(!never)
        #expect(nothing == 0)
    }
}
