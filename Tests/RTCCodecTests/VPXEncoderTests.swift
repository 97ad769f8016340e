import RTCBase
import RTCCodec
import Testing

@Suite("VPXEncoder")
struct VPXEncoderTests {
    @Test("the first frame and requested ones are key frames, others are not", arguments: [VideoCodec.vp8, .vp9])
    func keyFrames(codec: VideoCodec) throws {
        let pool = FrameBufferPool()
        let encoder = try VPXEncoder(settings: .init(codec: codec))
        for time in 0..<6 {
            let source = Pictures.moving(width: 160, height: 90, time: time, pool: pool)
            let frame = try #require(try encoder.encode(source, forceKeyFrame: time == 4, pool: pool))
            #expect(frame.isKeyFrame == (time == 0 || time == 4))
            let header = try frame.bytes.withBytes { (bytes) throws(CodecError) in try VPXFrameHeader(parsing: bytes, codec: codec) }
            #expect(header.isKeyFrame == frame.isKeyFrame)
            #expect(frame.rtpTimestamp == source.rtpTimestamp && frame.codec == codec)
        }
    }

    @Test("a lower bitrate makes smaller frames", arguments: [VideoCodec.vp8, .vp9])
    func bitrate(codec: VideoCodec) throws {
        let pool = FrameBufferPool()
        let encoder = try VPXEncoder(settings: .init(codec: codec, bitsPerSecond: 2_000_000))
        var random = SeededGenerator(seed: 3)
        func bytes(of count: Int, from start: Int) throws -> Int {
            var total = 0
            for time in start..<(start + count) {
                let source = Pictures.moving(width: 320, height: 180, time: time, pool: pool)
                for row in 0..<180 {  // noise costs bits
                    for x in stride(from: 0, to: 320, by: 2) {
                        source.planeY[row * source.strideY + x] ^= UInt8(truncatingIfNeeded: random.next() & 31)
                    }
                }
                total += try encoder.encode(source, pool: pool)?.bytes.count ?? 0
            }
            return total
        }
        _ = try bytes(of: 10, from: 0)
        let high = try bytes(of: 15, from: 10)
        try encoder.setBitrate(300_000)
        _ = try bytes(of: 10, from: 25)
        let low = try bytes(of: 15, from: 35)
        #expect(low * 2 < high, "\(low) against \(high)")
    }

    @Test("timestamps that stand still or jump back do not stop it", arguments: [VideoCodec.vp8, .vp9])
    func timestamps(codec: VideoCodec) throws {
        let pool = FrameBufferPool()
        let encoder = try VPXEncoder(settings: .init(codec: codec))
        for timestamp in [UInt32.max - 100, 2900, 2900, 0, 0x8000_0000, 5] {
            var source = Pictures.moving(width: 64, height: 48, time: 0, pool: pool)
            source.rtpTimestamp = timestamp
            #expect(try encoder.encode(source, pool: pool)?.rtpTimestamp == timestamp)
        }
    }

    @Test("settings out of range are refused")
    func settings() throws {
        #expect(kind { try VPXEncoder(settings: .init(codec: .vp8, bitsPerSecond: 0)) } == .invalidArgument)
        #expect(kind { try VPXEncoder(settings: .init(codec: .vp8, framesPerSecond: 0)) } == .invalidArgument)
        #expect(kind { try VPXEncoder(settings: .init(codec: .vp8, threads: 99)) } == .invalidArgument)
        let encoder = try VPXEncoder(settings: .init(codec: .vp8))
        #expect(kind { try encoder.setBitrate(-1) } == .invalidArgument)
        let pool = FrameBufferPool()
        var broken = Pictures.moving(width: 64, height: 48, time: 0, pool: pool)
        broken.height = 4000
        #expect(kind { try encoder.encode(broken, pool: pool) } == .invalidArgument)
    }
}
