// The sound track of a recording: samples of any format with their position come in, Opus packets of 20 ms go out that lie on the
// grid of the track. Gaps become silence. The encoder's delay is taken off at the start: the first 6.5 ms are lost, and what a
// decoder gives out at a time is what was heard then, with nothing to skip. Worker thread.

internal import RTCCodec

final class SoundEncoder {
    private let encoder: OpusEncoder
    private var resampler: Resampler?
    private var resampledFrom = (rate: 0, isStereo: false)
    /// Samples that wait for the rest of their packet.
    private var waiting: [Int16] = []
    /// Position behind the samples taken so far.
    private var end = 0
    private var delayLeft = SoundEncoder.delaySamples
    private var packet = [UInt8](repeating: 0, count: OpusEncoder.maxPacketBytes)

    /// Packets that are in no chunk yet, and the number of the first.
    private var run = FragmentedMP4Writer.Run(decodeTime: 0, samples: [], data: [])

    init(bitsPerSecond: Int) throws(CodecError) {
        encoder = try OpusEncoder(settings: .init(bitsPerSecond: bitsPerSecond, usesFEC: false, expectedLossPercent: 0))
    }

    /// Samples that begin at `start`; what lies before the ones already taken is left out.
    func append(_ block: SoundBlock) throws(CodecError) {
        let samples = try converted(block)
        guard block.start + samples.count > end else { return }
        try fill(upTo: block.start)
        try take(samples[(end - block.start)...])
    }

    /// Silence up to a position, unless there is sound.
    func fill(upTo position: Int) throws(CodecError) {
        while end < position {
            try take(Self.silence[..<min(Self.silence.count, position - end)])
        }
    }

    /// The packets that begin before a position.
    func takeRun(upTo position: Int) -> FragmentedMP4Writer.Run {
        let wanted = (position - Int(run.decodeTime) + Self.packetSamples - 1) / Self.packetSamples
        let count = min(max(0, wanted), run.samples.count)
        let bytes = run.samples[..<count].reduce(0) { $0 + $1.byteCount }
        var taken = FragmentedMP4Writer.Run(decodeTime: run.decodeTime, samples: Array(run.samples[..<count]), data: [])
        taken.data = Array(run.data[..<bytes])
        run.samples.removeFirst(count)
        run.data.removeFirst(bytes)
        run.decodeTime += UInt64(count * Self.packetSamples)
        return taken
    }

    /// Lets out what waits, when nothing follows.
    func flush() throws(CodecError) { try fill(upTo: end + Self.delaySamples + Self.packetSamples) }

    private func take(_ samples: ArraySlice<Int16>) throws(CodecError) {
        end += samples.count
        let skipped = min(delayLeft, samples.count)
        delayLeft -= skipped
        waiting += samples.dropFirst(skipped)
        var used = 0
        while waiting.count - used >= Self.packetSamples {
            try encode(waiting[used..<(used + Self.packetSamples)])
            used += Self.packetSamples
        }
        waiting.removeFirst(used)
    }

    private func encode(_ samples: ArraySlice<Int16>) throws(CodecError) {
        let result = packet.withUnsafeMutableBytes { output in
            samples.withUnsafeBufferPointer { input in
                Result { () throws(CodecError) in try encoder.encode(input, into: output) }
            }
        }
        let count = try result.get()
        run.data += packet[..<count]
        run.samples.append(.init(byteCount: count, duration: UInt32(Self.packetSamples), isSync: true))
    }

    /// Mono at 48 kHz.
    private func converted(_ block: SoundBlock) throws(CodecError) -> [Int16] {
        var samples = block.samples
        if block.isStereo {
            samples = (0..<(samples.count / 2)).map { Int16((Int(samples[2 * $0]) + Int(samples[2 * $0 + 1])) / 2) }
        }
        guard block.sampleRate != RecordingGrid.soundRate else { return samples }
        if resampler == nil || resampledFrom != (block.sampleRate, block.isStereo) {
            resampler = try Resampler(inputRate: block.sampleRate, outputRate: RecordingGrid.soundRate, channels: 1)
            resampledFrom = (block.sampleRate, block.isStereo)
        }
        guard let resampler else { return [] }
        var output = [Int16](repeating: 0, count: resampler.maxOutput(ofInput: samples.count))
        let result = output.withUnsafeMutableBufferPointer { output in
            samples.withUnsafeBufferPointer { input in
                Result { () throws(CodecError) in try resampler.process(input, into: output) }
            }
        }
        output.removeSubrange(try result.get()...)
        return output
    }

    static let packetSamples = 960
    /// libopus: 2.5 ms of overlap and 4 ms that its two coders are apart.
    private static let delaySamples = 312
    private static let silence = [Int16](repeating: 0, count: RecordingGrid.soundRate / 10)
}

/// Interleaved samples and where they begin in the recording, at 48 kHz.
struct SoundBlock: Sendable {
    var samples: [Int16]
    var sampleRate: Int
    var isStereo: Bool
    var start: Int

    var end: Int {
        start + Self.duration(samples: samples.count, sampleRate: sampleRate, channels: isStereo ? 2 : 1)
    }

    /// Of so many samples, at 48 kHz and per channel.
    static func duration(samples: Int, sampleRate: Int, channels: Int) -> Int {
        samples / channels * RecordingGrid.soundRate / sampleRate
    }
}
