import RTCCodec
import Testing

@Suite("OpusEncoder")
struct OpusEncoderTests {
    @Test("only durations that Opus has are taken")
    func durations() throws {
        let encoder = try OpusEncoder()
        for count in [120, 240, 480, 960, 1920, 2880] {
            let packet = try encoder.encode([Int16](repeating: 100, count: count))
            #expect(OpusDecoder.samplesPerChannel(of: packet.span.bytes) == count)
        }
        for count in [0, 1, 119, 360, 961, 5760] {
            #expect(kind { try encoder.encode([Int16](repeating: 0, count: count)) } == .invalidArgument, "\(count)")
        }
    }

    @Test("settings out of range are refused")
    func settings() {
        #expect(kind { try OpusEncoder(settings: .init(sampleRate: 44_100)) } == .invalidArgument)
        #expect(kind { try OpusEncoder(settings: .init(channels: 0)) } == .invalidArgument)
        #expect(kind { try OpusEncoder(settings: .init(bitsPerSecond: 1)) } == .invalidArgument)
        #expect(kind { try OpusEncoder(settings: .init(complexity: 11)) } == .invalidArgument)
    }

    @Test("a packet is never over the room given")
    func room() throws {
        let encoder = try OpusEncoder(settings: .init(bitsPerSecond: 128_000))
        let samples = (0..<960).map { Int16(truncatingIfNeeded: $0 &* 7919) }
        var packet = [UInt8](repeating: 0xee, count: 64)
        let count = try packet.withUnsafeMutableBytes { output in
            try samples.withUnsafeBufferPointer { try encoder.encode($0, into: UnsafeMutableRawBufferPointer(rebasing: output[..<40])) }
        }
        #expect(count > 0 && count <= 40)
        #expect(packet[40...].allSatisfy { $0 == 0xee })
    }
}
