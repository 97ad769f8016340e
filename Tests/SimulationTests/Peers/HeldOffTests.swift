import RTCBase
import RTCSimulation
import Testing

@Suite("HeldOff")
struct HeldOffTests {
    private static func at(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(milliseconds: milliseconds) }

    @Test("tells when the process runs again")
    func spans() {
        var held = HeldOff([Self.at(10)..<Self.at(20), Self.at(30)..<Self.at(31)])
        let ends = [0, 10, 19, 20, 25, 30, 31, 99].map { held.end(at: Self.at($0)) }
        #expect(ends == [nil, Self.at(20), Self.at(20), nil, nil, Self.at(31), nil, nil])
    }

    @Test("spans by chance are in order, within their bounds, and as frequent as asked")
    func random() {
        var generator = SplitMix64(seed: 4)
        var held = HeldOff.random(
            perSecond: 2, longestMilliseconds: 100, from: Self.at(0), to: Self.at(60_000), generator: &generator)
        var count = 0
        var time = Self.at(0)
        while time < Self.at(61_000) {
            if let end = held.end(at: time) {
                count += 1
                #expect(end > time && end.milliseconds(since: time) <= 101)
                time = end
            } else {
                time = time.adding(milliseconds: 1)
            }
        }
        #expect((80...130).contains(count))
        var none = HeldOff.random(perSecond: 0, longestMilliseconds: 100, from: Self.at(0), to: Self.at(9), generator: &generator)
        let end = none.end(at: Self.at(5))
        #expect(end == nil)
    }
}
