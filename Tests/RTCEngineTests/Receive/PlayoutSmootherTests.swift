import RTCBase
import RTCEngine
import Testing

@Suite("PlayoutSmoother")
struct PlayoutSmootherTests {
    /// A video of pictures that are late by what the test says. Times in milliseconds.
    private struct Stream {
        var smoother = PlayoutSmoother()
        var ssrc: UInt32 = 7
        var timestamp: UInt32 = .max - 40_000
        var captured = 5_000.0
        var framesPerSecond = 30.0
        var path = 50.0
        /// Order is kept: a picture is complete when those before it are.
        var lastComplete = 0.0
        var lastShown: Double?
        var longestHold = 0.0
        var longestGap = 0.0

        var delay: Double { Double(smoother.delayNanoseconds) / 1e6 }

        /// The next picture; whether it is shown at once.
        @discardableResult
        mutating func next(late: Double = 0) -> Bool {
            captured += 1_000 / framesPerSecond
            timestamp &+= UInt32(90_000 / framesPerSecond)
            let first = captured + path
            lastComplete = max(lastComplete, first + late)
            let due = smoother.showTime(
                ssrc: ssrc, timestamp: timestamp, firstPacket: Self.time(first), complete: Self.time(lastComplete))
            let hold = due.map { Double($0.nanoseconds(since: Self.time(lastComplete))) / 1e6 } ?? 0
            longestHold = max(longestHold, hold)
            let shown = max(lastComplete + hold, lastShown ?? 0)
            if let lastShown { longestGap = max(longestGap, shown - lastShown) }
            lastShown = shown
            return due == nil
        }

        mutating func run(_ seconds: Double, late: Double = 0) {
            for _ in 0..<Int(seconds * framesPerSecond) { next(late: late) }
        }

        /// Two round trips late, `count` times, a second apart.
        mutating func freeze(_ count: Int, late: Double = 210) {
            for _ in 0..<count {
                run(1)
                next(late: late)
            }
        }

        private static func time(_ milliseconds: Double) -> MonotonicTime {
            MonotonicTime(nanoseconds: Int64((milliseconds * 1e6).rounded()))
        }
    }

    @Test("on a clean path nothing waits, at any frame rate", arguments: [5.0, 24, 30, 60])
    func clean(framesPerSecond: Double) {
        var stream = Stream()
        stream.framesPerSecond = framesPerSecond
        for _ in 0..<1_000 {
            let isAtOnce = stream.next()
            #expect(isAtOnce)
        }
        #expect(stream.delay == 0)
    }

