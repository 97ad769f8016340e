import RTCBase
import RTCEngine
import Testing

@Suite("KeyFrameLimiter")
struct KeyFrameLimiterTests {
    @Test("RTP-19 twenty requests in a second: two key frames at most, the last request is not lost")
    func limit() {
        var limiter = KeyFrameLimiter()
        var answers: [Int64] = []
        for millisecond in 0..<2000 as Range<Int64> {
            if millisecond < 1000, millisecond % 50 == 0 { limiter.request() }
            let now = start.adding(milliseconds: millisecond)
            if limiter.takeRequest(now: now) { answers.append(millisecond) }
        }
        #expect(answers == [0, 500, 1000])
    }

    @Test("a key frame answers what was asked before it")
    func answered() {
        var limiter = KeyFrameLimiter()
        limiter.noteKeyFrame(now: start)
        limiter.request()
        let isEarly = limiter.takeRequest(now: start.adding(milliseconds: 100))
        #expect(!isEarly)
        #expect(limiter.nextDeadline == start.adding(milliseconds: 500))
        limiter.noteKeyFrame(now: start.adding(milliseconds: 200))
        #expect(limiter.nextDeadline == nil)
    }

    @Test("a FIR with the same number is a repeat, with another one a new command; askers are told apart")
    func commands() {
        var limiter = KeyFrameLimiter()
        let news = [
            limiter.command(5, from: 1), limiter.command(5, from: 1), limiter.command(5, from: 2), limiter.command(6, from: 1),
        ]
        #expect(news == [true, false, true, true])
        // Askers are remembered up to a bound.
        for asker in 10..<100 as Range<UInt32> { _ = limiter.command(0, from: asker) }
        let last = limiter.command(0, from: 99)
        #expect(!last)
    }
}
