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

    @Test(
        "RFC 6716 §4.2.3 the flag of a repair, by duration, packing and channels",
        arguments: [
            ([0x48, 0x40], true), ([0x48, 0xBF], false), ([0x48], false), ([0x50, 0x20], true), ([0x58, 0x10], true),
            ([0x49, 0x40, 0], true), ([0x4A, 0x01, 0x40, 0], true), ([0x4B, 0x02, 0x40], false), ([0x4C, 0x10], true),
            ([0x48, 0x10], false), ([0x80, 0x40], false), ([], false),
        ] as [([UInt8], Bool)])
    func repair(_ bytes: [UInt8], _ expected: Bool) {
        let found = OpusPacket.hasRepair(bytes.span.bytes)
        #expect(found == expected)
    }

    @Test("RFC 6716 §3.1 the flag of two channels", arguments: [([0x4C], true), ([0x48], false), ([], false)] as [([UInt8], Bool)])
    func stereo(_ bytes: [UInt8], _ expected: Bool) {
        let found = OpusPacket.isStereo(bytes.span.bytes)
        #expect(found == expected)
    }
}
