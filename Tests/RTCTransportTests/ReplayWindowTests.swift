import RTCTransport
import Testing

@Suite("ReplayWindow, SRTPIndex")
struct ReplayWindowTests {
    @Test(
        "RFC 3711 §3.3.2: random arrivals are admitted as a set of everything seen would admit them", arguments: [1, 2, 3, 4] as [UInt64])
    func againstModel(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        var window = ReplayWindow()
        var seen: Set<Int64> = []
        var highest: Int64 = -1
        for step in 0..<20_000 {
            let index: Int64
            switch Int.random(in: 0..<100, using: &generator) {
            case 0: index = highest + Int64.random(in: 1...5000, using: &generator)
            case 1..<60: index = highest + 1
            case 60..<90: index = max(0, highest - Int64.random(in: 0..<1100, using: &generator))
            default: index = max(0, highest + Int64.random(in: -1030 ... -1018, using: &generator))
            }
            let expected = index > highest || (highest - index < 1024 && !seen.contains(index))
            guard window.admits(index) == expected else {
                Issue.record("step \(step), seed \(seed): \(index) with highest \(highest), expected \(expected)")
                return
            }
            if expected, Bool.random(using: &generator) {
                window.accept(index)
                seen.insert(index)
                highest = max(highest, index)
            }
            guard window.highest == highest else { return #expect(window.highest == highest) }
        }
    }

    @Test("a reset window is a new one")
    func reset() {
        var window = ReplayWindow()
        for index in [0, 5, 70_000, 69_999] as [Int64] { window.accept(index) }
        window.reset()
        #expect(window.highest == -1)
        #expect((0..<70_001).allSatisfy { window.admits($0) })
    }

    @Test("RFC 3711 §3.3.1: the counter is the one whose index is nearest; before the first one there is nothing")
    func estimate() {
        #expect(SRTPIndex.estimate(65_000, highest: -1) == 65_000)
        #expect(SRTPIndex.estimate(0, highest: 65_535) == 65_536)
        #expect(SRTPIndex.estimate(65_535, highest: 65_536) == 65_535)
        #expect(SRTPIndex.estimate(65_535, highest: 3) == 65_535, "no counter below 0")
        let high: Int64 = 7 << 16
        #expect(SRTPIndex.estimate(100, highest: high | 101) == high | 100)
        // RFC: ROC - 1 when SEQ - s_l > 2^15, ROC + 1 when s_l - 2^15 > SEQ.
        #expect(SRTPIndex.estimate(0x8000, highest: high) == high | 0x8000)
        #expect(SRTPIndex.estimate(0x8001, highest: high) == high - 0x1_0000 | 0x8001)
        #expect(SRTPIndex.estimate(0, highest: high | 0x8000) == high)
        #expect(SRTPIndex.estimate(0, highest: high | 0x8001) == high + 0x1_0000)
    }
}
