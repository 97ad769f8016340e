import RTCEngine
import RTCSimulation
import RTCWire
import Testing

@Suite("Negotiation fuzz")
struct NegotiationFuzzTests {
    @Test("descriptions with lines lost, repeated, swapped and spoilt never trap either role", arguments: 0..<200 as Range<UInt64>)
    func descriptions(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let offer = NegotiationFixtures.offer()
        let texts = [offer.write(), NegotiationFixtures.answer(to: offer).write()] + NegotiationFixtures.corpora.prefix(8)
        for text in texts {
            var lines = text.split(whereSeparator: \.isNewline).map { Array($0.utf8) }
            for _ in 0..<Int.random(in: 0...12, using: &generator) where lines.count > 3 {
                let place = Int.random(in: 2..<lines.count, using: &generator)
                switch UInt8.random(in: 0...4, using: &generator) {
                case 0: lines.remove(at: place)
                case 1: lines.insert(lines[place], at: Int.random(in: 2..<lines.count, using: &generator))
                case 2: lines.swapAt(place, Int.random(in: 2..<lines.count, using: &generator))
                case 3: lines[place].removeLast(min(max(0, lines[place].count - 1), Int.random(in: 1...9, using: &generator)))
                default:
                    guard !lines[place].isEmpty else { break }
                    let byte = Int.random(in: 0..<lines[place].count, using: &generator)
                    lines[place][byte] = UInt8.random(in: 0x20...0x7E, using: &generator)
                }
            }
            NegotiationFuzz.description(Array(lines.joined(separator: Array("\r\n".utf8))))
        }
    }
}
