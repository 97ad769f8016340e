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

    @Test("VP9 becomes smaller and larger again without a key frame, and what is decoded is the picture")
    func scaledReferences() throws {
        let pool = FrameBufferPool()
        let encoder = try VPXEncoder(settings: .init(codec: .vp9, bitsPerSecond: 3_000_000))
        let decoder = try VPXDecoder(codec: .vp9)
        let sizes = [(640, 360), (480, 270), (320, 180), (480, 270), (640, 360)]
        for (index, (width, height)) in sizes.enumerated() {
            for time in 0..<6 {
                var source = Pictures.moving(width: width, height: height, time: 0, pool: pool)
                source.rtpTimestamp = UInt32((index * 6 + time) * 3000)
                let frame = try #require(try encoder.encode(source, pool: pool))
                #expect(frame.isKeyFrame == (index == 0 && time == 0))
                let picture = try #require(try decoder.decode(frame, pool: pool))
                #expect(picture.width == width && picture.height == height)
                if time == 5 {
                    let difference = Pictures.difference(source, picture)
                    #expect(difference.y < 8 && difference.u < 8 && difference.v < 8, "\(difference) at \(width)")
                }
            }
        }
    }

    @Test("VID-08 other sizes and shapes follow each other, each decoded with its own size", arguments: [VideoCodec.vp8, .vp9])
    func sizes(codec: VideoCodec) throws {
        let pool = FrameBufferPool()
        let encoder = try VPXEncoder(settings: .init(codec: codec, bitsPerSecond: 3_000_000))
        let decoder = try VPXDecoder(codec: codec)
        for (width, height) in [(320, 180), (640, 360), (1280, 720), (160, 90), (853, 479), (90, 160), (1, 1), (639, 361), (3, 2)] {
            for time in 0..<3 {
                let source = Pictures.moving(width: width, height: height, time: 0, pool: pool)
                let frame = try #require(try encoder.encode(source, pool: pool))
                let picture = try #require(try decoder.decode(frame, pool: pool))
                #expect(picture.width == width && picture.height == height)
                #expect(time > 0 || frame.isKeyFrame)
                if time == 2, width > 16 { #expect(Pictures.difference(source, picture).y < 12) }
            }
        }
    }

    @Test("a change of the rate makes no key frame, and the quantizer shows it", arguments: [VideoCodec.vp8, .vp9])
    func rateChanges(codec: VideoCodec) throws {
        let pool = FrameBufferPool()
        let encoder = try VPXEncoder(settings: .init(codec: codec, bitsPerSecond: 2_000_000))
        #expect(encoder.lastQuantizer == nil)
        var random = SeededGenerator(seed: 5)
        var quantizers: [Int] = []
        for time in 0..<60 {
            try encoder.setBitrate(time % 20 < 10 ? 2_000_000 : 100_000)
            let source = Pictures.moving(width: 320, height: 180, time: time, pool: pool)
            for row in 0..<180 {  // noise costs bits
                for x in 0..<320 { source.planeY[row * source.strideY + x] ^= UInt8(truncatingIfNeeded: random.next() & 31) }
            }
            let frame = try #require(try encoder.encode(source, pool: pool))
            #expect(frame.isKeyFrame == (time == 0))
            quantizers.append(try #require(encoder.lastQuantizer))
        }
        #expect(quantizers.allSatisfy { (0...63).contains($0) })
        #expect((quantizers[15..<20].max() ?? 0) > (quantizers[5..<10].max() ?? 63))
    }

    @Test("VP9 leaves out the loop filter while the quantizer is low, never in key frames, and what is decoded is the picture")
    func loopFilter() throws {
        let pool = FrameBufferPool()
        let encoder = try VPXEncoder(settings: .init(codec: .vp9, bitsPerSecond: 6_000_000))
        let decoder = try VPXDecoder(codec: .vp9)
        var before: Int?
        var counts = (on: 0, off: 0)
        for time in 0..<48 {
            try encoder.setBitrate(time / 16 == 1 ? 100_000 : 6_000_000)
            let source = Pictures.moving(width: 640, height: 360, time: time, pool: pool)
            if time / 16 == 1 {
                for row in 0..<360 { for x in 0..<640 { source.planeY[row * source.strideY + x] ^= UInt8(time * x * row & 31) } }
            }
            let isKeyFrame = time == 0 || time == 8
            let frame = try #require(try encoder.encode(source, forceKeyFrame: isKeyFrame, pool: pool))
            #expect(frame.isKeyFrame == isKeyFrame)
            if isKeyFrame {
                #expect(encoder.isLoopFilterOn)
            } else if let before, before <= 28 {
                #expect(!encoder.isLoopFilterOn, "picture \(time) after quantizer \(before)")
                counts.off += 1
            } else if let before, before >= 34 {
                #expect(encoder.isLoopFilterOn, "picture \(time) after quantizer \(before)")
                counts.on += 1
            }
            before = encoder.lastQuantizer
            let picture = try #require(try decoder.decode(frame, pool: pool))
            if time / 16 != 1 { #expect(Pictures.difference(source, picture).y < 12, "picture \(time)") }
        }
        #expect(counts.on >= 4 && counts.off >= 4, "\(counts)")
    }

    @Test("the loop filter's choice does not flap between its two limits")
    func loopFilterChoice() {
        var choice = LoopFilterChoice()
        let isOn = [40, 29, 28, 33, 30, 34, 29, 28].map { quantizer in
            choice.onEncoded(quantizer: quantizer)
            return choice.isOn
        }
        #expect(isOn == [true, true, false, false, false, true, true, false])
    }

    @Test("reduced effort goes on without a key frame, and what is decoded is the picture", arguments: [VideoCodec.vp8, .vp9])
    func effort(codec: VideoCodec) throws {
        let pool = FrameBufferPool()
        let encoder = try VPXEncoder(settings: .init(codec: codec, bitsPerSecond: 1_000_000))
        let decoder = try VPXDecoder(codec: codec)
        for time in 0..<40 {
            try encoder.setReducedEffort(time / 10 % 2 == 1)
            let source = Pictures.moving(width: 320, height: 180, time: time, pool: pool)
            let frame = try #require(try encoder.encode(source, pool: pool))
            #expect(frame.isKeyFrame == (time == 0))
            let picture = try #require(try decoder.decode(frame, pool: pool))
            #expect(Pictures.difference(source, picture).y < 12)
        }
    }
}
