import RTCBase
import Testing

@testable import RTCTransport

@Suite("Refusal detector")
struct RefusalDetectorTests {
    private let start = MonotonicTime(milliseconds: 1_000)

    /// The macro cannot call mutating functions.
    private func expect(_ condition: Bool, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(condition, comment, sourceLocation: sourceLocation)
    }

    private func probing() -> (RefusalDetector, MonotonicTime) {
        var detector = RefusalDetector()
        detector.start(now: start)
        let now = detector.nextDeadline!
        expect(detector.handleTimeout(now: now) == .probe)
        return (detector, now)
    }

    @Test("while datagrams arrive nothing is probed")
    func traffic() throws {
        var detector = RefusalDetector()
        detector.start(now: start)
        for _ in 0..<100 {
            detector.handleDatagram()
            let deadline = try #require(detector.nextDeadline)
            expect(detector.handleTimeout(now: deadline) == .none)
            #expect(!detector.isProbing)
        }
    }

    @Test("what the library keeps to itself forgives a refusal, and does not make the next probe come sooner")
    func heard() throws {
        var (detector, now) = probing()
        expect(!detector.handleRefusal(now: now))
        let deadline = try #require(detector.nextDeadline)
        detector.handleHeard()
        #expect(detector.isProbing && detector.nextDeadline == deadline)
        now = now.adding(milliseconds: 100)
        expect(!detector.handleRefusal(now: now), "the first one again")
        now = now.adding(milliseconds: 100)
        expect(detector.handleRefusal(now: now))
        var listening = RefusalDetector()
        listening.start(now: start)
        let before = listening.nextDeadline
        listening.handleHeard()
        #expect(listening.nextDeadline == before && !listening.isProbing)
    }

    @Test("silence is probed within 250 ms, then less and less often, at least once a second, for ever")
    func silence() throws {
        var (detector, now) = probing()
        #expect(now.milliseconds(since: start) <= 250)
        for _ in 0..<100 {
            let deadline = try #require(detector.nextDeadline)
            #expect(deadline > now && deadline <= now.adding(milliseconds: 1000))
            now = deadline
            expect(detector.handleTimeout(now: now) == .probe)
        }
    }

    @Test("one refusal is no verdict, it brings the next probe forward; the refusal of that probe is one")
    func twoRefusals() throws {
        var (detector, now) = probing()
        expect(!detector.handleRefusal(now: now.adding(milliseconds: 1)))
        let next = try #require(detector.nextDeadline)
        #expect(next <= now.adding(milliseconds: 100))
        expect(!detector.handleRefusal(now: now.adding(milliseconds: 2)), "the second datagram of one burst")
        expect(detector.handleTimeout(now: next) == .probe)
        expect(detector.handleRefusal(now: next.adding(milliseconds: 1)))
    }

    @Test("anything heard between two refusals starts over")
    func heardBetween() throws {
        var (detector, now) = probing()
        expect(!detector.handleRefusal(now: now))
        detector.handleDatagram()
        now = try #require(detector.nextDeadline)
        expect(detector.handleTimeout(now: now) == .none)
        #expect(!detector.isProbing)
        expect(!detector.handleRefusal(now: now), "a late one")
        now = try #require(detector.nextDeadline)
        expect(detector.handleTimeout(now: now) == .probe)
        expect(!detector.handleRefusal(now: now))
    }

    @Test("stopped means no deadline and no verdict")
    func stopped() {
        var (detector, now) = probing()
        detector.stop()
        #expect(detector.nextDeadline == nil)
        expect(detector.handleTimeout(now: now.adding(milliseconds: 10_000)) == .none)
        expect(!detector.handleRefusal(now: now.adding(milliseconds: 10_000)))
    }
}
