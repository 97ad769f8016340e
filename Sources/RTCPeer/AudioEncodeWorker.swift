internal import Dispatch
internal import RTCBase
internal import RTCCodec
internal import RTCTransport
internal import Synchronization

/// One encode thread of one published audio track: cuts pushed samples into blocks of 20 ms, paces, resamples where Opus
/// does not take the rate, encodes with in-band FEC, and hands the packets to the network thread. Whoever pushes only
/// copies.
///
/// The thread starts with the first samples and ends with `stop()`.
final class AudioEncodeWorker: Sendable {
    struct Counts: Sendable, Hashable {
        var encoded: UInt64 = 0
        /// Blocks of 20 ms that had to go because too many waited, or did not encode.
        var dropped: UInt64 = 0
    }

    private struct State {
        var input = AudioInput()
        var pace = AudioPace()
        var isStopped = false
        var isStarted = false
        /// The thread waits for samples, not for a time.
        var isIdle = false
        /// Packets handed to the network thread that it has not taken yet.
        var handedOver = 0
        var encoded: UInt64 = 0
        var errors: UInt64 = 0
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let pool = FrameBufferPool(maxCached: 4)
    /// Encode thread: a packet and its media time at 48 kHz; `tookPacket()` says that the receiver has it.
    private let onPacket: @Sendable (MediaBytes, UInt32) -> Void

    init(onPacket: @escaping @Sendable (MediaBytes, UInt32) -> Void) { self.onPacket = onPacket }

    var counts: Counts {
        state.withLock { Counts(encoded: $0.encoded, dropped: $0.input.dropped + $0.errors) }
    }

    /// Pushing threads: copies samples in; `now` is when the last of them was captured.
    func submit(_ samples: UnsafeBufferPointer<Int16>, format: AudioInput.Format, now: MonotonicTime) {
        enum Outcome { case nothing, wake, start }
        let outcome: Outcome = state.withLock { state in
            if state.isStopped { return .nothing }
            state.pace.onPushed(waiting: state.input.count, now: now)
            state.input.append(samples, format: format, now: now)
            guard state.input.count > 0 else { return .nothing }
            if !state.isStarted {
                state.isStarted = true
                return .start
            }
            defer { state.isIdle = false }
            return state.isIdle ? .wake : .nothing
        }
        switch outcome {
        case .nothing: break
        case .wake: wake.signal()
        case .start:
            if !WorkerThread.start(name: "reactor-mic", urgency: .audio, { [self] in run() }) { state.withLock { $0.isStarted = false } }
        }
    }

    func tookPacket() { state.withLock { $0.handedOver -= 1 } }

    /// Any thread: the thread ends with the block it is working on.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.input.removeAll()
        }
        wake.signal()
    }

    // MARK: Encode thread

    private enum Step {
        case block(AudioInput.Block)
        case wait(nanoseconds: Int64)
        case idle
        case stop
    }

    private func nextStep(into samples: UnsafeMutableBufferPointer<Int16>) -> Step {
        let now = NetworkExecutor.now()
        return state.withLock { state in
            if state.isStopped { return .stop }
            if state.input.count == 0 {
                state.isIdle = true
                return .idle
            }
            // A network thread that does not take its packets stops the flow; the queue's bound does the rest.
            guard state.handedOver < Self.mostHandedOver else { return .wait(nanoseconds: Self.retryNanoseconds) }
            let wait = state.pace.waitNanoseconds(now: now)
            if wait > 0 { return .wait(nanoseconds: wait) }
            guard let block = state.input.pop(into: samples) else { return .idle }
            state.pace.onSent(waiting: state.input.count, now: now)
            return .block(block)
        }
    }

    private func run() {
        var session = AudioEncodeSession(pool: pool)
        let samples = UnsafeMutableBufferPointer<Int16>.allocate(capacity: AudioInput.slotSamples)
        defer { samples.deallocate() }
        while true {
            switch nextStep(into: samples) {
            case .stop: return
            case .idle: wake.wait()
            case .wait(let nanoseconds): _ = wake.wait(timeout: .now() + .nanoseconds(Int(nanoseconds)))
            case .block(let block):
                let input = UnsafeBufferPointer(rebasing: samples[..<block.format.blockSamples])
                do throws(CodecError) {
                    try session.encode(input, block: block) { packet, time in
                        state.withLock { state in
                            state.encoded += 1
                            state.handedOver += 1
                        }
                        onPacket(packet, UInt32(truncatingIfNeeded: time))
                    }
                } catch {
                    session.reset()
                    state.withLock { $0.errors += 1 }
                }
            }
        }
    }

    private static let mostHandedOver = 50
    private static let retryNanoseconds: Int64 = 20_000_000
}
