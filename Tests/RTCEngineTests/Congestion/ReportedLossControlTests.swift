import RTCBase
import RTCEngine
import Testing

@Suite("ReportedLossControl")
struct ReportedLossControlTests {
    private func run(_ seconds: Int, fraction: Double, roundTrip: (Int) -> Int64 = { _ in 40_000_000 }) -> Double? {
        var control = ReportedLossControl()
        for second in 0..<seconds {
            control.update(
                fraction: fraction, roundTripNanoseconds: roundTrip(second), start: 1e6, sent: 100e6, limits: 50_000...5e6,
                now: MonotonicTime(milliseconds: Int64(second) * 1_000))
        }
        return control.bound
    }

    @Test("up without loss, held at some, down at much or behind a queue, within limits")
    func steps() throws {
        #expect(try #require(run(10, fraction: 0)) > 1.8e6)
        #expect(try #require(run(100, fraction: 0)) == 5e6)
        #expect(run(10, fraction: 0.05) == 1e6)
        #expect(try #require(run(10, fraction: 0.3)) < 300_000)
        #expect(try #require(run(100, fraction: 0.9)) == 50_000)
        #expect(try #require(run(10, fraction: 0) { $0 < 2 ? 40_000_000 : 400_000_000 }) < 0.5e6)
    }
}
