import RTCBase
import Testing

@testable import ReactorTesting

@Suite("RecordingTimeline")
struct RecordingTimelineTests {
    private static func at(_ milliseconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 7_000_000_000 + Int64(milliseconds * 1e6))
    }

    @Test("a model at 30 fills every slot, whatever the jitter", arguments: [0.0, 5, 10])
    func steady(jitterMilliseconds: Double) {
        var timeline = RecordingTimeline(pictureRate: 30)
        let slots = (0..<300).map { index in
            timeline.onPicture(now: Self.at(Double(index) * 1000 / 30 + Double(index * 7 % 5 - 2) / 2 * jitterMilliseconds))
        }
        #expect(slots == Array(0..<300))
        #expect(timeline.slots(at: Self.at(10_000)) == 300)
    }

    @Test("other rates keep their pace on the grid", arguments: [(15.0, 150), (10, 100), (24, 240), (60, 300), (31, 300)])
    func rates(rate: Double, expected: Int) {
        var timeline = RecordingTimeline(pictureRate: rate)
        let slots = (0..<Int(rate * 10)).compactMap { timeline.onPicture(now: Self.at(Double($0) * 1000 / rate)) }
        #expect(abs(slots.count - expected) <= 2)
        #expect(zip(slots, slots.dropFirst()).allSatisfy { $0 < $1 })
        // The last picture of ten seconds is where it belongs.
        #expect(abs((slots.last ?? 0) - Int(300 - 30 / rate)) <= 1)
    }

    @Test("wire 3.4: media time stands still while the model emits nothing")
    func pause() {
        var timeline = RecordingTimeline(pictureRate: 30)
        for index in 0..<30 { _ = timeline.onPicture(now: Self.at(Double(index) * 1000 / 30)) }
        #expect(timeline.slots(at: Self.at(1_000)) == 30)
        #expect(timeline.slots(at: Self.at(600_000)) == 30)
        #expect(timeline.onPicture(now: Self.at(600_000)) == 30)
        #expect(timeline.onPicture(now: Self.at(600_033)) == 31)
    }

    @Test("a slow model does not pause between its pictures")
    func slowModel() {
        var timeline = RecordingTimeline(pictureRate: 1)
        #expect((0..<5).map { timeline.onPicture(now: Self.at(Double($0) * 1000)) } == [0, 30, 60, 90, 120])
    }

    @Test("blocks of sound follow one another; a gap is kept, jitter is not")
    func sound() {
        var timeline = RecordingTimeline(pictureRate: 30)
        #expect(timeline.onSound(samples: 960, now: Self.at(0)) == nil)  // nothing to lie beside yet
        _ = timeline.onPicture(now: Self.at(0))
        #expect(timeline.onSound(samples: 960, now: Self.at(0)) == 0)
        #expect(timeline.onSound(samples: 960, now: Self.at(55)) == 960)
        #expect(timeline.onSound(samples: 960, now: Self.at(20)) == 1920)
        #expect(timeline.onSound(samples: 960, now: Self.at(400)) == 18_240)
    }

    @Test("sound alone is a recording, and one that was pushed ahead goes on by itself")
    func soundAlone() {
        var timeline = RecordingTimeline(pictureRate: nil)
        #expect(timeline.onSound(samples: 96_000, now: Self.at(0)) == 0)
        #expect(timeline.slots(at: Self.at(1_000)) == 30)
        #expect(timeline.slots(at: Self.at(10_000)) == 60)
        #expect(timeline.onSound(samples: 960, now: Self.at(10_000)) == 96_000)
        #expect(timeline.slots(at: Self.at(20_000)) == 60)
    }

    @Test("sound far ahead of its time is left out")
    func bounded() {
        var timeline = RecordingTimeline(pictureRate: nil)
        #expect(timeline.onSound(samples: 480_000, now: Self.at(0)) == 0)
        #expect(timeline.onSound(samples: 1, now: Self.at(0)) == nil)
        #expect(timeline.onSound(samples: 48_000, now: Self.at(1_000)) == 480_000)
        #expect(timeline.onSound(samples: 0, now: Self.at(1_000)) == nil)
    }

    @Test("times that go back, and rates that are none, do no harm", arguments: [0.0, -1, .nan, .infinity, 1e300])
    func nonsense(rate: Double) {
        var timeline = RecordingTimeline(pictureRate: rate)
        #expect(timeline.onPicture(now: Self.at(100)) == 0)
        #expect(timeline.onPicture(now: Self.at(0)) == nil)
        #expect(timeline.onPicture(now: Self.at(134)) == 1)
    }
}
