import RTCBase
import RTCEngine
import Testing

@Suite("NackTracker")
struct NackTrackerTests {
    private let interval: Int64 = 110_000_000
    private let roundTrip: Int64 = 100_000_000

    private func due(_ tracker: inout NackTracker, at milliseconds: Int64) -> [UInt16] {
        var list: [UInt16] = []
        tracker.takeDue(now: start.adding(milliseconds: milliseconds), interval: interval, into: &list)
        return list
    }

    @Test("RTP-08 across the wrap exactly the skipped numbers are asked for")
    func wrap() {
        var tracker = NackTracker()
        #expect(tracker.noteGap(65_534..<65_538, now: start) == true)
        #expect(due(&tracker, at: 0) == [65_534, 65_535, 0, 1])
    }

    @Test("asked at once, again after the interval, ten times in all")
    func repeats() {
        var tracker = NackTracker()
        _ = tracker.noteGap(5..<6, now: start)
        #expect(tracker.nextDeadline == start)
        var times: [Int64] = []
        for millisecond in stride(from: 0, to: 3000, by: 1) as StrideTo<Int64> where !due(&tracker, at: millisecond).isEmpty {
            times.append(millisecond)
        }
        #expect(times == (0..<10).map { $0 * 110 })
        #expect(tracker.nextDeadline == nil)
        #expect(tracker.noticed(5) == start)
    }

