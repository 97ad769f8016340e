import RTCBase
import Testing

@testable import RTCPeer

@Suite("CaptureStamper")
struct CaptureStamperTests {
    private func time(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(milliseconds: milliseconds) }

    @Test("without a capture time the time of the push counts, at 90 kHz")
    func pushed() {
        var clock = CaptureStamper()
        #expect(clock.stamp(captureTimeMicros: 0, pushed: time(1000)) == 90_000)
        #expect(clock.stamp(captureTimeMicros: 0, pushed: time(1033)) == 92_970)
    }

    @Test("SYN-03 a capture time counts, however late the push is")
    func captured() {
        var clock = CaptureStamper()
        #expect(clock.stamp(captureTimeMicros: 1_000_000, pushed: time(1100)) == 90_000)
        #expect(clock.stamp(captureTimeMicros: 1_033_333, pushed: time(1290)) == 92_999)
        #expect(clock.stamp(captureTimeMicros: 1_066_667, pushed: time(1291)) == 96_000)
    }

    @Test("two frames of one instant are a millisecond apart")
    func sameInstant() {
        var clock = CaptureStamper()
        let first = clock.stamp(captureTimeMicros: 5_000_000, pushed: time(5000))
        #expect(clock.stamp(captureTimeMicros: 5_000_000, pushed: time(5001)) == first + 90)
        #expect(clock.stamp(captureTimeMicros: 4_999_000, pushed: time(5002)) == first + 180)
    }

    @Test("capture times on another clock, far back or far ahead are not believed", arguments: [1, 1_700_000_000_000_000, UInt64.max])
    func otherClock(given: UInt64) {
        var clock = CaptureStamper()
        #expect(clock.stamp(captureTimeMicros: given, pushed: time(100_000)) == 9_000_000)
    }

    @Test("a capture time that goes back by seconds gives way to the push")
    func backwards() {
        var clock = CaptureStamper()
        _ = clock.stamp(captureTimeMicros: 50_000_000, pushed: time(50_000))
        #expect(clock.stamp(captureTimeMicros: 45_000_000, pushed: time(50_033)) == 4_502_970)
    }

    @Test("a capture time that stands still lets the stream go on")
    func standsStill() {
        var clock = CaptureStamper()
        var last: Int64 = 0
        for frame in 0..<1000 {
            let stamp = clock.stamp(captureTimeMicros: 10_000_000, pushed: time(10_000 + Int64(frame) * 33))
            #expect(stamp > last)
            last = stamp
        }
        // By the end the pushes count again.
        #expect(last == (10_000 + 999 * 33) * 90)
    }

    @Test("large times do not overflow")
    func large() {
        #expect(CaptureStamper.ticks(micros: Int64.max / 1000) > 0)
        #expect(CaptureStamper.ticks(micros: 1_000_100) == 90_009)
    }
}
