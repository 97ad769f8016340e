// Encoding of audio: interleaved 16-bit PCM comes in, one Opus packet goes out (RFC 6716, RFC 7587), by default with a
// copy of the packet before it (in-band FEC) for the receiver to recover a loss from. Pacing and silence are the
// caller's business.

internal import COpus

/// An Opus encoder. Used by one thread at a time; nothing here allocates after `init`.
package final class OpusEncoder {
    package struct Settings: Hashable, Sendable {
        /// 8000, 12000, 16000, 24000 or 48000.
        package var sampleRate: Int
        package var channels: Int
        package var bitsPerSecond: Int
        /// 0...10. Ten doubles the cost of five.
        package var complexity: Int
        package var usesFEC: Bool
        /// What FEC is tuned for; at 0 it is not sent.
        package var expectedLossPercent: Int
        /// Sends almost nothing during silence.
        package var usesDTX: Bool

        package init(
            sampleRate: Int = 48_000, channels: Int = 1, bitsPerSecond: Int = 32_000, complexity: Int = 5, usesFEC: Bool = true,
            expectedLossPercent: Int = 10, usesDTX: Bool = false
        ) {
            self.sampleRate = sampleRate
            self.channels = channels
            self.bitsPerSecond = bitsPerSecond
            self.complexity = complexity
            self.usesFEC = usesFEC
            self.expectedLossPercent = expectedLossPercent
            self.usesDTX = usesDTX
        }
    }

    package let settings: Settings
    private let handle: OpaquePointer

    /// The largest packet for any duration up to 60 ms (RFC 6716 §3.2.1: three frames of at most 1275 bytes, and lengths).
    package static let maxPacketBytes = 4000

    package init(settings: Settings = Settings()) throws(CodecError) {
        guard
            opusSampleRates.contains(settings.sampleRate), (1...2).contains(settings.channels),
            (500...512_000).contains(settings.bitsPerSecond), (0...10).contains(settings.complexity),
            (0...100).contains(settings.expectedLossPercent)
        else {
            throw CodecError(.invalidArgument, function: "OpusEncoder")
        }
        var code: Int32 = 0
        let created = opus_encoder_create(Int32(settings.sampleRate), Int32(settings.channels), OPUS_APPLICATION_VOIP, &code)
        guard let created, code == OPUS_OK else { throw .opus(code, "opus_encoder_create") }
        self.settings = settings
        handle = created
        let controls = [
            copus_encoder_set_bitrate(handle, Int32(settings.bitsPerSecond)),
            copus_encoder_set_complexity(handle, Int32(settings.complexity)),
            copus_encoder_set_inband_fec(handle, settings.usesFEC ? 1 : 0),
            copus_encoder_set_packet_loss_percent(handle, Int32(settings.expectedLossPercent)),
            copus_encoder_set_dtx(handle, settings.usesDTX ? 1 : 0),
        ]
        for code in controls where code != OPUS_OK { throw .opus(code, "opus_encoder_ctl") }
    }

    deinit { opus_encoder_destroy(handle) }

    /// Encodes 2.5, 5, 10, 20, 40 or 60 ms of interleaved samples and returns the packet's size. One or two bytes mean that
    /// nothing need be sent (DTX).
    package func encode(
        _ samples: UnsafeBufferPointer<Int16>, into packet: UnsafeMutableRawBufferPointer
    ) throws(CodecError) -> Int {
        let perChannel = samples.count / settings.channels
        let units = perChannel * 400 / settings.sampleRate
        guard
            [1, 2, 4, 8, 16, 24].contains(units), units * settings.sampleRate / 400 * settings.channels == samples.count,
            let source = samples.baseAddress, let output = packet.baseAddress
        else {
            throw CodecError(.invalidArgument, function: "OpusEncoder.encode")
        }
        let count = opus_encode(
            handle, source, Int32(perChannel), output.assumingMemoryBound(to: UInt8.self),
            Int32(min(packet.count, Self.maxPacketBytes)))
        guard count >= 0 else { throw .opus(count, "opus_encode") }
        return Int(count)
    }

    /// The packet for `samples`, as an array.
    package func encode(_ samples: [Int16]) throws(CodecError) -> [UInt8] {
        var packet = [UInt8](repeating: 0, count: Self.maxPacketBytes)
        let result = packet.withUnsafeMutableBytes { output in
            samples.withUnsafeBufferPointer { input in
                Result { () throws(CodecError) in try encode(input, into: output) }
            }
        }
        let count = try result.get()
        packet.removeSubrange(count...)
        return packet
    }
}
