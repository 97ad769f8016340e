internal import Dispatch
internal import RTCBase
internal import RTCEngine
internal import RTCTransport
internal import Synchronization

/// The playout thread of one audio track: every 10 ms, from absolute deadlines, it asks the jitter buffer what comes
/// next, decodes it, and delivers one block of 480 samples per channel. The network thread only copies packets in.
///
/// The thread starts with the first packet and ends with `stop()`.
final class AudioWorker: AudioBufferHolder, Sendable {
    private struct State {
        var buffer = AudioJitterBuffer()
        var isStarted = false
        var isStopped = false
        var isReceiving = true
        var decodeErrors: UInt64 = 0
    }

    private let track: RemoteTrack
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    init(track: RemoteTrack) { self.track = track }

    var drops: DropCounters {
        state.withLock { state in
            var drops = state.buffer.drops
            drops.count(.audioDecodeError, by: state.decodeErrors)
            return drops
        }
    }

    var statistics: AudioJitterStatistics { state.withLock { $0.buffer.statistics } }
    var decodeErrors: UInt64 { state.withLock { $0.decodeErrors } }

    func withBuffer<R>(_ body: (inout AudioJitterBuffer) -> R) -> R { state.withLock { body(&$0.buffer) } }

    /// Network thread: copies one packet's payload into the jitter buffer.
    func insert(_ payload: RawSpan, sequence: Int64, timestamp: UInt32, arrival: MonotonicTime) {
        let mustStart = state.withLock { state in
            if state.isStopped { return false }
            state.buffer.insert(sequence: sequence, timestamp: timestamp, payload: payload, arrival: arrival)
            if state.isStarted { return false }
            state.isStarted = true
            return true
        }
        if mustStart, !WorkerThread.start(name: "reactor-aud", urgency: .audio, { [self] in run(start: arrival) }) {
            state.withLock { $0.isStarted = false }
        }
    }

    /// AUD-11: what was buffered before a pause never plays after it.
    func setReceiving(_ isReceiving: Bool) {
        state.withLock { state in
            guard state.isReceiving != isReceiving else { return }
            state.isReceiving = isReceiving
            if isReceiving { state.buffer.resume() } else { state.buffer.pause() }
        }
    }

    /// Any thread: the thread ends at its next deadline at the latest.
    func stop() {
        state.withLock { $0.isStopped = true }
        wake.signal()
    }

    private func run(start: MonotonicTime) {
        guard var playout = AudioPlayout() else { return }
        // The first deadline is when the first packet is to play.
        var clock = PlayoutClock(start: start)
        while true {
            let wait = clock.waitNanoseconds(now: NetworkExecutor.now())
            if wait > 0 { _ = wake.wait(timeout: .now() + .nanoseconds(Int(wait))) }
            let due = clock.deadline
            clock.advance(now: NetworkExecutor.now())
            let (isStopped, isReceiving) = state.withLock { ($0.isStopped, $0.isReceiving) }
            if isStopped { return }
            guard isReceiving else {
                playout.reset()
                continue
            }
            track.deliver(playout.makeBlock(due: due, from: self))
            if let error = playout.phaseError(due: due, in: self) { clock.approach(error: error) }
            let errors = playout.decodeErrors
            state.withLock { $0.decodeErrors = errors }
        }
    }
}