    @Test("an answer gives the round trip; a packet that was only late does not, and teaches patience")
    func arrivals() {
        var tracker = NackTracker()
        _ = tracker.noteGap(5..<9, now: start)
        #expect(
            tracker.noteArrival(6, isRetransmission: false, roundTrip: roundTrip, now: start.adding(milliseconds: 8))
                == .reordered(nanoseconds: 8_000_000))
        #expect(due(&tracker, at: 10) == [5, 7, 8])
        let answered = tracker.noteArrival(5, isRetransmission: true, roundTrip: roundTrip, now: start.adding(milliseconds: 105))
        #expect(answered == .repaired(nanoseconds: 95_000_000))
        #expect(tracker.noteArrival(5, isRetransmission: true, roundTrip: roundTrip, now: start.adding(milliseconds: 106)) == .notMissing)
        // The next gap waits for about as long as that packet was late.
        _ = tracker.noteGap(20..<21, now: start.adding(milliseconds: 108))
        #expect(due(&tracker, at: 108).isEmpty)
        #expect(due(&tracker, at: 118).contains(20))
        tracker.discard(before: 8)
        #expect(tracker.count == 2)
        #expect(tracker.noticed(7) == nil)
    }

    @Test("it is not a sample when two requests may have caused the answer")
    func karn() {
        var tracker = NackTracker()
        _ = tracker.noteGap(1..<4, now: start)
        _ = due(&tracker, at: 0)
        #expect(
            tracker.noteArrival(1, isRetransmission: true, roundTrip: roundTrip, now: start.adding(milliseconds: 100))
                == .repaired(nanoseconds: 100_000_000))
        _ = due(&tracker, at: 110)
        #expect(
            tracker.noteArrival(2, isRetransmission: true, roundTrip: roundTrip, now: start.adding(milliseconds: 120))
                == .repaired(nanoseconds: 120_000_000))
        #expect(
            tracker.noteArrival(3, isRetransmission: true, roundTrip: roundTrip, now: start.adding(milliseconds: 210))
                == .repaired(nanoseconds: nil))
    }

    @Test("while requests go unanswered each is sent twice, and not otherwise")
    func copies() {
        var tracker = NackTracker()
        var now: Int64 = 0
        for number in 0..<20 as Range<Int64> {
            let isAnsweredAtOnce = number == 0
            _ = tracker.noteGap(number..<(number + 1), now: start.adding(milliseconds: now))
            #expect(due(&tracker, at: now) == [UInt16(number)])
            if isAnsweredAtOnce { #expect(due(&tracker, at: now + 20).isEmpty) }
            if !isAnsweredAtOnce { _ = due(&tracker, at: now + 110) }
            now += isAnsweredAtOnce ? 100 : 215
            _ = tracker.noteArrival(number, isRetransmission: true, roundTrip: roundTrip, now: start.adding(milliseconds: now))
        }
        _ = tracker.noteGap(100..<101, now: start.adding(milliseconds: now))
        #expect(due(&tracker, at: now) == [100])
        #expect(due(&tracker, at: now + 5).isEmpty)
        #expect(due(&tracker, at: now + 10) == [100])
        #expect(due(&tracker, at: now + 100).isEmpty)
        #expect(due(&tracker, at: now + 110) == [100])
    }

    /// Gaps of one packet in every `distance`, each repaired at the first request, or come late by themselves.
    private func losses(every distance: Int64, arriveLate: Bool = false) -> (tracker: NackTracker, next: Int64, now: Int64) {
        var tracker = NackTracker()
        var (number, now): (Int64, Int64) = (distance, 0)
        for _ in 0..<100 {
            _ = tracker.noteGap(number..<(number + 1), now: start.adding(milliseconds: now))
            if arriveLate {
                _ = tracker.noteArrival(number, isRetransmission: false, roundTrip: roundTrip, now: start.adding(milliseconds: now + 5))
            } else {
                _ = due(&tracker, at: now + 30)
                _ = tracker.noteArrival(number, isRetransmission: true, roundTrip: roundTrip, now: start.adding(milliseconds: now + 130))
            }
            number += distance
            now += 200
        }
        return (tracker, number, now)
    }

    @Test("from 2 % loss on each request is sent twice before any went unanswered; below, and for late packets, once")
    func copiesByLoss() {
        for (distance, arriveLate, copies) in [(50, false, true), (20, false, true), (100, false, false), (10, true, false)] {
            var (tracker, number, now) = losses(every: Int64(distance), arriveLate: arriveLate)
            _ = tracker.noteGap(number..<(number + 1), now: start.adding(milliseconds: now))
            let times = (now...(now + 109)).filter { !due(&tracker, at: $0).isEmpty }
            #expect(times.count == (copies ? 2 : 1), "one in \(distance)")
            if copies { #expect(times[1] - times[0] == 10) }
            number += 1
            // Ten rounds, however many copies.
            let later = ((now + 110)...(now + 3_000)).count { !due(&tracker, at: $0).isEmpty }
            #expect(later == 9 * times.count)
        }
    }

    @Test("after the loss is over requests go out once again")
    func copiesEnd() {
        var (tracker, number, now) = losses(every: 20)
        number += 2_000
        _ = tracker.noteGap(number..<(number + 1), now: start.adding(milliseconds: now))
        now += 30
        #expect(due(&tracker, at: now) == [UInt16(truncatingIfNeeded: number)])
        let isQuiet = (1..<100).allSatisfy { due(&tracker, at: now + $0).isEmpty }
        #expect(isQuiet)
    }

    @Test("more open losses than can be repaired are refused whole; one request holds a bounded number")
    func bounds() {
        var tracker = NackTracker()
        let refused = tracker.noteGap(0..<Int64(NackTracker.capacity + 1), now: start)
        #expect(!refused)
        #expect(tracker.isEmpty)
        #expect(tracker.noteGap(0..<Int64(NackTracker.capacity), now: start) == true)
        #expect(due(&tracker, at: 0).count == NackTracker.maxPerRequest)
        #expect(tracker.nextDeadline == start)
        #expect(due(&tracker, at: 0).count == NackTracker.maxPerRequest)
        #expect(due(&tracker, at: 0).count == NackTracker.capacity - 2 * NackTracker.maxPerRequest)
        #expect(tracker.nextDeadline.map { $0 > start } == true)
    }

    @Test("numbers before the first one are noted in order, once, and asked for a moment later")
    func beginning() {
        var tracker = NackTracker()
        let start = MonotonicTime(milliseconds: 1_000)
        tracker.noteBeginning(9..<10, now: start)
        tracker.noteBeginning(6..<10, now: start)
        var list: [UInt16] = []
        tracker.takeDue(now: start, interval: 100_000_000, into: &list)
        #expect(list.isEmpty && tracker.count == 4)
        tracker.takeDue(now: start.adding(milliseconds: 5), interval: 100_000_000, into: &list)
        #expect(list == [6, 7, 8, 9])
    }
}
