internal import RTCBase
internal import RTCCodec

/// The Opus encoder of one published track, and the resampler in front of it where there is one. Used by one encode thread.
struct AudioEncodeSession: ~Copyable {
    private let pool: FrameBufferPool
    private var format: AudioInput.Format?
    private var encoder: OpusEncoder?
    private var resampler: Resampler?
    private var timeline = AudioTimeline()
    /// At 48 kHz: what the resampler made and no packet has taken yet, and how much of it there is per channel.
    private let resampled: UnsafeMutableBufferPointer<Int16>
    private var resampledCount = 0

    init(pool: FrameBufferPool) {
        self.pool = pool
        // Less than a packet waits, and a block makes little more than one; two channels.
        resampled = .allocate(capacity: 2 * (2 * Self.packetSamples + 64))
    }

    deinit { resampled.deallocate() }

    /// Encodes one block of 20 ms; `emit` gets each packet with its media time at 48 kHz: one as a rule, none or two now and
    /// then behind the resampler.
    mutating func encode(
        _ samples: UnsafeBufferPointer<Int16>, block: AudioInput.Block, emit: (MediaBytes, Int64) -> Void
    ) throws(CodecError) {
        if block.format != format { try prepare(block.format) }
        guard let encoder else { throw CodecError(.invalidArgument, function: "AudioEncodeSession") }
        guard let resampler else {
            let packet = try self.packet(samples, encoder)
            return emit(packet, timeline.stamp(captured48kHz: block.captured48kHz, samples: Self.packetSamples))
        }
        let channels = block.format.channels
        let filled = resampledCount * channels
        let made = try resampler.process(samples, into: UnsafeMutableBufferPointer(rebasing: resampled[filled...]))
        var captured = block.captured48kHz &- Int64(resampledCount)
        resampledCount += made
        var taken = 0
        while resampledCount - taken >= Self.packetSamples {
            let range = taken * channels..<(taken + Self.packetSamples) * channels
            let packet = try self.packet(UnsafeBufferPointer(rebasing: resampled[range]), encoder)
            emit(packet, timeline.stamp(captured48kHz: captured, samples: Self.packetSamples))
            taken += Self.packetSamples
            captured &+= Int64(Self.packetSamples)
        }
        resampledCount -= taken
        if taken > 0 {
            for i in 0..<resampledCount * channels { resampled[i] = resampled[taken * channels + i] }
        }
    }

    /// The next block begins with a new encoder.
    mutating func reset() {
        format = nil
        encoder = nil
        resampler = nil
        resampledCount = 0
    }

    private mutating func prepare(_ new: AudioInput.Format) throws(CodecError) {
        reset()
        // Opus takes the other rates as they are; the packets say 48 kHz all the same (RFC 7587 §4.1).
        let isNative = [8_000, 16_000, 24_000, 48_000].contains(new.sampleRate)
        if !isNative { resampler = try Resampler(inputRate: new.sampleRate, outputRate: 48_000, channels: new.channels) }
        encoder = try OpusEncoder(
            settings: .init(
                sampleRate: isNative ? new.sampleRate : 48_000, channels: new.channels,
                bitsPerSecond: new.channels == 2 ? 64_000 : 32_000))
        format = new
    }

    private func packet(_ samples: UnsafeBufferPointer<Int16>, _ encoder: OpusEncoder) throws(CodecError) -> MediaBytes {
        let memory = pool.take(capacity: Self.packetBytes)
        let count = try encoder.encode(samples, into: UnsafeMutableRawBufferPointer(start: memory.base, count: Self.packetBytes))
        memory.setCount(count)
        return memory
    }

    /// 20 ms at 48 kHz.
    private static let packetSamples = 960
    /// Fits a packet on the wire whatever the settings; Opus keeps to the room it is given.
    private static let packetBytes = 1100
}