    @Test("jitter of up to 140 ms, and a repaired packet in every other picture, cost nothing")
    func jitter() {
        var stream = Stream()
        var state: UInt64 = 1
        for index in 0..<3_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let isAtOnce = stream.next(late: index % 2 == 0 ? 100 : Double(state >> 33 & 0xFF) * 140 / 256)
            #expect(isAtOnce)
        }
        #expect(stream.delay == 0)
    }

    @Test("one freeze is chance; the second within seconds begins a delay that hides the third")
    func begins() {
        var stream = Stream()
        stream.freeze(1)
        #expect(stream.delay == 0)
        stream.run(8)
        stream.freeze(1)
        #expect(stream.delay == 0, "they were too far apart")
        stream.freeze(1)
        // 210 ms late, of which 150 are not noticed.
        #expect((60...70).contains(stream.delay))
        stream.run(2)
        stream.longestGap = 0
        stream.freeze(3)
        #expect(stream.longestGap <= 1_000.0 / 30 + 150)
    }

    @Test("pictures are held for the delay at most, evenly, and the late one not at all")
    func holds() {
        var stream = Stream()
        stream.freeze(2)
        stream.run(1)
        let delay = stream.delay
        stream.longestGap = 0
        stream.run(1)
        #expect(stream.longestHold <= delay + 0.001)
        #expect(stream.longestGap < 34)
        let isAtOnce = stream.next(late: 210)
        #expect(isAtOnce)
    }

    @Test("it goes back slowly and smoothly, to nothing")
    func goesBack() {
        var stream = Stream()
        stream.freeze(2)
        let delay = stream.delay
        stream.run(18)
        #expect(stream.delay == delay)
        stream.longestGap = 0
        stream.run(30)
        #expect(stream.delay == 0)
        #expect(stream.longestGap < 34)
        let isAtOnce = stream.next()
        #expect(isAtOnce)
    }

    @Test("a third round of requests is hidden too, a longer one is not waited for")
    func bound() {
        var stream = Stream()
        stream.freeze(3, late: 330)
        #expect((180...190).contains(stream.delay))
        var outages = Stream()
        outages.freeze(5, late: 600)
        #expect(outages.delay == 0)
        #expect(stream.delay <= Double(PlayoutSmoother.maxDelayNanoseconds) / 1e6)
    }

    @Test("a path that lasts longer from now on is the new normal within seconds", arguments: [300.0, 900, 5_000, -40])
    func pathChanges(by step: Double) {
        var stream = Stream()
        stream.freeze(2)
        stream.path += step
        stream.run(5)
        let delay = stream.delay
        #expect(delay > 0 && delay < 75)
        stream.longestHold = 0
        stream.run(5)
        // Held again, relative to the new path, and never by more than the delay.
        #expect(stream.longestHold > delay - 1 && stream.longestHold <= delay + 0.001)
        stream.run(60)
        #expect(stream.delay == 0)
    }

    @Test("a clock that is off by 200 ppm neither begins a delay nor stretches it")
    func drift() {
        for factor in [1.0002, 0.9998] {
            var stream = Stream()
            for _ in 0..<30_000 {
                stream.path += 1_000 / 30 * (factor - 1)
                let isAtOnce = stream.next()
                #expect(isAtOnce)
            }
        }
    }

    @Test("pauses, jumps of the timestamp and new sources go on at once")
    func newTimeBases() {
        for change in 0..<5 {
            var stream = Stream()
            stream.freeze(2)
            let delay = stream.delay
            switch change {
            case 0: stream.timestamp &+= 9_000_000
            case 1: stream.timestamp &-= 9_000_000
            case 2:
                stream.ssrc += 1
                stream.timestamp = 123
            case 3: stream.captured += 3_000
            default:
                stream.captured += 60_000
                stream.timestamp &+= 60 * 90_000
            }
            stream.lastShown = nil
            stream.longestHold = 0
            stream.run(1)
            #expect(stream.longestHold <= delay + 0.001, "change \(change)")
            #expect(stream.delay <= delay, "change \(change)")
            stream.run(60)
            #expect(stream.delay == 0, "change \(change)")
        }
    }

    @Test("a sender that makes no pictures for a while is not late, whatever its rate before and after")
    func pausesOfTheSender() {
        var stream = Stream()
        for _ in 0..<10 {
            stream.run(1)
            stream.captured += 700
            stream.timestamp &+= 63_000
            stream.framesPerSecond = stream.framesPerSecond == 30 ? 5 : 30
        }
        #expect(stream.delay == 0)
        #expect(stream.longestHold == 0)
    }

    @Test("hostile timestamps do not trap, and hold nothing for longer than the bound")
    func hostile() {
        var smoother = PlayoutSmoother()
        var state: UInt64 = 42
        var now = MonotonicTime(milliseconds: 5_000)
        for _ in 0..<20_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            now = now.adding(milliseconds: Int64(state >> 58))
            let due = smoother.showTime(
                ssrc: UInt32(state >> 40 & 1), timestamp: UInt32(truncatingIfNeeded: state >> 20), firstPacket: now, complete: now)
            if let due { #expect(due.nanoseconds(since: now) <= PlayoutSmoother.maxDelayNanoseconds) }
        }
    }
}
