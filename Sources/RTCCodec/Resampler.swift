// Audio from the rate an app records with to the 48 kHz that Opus takes (RFC 7587 §4.1), where Opus does not take the
// app's rate by itself. In: interleaved 16-bit PCM of any length. Out: the same sound at the other rate; the filter of
// libspeexdsp keeps a few samples back until the next call. Mixing channels and pacing are left out.

internal import CSpeexDSP

/// Changes the sample rate of one stream. Used by one thread at a time; nothing here allocates after `init`.
package final class Resampler {
    package let inputRate: Int
    package let outputRate: Int
    package let channels: Int
    private let handle: OpaquePointer

    /// - Parameter quality: 0...10; 5 is what libspeexdsp calls desktop quality (aliasing below -80 dB).
    /// - Throws: `.invalidArgument` for rates outside 1000...384000 Hz or other than one or two channels.
    package init(inputRate: Int, outputRate: Int, channels: Int, quality: Int = 5) throws(CodecError) {
        let rates = 1000...384_000
        guard rates.contains(inputRate), rates.contains(outputRate), (1...2).contains(channels), (0...10).contains(quality) else {
            throw CodecError(.invalidArgument, function: "Resampler")
        }
        var code: Int32 = 0
        let created = speex_resampler_init(UInt32(channels), UInt32(inputRate), UInt32(outputRate), Int32(quality), &code)
        guard let created, code == 0 else { throw .resampler(code, "speex_resampler_init") }
        handle = created
        self.inputRate = inputRate
        self.outputRate = outputRate
        self.channels = channels
        // The filter's delay at the start would be silence in front of the sound.
        speex_resampler_skip_zeros(handle)
    }

    deinit { speex_resampler_destroy(handle) }

    /// The most samples per channel that `process` makes of so many.
    package func maxOutput(ofInput samplesPerChannel: Int) -> Int {
        (samplesPerChannel * outputRate + inputRate - 1) / inputRate + 1
    }

    /// Converts interleaved samples and returns how many per channel were written to `output`, which has room for
    /// `maxOutput` of them.
    ///
    /// - Throws: `.invalidArgument` for a count that the channels do not divide, `.tooLarge` when `output` is too small.
    package func process(
        _ input: UnsafeBufferPointer<Int16>, into output: UnsafeMutableBufferPointer<Int16>
    ) throws(CodecError) -> Int {
        let perChannel = input.count / channels
        guard perChannel * channels == input.count else { throw CodecError(.invalidArgument, function: "Resampler.process") }
        guard perChannel > 0, let source = input.baseAddress else { return 0 }
        guard output.count / channels >= maxOutput(ofInput: perChannel), let target = output.baseAddress else {
            throw CodecError(.tooLarge, function: "Resampler.process")
        }
        var read = UInt32(perChannel)
        var written = UInt32(output.count / channels)
        let code = speex_resampler_process_interleaved_int(handle, source, &read, target, &written)
        guard code == 0, read == perChannel else { throw .resampler(code, "speex_resampler_process_interleaved_int") }
        return Int(written)
    }
}
