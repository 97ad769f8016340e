import RTCEngine
import Testing

@Suite("OpusPacket")
struct OpusPacketTests {
    @Test(
        "RFC 6716 §3.1 durations of every configuration and frame count",
        arguments: [
            ([0x00], 480), ([0x08], 960), ([0x10], 1_920), ([0x18], 2_880), ([0x60], 480), ([0x68], 960), ([0x80], 120),
            ([0x88], 240), ([0x90], 480), ([0x98], 960), ([0xF8], 960), ([0xF9], 1_920), ([0xFA], 1_920), ([0xFB, 0x03], 2_880),
            ([0xFB, 0x86], 5_760),
        ] as [([UInt8], Int)])
    func durations(_ bytes: [UInt8], _ samples: Int) {
        let found = OpusPacket.durationSamples(bytes.span.bytes)
        #expect(found == samples)
    }

    @Test("no frames, more than 120 ms and missing bytes are refused", arguments: [[], [0xFB], [0xFB, 0x00], [0xFB, 0x07]] as [[UInt8]])
    func refused(_ bytes: [UInt8]) {
        let found = OpusPacket.durationSamples(bytes.span.bytes)
        #expect(found == nil)
    }
}
