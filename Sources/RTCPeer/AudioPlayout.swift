package import RTCBase
internal import RTCCodec
package import RTCEngine

/// Where a playout finds its jitter buffer, which it shares with the network thread.
package protocol AudioBufferHolder {
    func withBuffer<R>(_ body: (inout AudioJitterBuffer) -> R) -> R
}

/// The decoder of one audio track and the sound it made that nobody took yet; used by the playout thread alone.
///
/// It has as many channels as the sender codes (AUD-03): one until a packet with two comes.
package struct AudioPlayout: ~Copyable {
    private var decoder: OpusDecoder
    private let scratch: UnsafeMutableBufferPointer<Int16>
    private var queue = PlayoutQueue()
    private var packet: [UInt8] = []
    private var isSilent = true
    package private(set) var decodeErrors: UInt64 = 0

    package init?() {
        guard let decoder = try? OpusDecoder(sampleRate: Self.sampleRate, channels: 1) else { return nil }
        self.decoder = decoder
        scratch = .allocate(capacity: 2 * decoder.maxSamplesPerChannel)
        packet.reserveCapacity(1500)
    }

    deinit { scratch.deallocate() }

    package var channels: Int { queue.channels }

    /// The block due at `due`: 480 sampling instants, whatever came.
    package mutating func makeBlock(due: MonotonicTime, from holder: borrowing some AudioBufferHolder) -> PCMBlock {
        fill(due: due, from: holder)
        let pending = queue.pendingFrames
        let (adjustment, isNextReady) = holder.withBuffer { ($0.adjustment(now: due, pendingSamples: pending), $0.isNextReady) }
        switch adjustment {
        case .none: break
        case .insert(let count): report(queue.expand(about: count), due: due, to: holder)
        case .remove(let count, let care):
            // A joint needs some sound behind it; it is not worth an invented one.
            if pending < TimeStretcher.usefulFrames {
                guard isNextReady else { break }
                playNext(due: due, from: holder)
            }
            report(-queue.accelerate(atMost: count, care: care), due: due, to: holder)
            fill(due: due, from: holder)
        }
        return PCMBlock(
            samples: queue.takeBlock(frames: AudioJitterBuffer.blockSamples), sampleRate: Self.sampleRate, channels: channels)
    }

    /// How much later than needed the last block was due, in nanoseconds; nil when that is not for the clock to change.
    package func phaseError(due: MonotonicTime, in holder: borrowing some AudioBufferHolder) -> Int64? {
        // The block that was taken is pending no more.
        let next = due.adding(nanoseconds: PlayoutClock.intervalNanoseconds)
        return holder.withBuffer { $0.phaseError(now: next, pendingSamples: queue.pendingFrames) }
    }

    /// Forgets what was decoded: the track is paused.
    package mutating func reset() {
        queue.reset()
        decoder.reset()
        isSilent = true
    }

    // MARK: Decoding

    private mutating func fill(due: MonotonicTime, from holder: borrowing some AudioBufferHolder) {
        while queue.pendingFrames < AudioJitterBuffer.blockSamples { playNext(due: due, from: holder) }
    }

    private mutating func playNext(due: MonotonicTime, from holder: borrowing some AudioBufferHolder) {
        let pending = queue.pendingFrames
        let (decision, isJump) = holder.withBuffer { buffer in
            let jumps = buffer.statistics.jumps
            let decision = buffer.pull(now: due, pendingSamples: pending)
            // Decoding happens outside the lock, from a copy.
            switch decision {
            case .packet(let range, _, _), .fec(let range, _, _):
                packet.removeAll(keepingCapacity: true)
                buffer.withPayload(range) { payload in payload.withUnsafeBytes { packet.append(contentsOf: $0) } }
            case .conceal, .comfort, .silence:
                break
            }
            return (decision, buffer.statistics.jumps != jumps)
        }
        play(decision, isJump: isJump)
    }

    /// Always makes samples; where the decoder refuses, silence takes their place and is counted.
    private mutating func play(_ decision: AudioDecision, isJump: Bool) {
        if case .silence(let count) = decision { return playSilence(count) }
        if isJump || isSilent { queue.markBreak() }
        isSilent = false
        do throws(CodecError) {
            switch decision {
            case .packet:
                if OpusPacket.isStereo(packet.span.bytes) { try useTwoChannels() }
                append(try decoder.decode(packet.span.bytes, into: scratch))
            case .fec(_, let count, _):
                append(try decoder.decodeFEC(packet.span.bytes, samplesPerChannel: count, into: scratch))
            case .conceal(let count, let isFading):
                append(try decoder.conceal(count, into: scratch))
                if isFading { queue.fadeOutEnd(frames: count) }
            case .comfort(let count):
                append(try decoder.conceal(count, into: scratch))
            case .silence:
                break
            }
        } catch {
            decodeErrors += 1
            playSilence(max(decision.samples, Self.leastSamples))
        }
    }

    private func report(_ change: Int, due: MonotonicTime, to holder: borrowing some AudioBufferHolder) {
        holder.withBuffer { $0.didAdjust(by: change, now: due) }
    }

    private mutating func playSilence(_ count: Int) {
        if !isSilent { queue.markBreak() }
        isSilent = true
        queue.appendSilence(frames: max(1, count))
    }

    private mutating func append(_ count: Int) {
        guard count > 0 else { return queue.appendSilence(frames: Self.leastSamples) }
        queue.append(scratch.prefix(count * decoder.channels))
    }

    private mutating func useTwoChannels() throws(CodecError) {
        guard decoder.channels == 1 else { return }
        decoder = try OpusDecoder(sampleRate: Self.sampleRate, channels: 2)
        queue.setChannels(2)
        // A decoder without a past begins softly; what it makes does not join by itself.
        queue.markBreak()
    }

    package static let sampleRate = 48_000
    /// 2.5 ms, the shortest that an Opus packet is.
    private static let leastSamples = 120
}
