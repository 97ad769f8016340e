import RTCBase
import RTCEngine
import Testing

@Suite("KeyFrameRequester")
struct KeyFrameRequesterTests {
    private func requests(_ requester: inout KeyFrameRequester, milliseconds: Range<Int64>, roundTrip: Int64) -> [Int64] {
        milliseconds.filter { requester.takeRequest(now: start.adding(milliseconds: $0), roundTrip: roundTrip) != nil }
    }

    @Test(
        "RTP-17 at once, then at a distance of 300 ms or the round trip, more slowly when nobody answers", arguments: [50, 400] as [Int64])
    func distance(roundTripMilliseconds: Int64) {
        var requester = KeyFrameRequester(usesPLI: true, usesFIR: false)
        let roundTrip = roundTripMilliseconds * 1_000_000
        #expect(requester.nextDeadline(roundTrip: roundTrip) == nil)
        requester.need(now: start)
        let times = requests(&requester, milliseconds: 0..<5000, roundTrip: roundTrip)
        let distance = max(300, roundTripMilliseconds * 5 / 4)
        #expect(times.prefix(3) == [0, distance, 2 * distance])
        #expect(zip(times.dropFirst(3), times.dropFirst(2)).allSatisfy { $0 - $1 == 2 * distance })
    }

    @Test("the distance holds across satisfied needs")
    func rateLimit() {
        var requester = KeyFrameRequester(usesPLI: true, usesFIR: true)
        var count = 0
        for millisecond in 0..<3000 as Range<Int64> {
            requester.need(now: start.adding(milliseconds: millisecond))
            if requester.takeRequest(now: start.adding(milliseconds: millisecond), roundTrip: 1_000_000) != nil { count += 1 }
            requester.satisfied()
        }
        #expect(count == 10)
        #expect(requester.nextDeadline(roundTrip: 1) == nil)
    }

    @Test("FIR numbers each request; without PLI and FIR nothing is asked")
    func kinds() {
        var requester = KeyFrameRequester(usesPLI: false, usesFIR: true)
        requester.need(now: start)
        #expect(requester.takeRequest(now: start, roundTrip: 1) == .fullIntra(sequence: 0))
        #expect(requester.takeRequest(now: start.adding(milliseconds: 300), roundTrip: 1) == .fullIntra(sequence: 1))
        var silent = KeyFrameRequester(usesPLI: false, usesFIR: false)
        silent.need(now: start)
        #expect(silent.takeRequest(now: start, roundTrip: 1) == nil)
        var both = KeyFrameRequester(usesPLI: true, usesFIR: true)
        both.need(now: start)
        let kinds = (0..<8).compactMap { both.takeRequest(now: start.adding(milliseconds: $0 * 1000), roundTrip: 1) }
        #expect(kinds.filter { $0 == .pictureLoss }.count == 6)
        #expect(kinds.count == 8)
    }
}
