internal import Dispatch
internal import RTCBase
internal import RTCCodec
internal import RTCEngine
internal import RTCTransport
internal import Synchronization

/// The playout thread of one audio track: every 10 ms, from absolute deadlines, it asks the jitter buffer what comes
/// next, decodes it, and delivers one block of 480 samples. The network thread only copies packets in.
///
/// The thread starts with the first packet and ends with `stop()`.
final class AudioWorker: Sendable {
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

    /// Network thread: copies one packet's payload into the jitter buffer.
    func insert(_ payload: RawSpan, sequence: Int64, timestamp: UInt32) {
        let mustStart = state.withLock { state in
            if state.isStopped { return false }
            state.buffer.insert(sequence: sequence, timestamp: timestamp, payload: payload)
            if state.isStarted { return false }
            state.isStarted = true
            return true
        }
        if mustStart, !WorkerThread.start(name: "reactor-aud", { [self] in run() }) {
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

    private func run() {
        guard let decoder = try? OpusDecoder(sampleRate: Self.sampleRate, channels: 1) else { return }
        var playout = Playout(decoder: decoder)
        var clock = PlayoutClock(start: NetworkExecutor.now())
        while true {
            let wait = clock.waitNanoseconds(now: NetworkExecutor.now())
            if wait > 0 { _ = wake.wait(timeout: .now() + .nanoseconds(Int(wait))) }
            clock.advance(now: NetworkExecutor.now())
            let (isStopped, isReceiving) = state.withLock { ($0.isStopped, $0.isReceiving) }
            if isStopped { return }
            guard isReceiving else {
                playout.reset()
                continue
            }
            while playout.pendingSamples < Self.blockSamples {
                let decision = state.withLock { state in
                    let decision = state.buffer.pull()
                    // Decoding happens outside the lock, from a copy.
                    switch decision {
                    case .packet(let range, _, _), .fec(let range, _, _):
                        state.buffer.withPayload(range) { playout.keep($0) }
                    case .conceal, .silence:
                        break
                    }
                    return decision
                }
                if !playout.play(decision) { state.withLock { $0.decodeErrors += 1 } }
            }
            track.deliver(PCMBlock(samples: playout.takeBlock(Self.blockSamples), sampleRate: Self.sampleRate, channels: 1))
        }
    }

    private static let sampleRate = 48_000
    private static let blockSamples = 480
}

/// The decoder with the samples it made and nobody took yet; used by the playout thread alone.
private struct Playout: ~Copyable {
    private let decoder: OpusDecoder
    private let scratch: UnsafeMutableBufferPointer<Int16>
    private var samples: [Int16] = []
    private var packet: [UInt8] = []

    init(decoder: OpusDecoder) {
        self.decoder = decoder
        scratch = .allocate(capacity: decoder.maxSamplesPerChannel)
        samples.reserveCapacity(2 * decoder.maxSamplesPerChannel)
        packet.reserveCapacity(1500)
    }

    deinit { scratch.deallocate() }

    var pendingSamples: Int { samples.count }

    mutating func keep(_ payload: RawSpan) {
        packet.removeAll(keepingCapacity: true)
        payload.withUnsafeBytes { packet.append(contentsOf: $0) }
    }

    /// Always makes samples; false when the decoder refused and silence took the place.
    mutating func play(_ decision: AudioDecision) -> Bool {
        do throws(CodecError) {
            switch decision {
            case .packet:
                append(try decoder.decode(packet.span.bytes, into: scratch))
            case .fec(_, let count, _):
                append(try decoder.decodeFEC(packet.span.bytes, samplesPerChannel: count, into: scratch))
            case .conceal(let count, let isFading):
                append(try decoder.conceal(count, into: scratch))
                if isFading { fadeOut(count) }
            case .silence(let count):
                appendSilence(count)
            }
            return true
        } catch {
            appendSilence(max(decision.samples, 120))
            return false
        }
    }

    mutating func takeBlock(_ count: Int) -> [Int16] {
        let block = Array(samples.prefix(count))
        samples.removeFirst(min(count, samples.count))
        return block
    }

    mutating func reset() {
        samples.removeAll(keepingCapacity: true)
        decoder.reset()
    }

    private mutating func append(_ count: Int) {
        if count <= 0 { return appendSilence(120) }
        samples.append(contentsOf: scratch.prefix(count))
    }

    private mutating func appendSilence(_ count: Int) { samples.append(contentsOf: repeatElement(0, count: max(120, count))) }

    /// The last stretch before silence goes down to zero, so that it ends without a click.
    private mutating func fadeOut(_ count: Int) {
        let start = max(0, samples.count - count)
        let length = samples.count - start
        for i in start..<samples.count {
            samples[i] = Int16(Int(samples[i]) * (samples.count - 1 - i) / max(1, length))
        }
    }
}
