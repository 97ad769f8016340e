import RTCBase
import Testing

@testable import RTCPeer

@Suite("AudioPace")
struct AudioPaceTests {
    /// Pushes of so many blocks in virtual time, and a thread that sends what may leave; each block's sending time and wait.
    private struct Player {
        var pace = AudioPace()
        var waiting: [Double] = []
        var sent: [(time: Double, delay: Double)] = []
        var nanoseconds: Int64 = 1_000_000_000

        var now: MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }
        var milliseconds: Double { Double(nanoseconds) / 1e6 }

        /// One push of `blocks`, then the time until the next push.
        mutating func push(_ blocks: Int, then interval: Double) {
            pace.onPushed(waiting: waiting.count, now: now)
            for _ in 0..<blocks { waiting.append(milliseconds) }
            let end = nanoseconds + Int64(interval * 1e6)
            while true {
                guard let pushed = waiting.first else { break }
                let wait = max(0, pace.waitNanoseconds(now: now))
                if nanoseconds + wait >= end { break }
                nanoseconds += wait
                waiting.removeFirst()
                pace.onSent(waiting: waiting.count, now: now)
                sent.append((milliseconds, milliseconds - pushed))
            }
            nanoseconds = end
        }
    }

    @Test("steady pushes leave at once, jitter or not")
    func steady() {
        var player = Player()
        for number in 0..<1000 { player.push(1, then: number % 2 == 0 ? 12 : 28) }
        #expect(player.sent.allSatisfy { $0.delay < 1 })
    }

    @Test("a burst of 100 ms leaves in steps of 20 ms and is gone when the next comes")
    func bursts() {
        var player = Player()
        for _ in 0..<50 { player.push(5, then: 100) }
        #expect(player.waiting.isEmpty)
        #expect(player.sent.allSatisfy { $0.delay <= 80 })
        let gaps = zip(player.sent.dropFirst(10), player.sent.dropFirst(11)).map { $1.time - $0.time }
        #expect(gaps.filter { $0 < 15 }.count <= gaps.count / 4, "most are apart")
        #expect(gaps.allSatisfy { $0 <= 41 })
    }

    @Test("a clock that is 0.3 per cent fast makes no queue", arguments: [20.0, 100])
    func fastClock(interval: Double) {
        var player = Player()
        for _ in 0..<Int(600_000 / interval) { player.push(Int(interval / 20), then: interval * 0.997) }
        #expect(player.sent.suffix(500).allSatisfy { $0.delay <= interval })
    }

    @Test("what a stall left behind is gone within seconds")
    func stall() {
        var player = Player()
        for _ in 0..<50 { player.push(1, then: 20) }
        player.push(20, then: 20)
        for _ in 0..<150 { player.push(1, then: 20) }
        #expect(player.sent.last.map { $0.delay < 1 } == true)
    }

    @Test("the first block leaves at once, and the one after a pause too")
    func pause() {
        var player = Player()
        player.push(1, then: 20)
        player.push(1, then: 5000)
        player.push(1, then: 20)
        #expect(player.sent.map(\.delay) == [0, 0, 0])
    }
}

@Suite("AudioTimeline")
struct AudioTimelineTests {
    @Test("without a pause the steps are those of the samples, however the captures jitter")
    func contiguous() {
        var timeline = AudioTimeline()
        let start = timeline.stamp(captured48kHz: 1_000_000, samples: 960)
        for number in 1..<2000 {
            let jitter = Int64(number * 7919 % 3000)
            let stamp = timeline.stamp(captured48kHz: 1_000_000 + Int64(number) * 960 + jitter, samples: 960)
            #expect(stamp == start + Int64(number) * 960)
        }
    }

    @Test("a pause moves the time on by its length")
    func pause() {
        var timeline = AudioTimeline()
        _ = timeline.stamp(captured48kHz: 48_000, samples: 960)
        #expect(timeline.stamp(captured48kHz: 48_000 * 4, samples: 960) == 48_000 * 4)
    }

    @Test("a clock that drifts by 300 ppm is no pause", arguments: [-0.0003, 0.0003])
    func drift(share: Double) {
        var timeline = AudioTimeline()
        let start = timeline.stamp(captured48kHz: 0, samples: 960)
        // An hour.
        for number in 1..<180_000 {
            let captured = Int64(Double(number) * 960 * (1 + share))
            let stamp = timeline.stamp(captured48kHz: captured, samples: 960)
            if stamp != start + Int64(number) * 960 {
                Issue.record("a jump after \(number) blocks")
                break
            }
        }
    }

    @Test("time never goes back")
    func backwards() {
        var timeline = AudioTimeline()
        let first = timeline.stamp(captured48kHz: 100_000, samples: 960)
        #expect(timeline.stamp(captured48kHz: 0, samples: 960) == first + 960)
    }
}
