// Decoding of received audio: an Opus packet comes in, interleaved 16-bit PCM goes out (RFC 6716, RFC 7587). Lost
// packets are the caller's to notice; it asks for the copy that the next packet carries (in-band FEC) or for
// concealment, which libopus fades out by itself as a loss grows longer. The output has the decoder's channel count,
// whatever the packet has: libopus mixes a stereo packet down and doubles a mono one.

internal import COpus

/// An Opus decoder. Used by one thread at a time; nothing here allocates after `init`.
package final class OpusDecoder {
    package let sampleRate: Int
    package let channels: Int
    private let handle: OpaquePointer

    /// - Parameters:
    ///   - sampleRate: 8000, 12000, 16000, 24000 or 48000.
    ///   - channels: 1 or 2.
    package init(sampleRate: Int = 48_000, channels: Int = 1) throws(CodecError) {
        guard opusSampleRates.contains(sampleRate), (1...2).contains(channels) else {
            throw CodecError(.invalidArgument, function: "OpusDecoder")
        }
        var code: Int32 = 0
        guard let handle = opus_decoder_create(Int32(sampleRate), Int32(channels), &code), code == OPUS_OK else {
            throw .opus(code, "opus_decoder_create")
        }
        self.handle = handle
        self.sampleRate = sampleRate
        self.channels = channels
    }

    deinit { opus_decoder_destroy(handle) }

    /// The longest packet, 120 ms, in samples per channel: room for this many never runs out.
    package var maxSamplesPerChannel: Int { sampleRate * 120 / 1000 }

    /// Decodes a packet and returns its samples per channel. An empty packet is a lost one: it is concealed for as long as
    /// the packet before it was.
    ///
    /// - Throws: `.corrupt` for a malformed packet, `.tooLarge` when the samples do not fit. The decoder stays usable.
    package func decode(_ packet: RawSpan, into samples: UnsafeMutableBufferPointer<Int16>) throws(CodecError) -> Int {
        guard packet.byteCount > 0 else { return try conceal(lastPacketSamplesPerChannel, into: samples) }
        return try run(packet, samplesPerChannel: samples.count / channels, isFEC: false, into: samples)
    }

    /// Makes up for `samplesPerChannel` lost samples, a multiple of 2.5 ms and at most 120 ms.
    package func conceal(_ samplesPerChannel: Int, into samples: UnsafeMutableBufferPointer<Int16>) throws(CodecError) -> Int {
        try checkDuration(samplesPerChannel, into: samples)
        guard let output = samples.baseAddress else { throw CodecError(.tooLarge, function: "OpusDecoder.conceal") }
        let written = opus_decode(handle, nil, 0, output, Int32(samplesPerChannel), 0)
        guard written >= 0 else { throw .opus(written, "opus_decode") }
        return Int(written)
    }

    /// Recovers the packet before `nextPacket` from the copy in it, or conceals when it carries none. `nextPacket` is then
    /// decoded as usual. `samplesPerChannel` is the duration that was lost, a multiple of 2.5 ms.
    package func decodeFEC(
        _ nextPacket: RawSpan, samplesPerChannel: Int, into samples: UnsafeMutableBufferPointer<Int16>
    ) throws(CodecError) -> Int {
        try checkDuration(samplesPerChannel, into: samples)
        guard nextPacket.byteCount > 0 else { return try conceal(samplesPerChannel, into: samples) }
        return try run(nextPacket, samplesPerChannel: samplesPerChannel, isFEC: true, into: samples)
    }

    /// Samples per channel of the last packet, or 20 ms before the first.
    package var lastPacketSamplesPerChannel: Int {
        var samples: Int32 = 0
        guard copus_decoder_last_packet_duration(handle, &samples) == OPUS_OK, samples > 0 else { return sampleRate / 50 }
        return Int(samples)
    }

    /// Forgets what was decoded, as if just made.
    package func reset() { _ = copus_decoder_reset(handle) }

    /// Samples per channel of a packet, read from its first bytes (RFC 6716 §3.1); nil when it is malformed or too long.
    package static func samplesPerChannel(of packet: RawSpan, sampleRate: Int = 48_000) -> Int? {
        guard opusSampleRates.contains(sampleRate), let count = Int32(exactly: packet.byteCount), count > 0 else { return nil }
        let samples: Int32 = packet.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return 0 }
            return opus_packet_get_nb_samples(base.assumingMemoryBound(to: UInt8.self), count, Int32(sampleRate))
        }
        return samples > 0 ? Int(samples) : nil
    }

    private func run(
        _ packet: RawSpan, samplesPerChannel: Int, isFEC: Bool, into samples: UnsafeMutableBufferPointer<Int16>
    ) throws(CodecError) -> Int {
        guard let count = Int32(exactly: packet.byteCount), let room = Int32(exactly: samplesPerChannel) else {
            throw CodecError(.invalidArgument, function: "OpusDecoder.decode")
        }
        guard room > 0, let output = samples.baseAddress else { throw CodecError(.tooLarge, function: "OpusDecoder.decode") }
        let written = packet.withUnsafeBytes { bytes in
            opus_decode(handle, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), count, output, room, isFEC ? 1 : 0)
        }
        guard written >= 0 else { throw .opus(written, "opus_decode") }
        return Int(written)
    }

    private func checkDuration(
        _ samplesPerChannel: Int, into samples: UnsafeMutableBufferPointer<Int16>
    ) throws(CodecError) {
        let unit = sampleRate / 400
        guard samplesPerChannel > 0, samplesPerChannel % unit == 0, samplesPerChannel <= maxSamplesPerChannel else {
            throw CodecError(.invalidArgument, function: "OpusDecoder")
        }
        guard samplesPerChannel * channels <= samples.count else { throw CodecError(.tooLarge, function: "OpusDecoder") }
    }
}

/// The rates that libopus codes at (RFC 6716 §2).
let opusSampleRates = [8_000, 12_000, 16_000, 24_000, 48_000]
