import RTCBase
import RTCCodec
import Testing

@Suite("VPXDecoder")
struct VPXDecoderTests {
    @Test("MD5 agrees with RFC 1321 A.5")
    func md5() {
        #expect(MD5.hex(UnsafeRawBufferPointer(start: nil, count: 0)) == "d41d8cd98f00b204e9800998ecf8427e")
        let text = Array("12345678901234567890123456789012345678901234567890123456789012345678901234567890".utf8)
        #expect(text.withUnsafeBytes(MD5.hex) == "57edf4a22be3c955ac49da2e2107b67a")
    }

    @Test(
        "VP8 vectors decode to the sums of their pictures", .enabled(if: Vectors.folder != nil, "shared/vectors is absent"),
        arguments: Vectors.streams)
    func vector(name: String) throws {
        let frames = try Vectors.frames(name)
        let sums = try Vectors.sums(name)
        #expect(!frames.isEmpty && frames.count == sums.count)
        let decoder = try VPXDecoder(codec: .vp8)
        let pool = FrameBufferPool()
        for (index, (bytes, expected)) in zip(frames, sums).enumerated() {
            let picture = try #require(try decoder.decode(EncodedFrame(bytes, codec: .vp8), pool: pool), "frame \(index)")
            #expect("\(picture.width)x\(picture.height)" == expected.size, "frame \(index)")
            let sum = Pictures.md5(picture)
            #expect(sum == expected.md5, "frame \(index)")
            if sum != expected.md5 { break }
        }
    }

    @Test("VID-08 the size changes on the fly and each frame has its own", arguments: [VideoCodec.vp8, .vp9], [1, 2])
    func sizeChanges(codec: VideoCodec, threads: Int) throws {
        let pool = FrameBufferPool()
        let encoder = try VPXEncoder(settings: .init(codec: codec, bitsPerSecond: 3_000_000))
        let decoder = try VPXDecoder(codec: codec, threads: threads)
        var time = 0
        for (width, height) in [(320, 180), (640, 360), (1280, 720), (160, 90)] {
            for _ in 0..<3 {
                let source = Pictures.moving(width: width, height: height, time: time, pool: pool)
                time += 1
                let frame = try #require(try encoder.encode(source, pool: pool))
                let picture = try #require(try decoder.decode(frame, pool: pool))
                #expect(picture.width == width && picture.height == height)
                let difference = Pictures.difference(source, picture)
                #expect(max(difference.y, difference.u, difference.v) < 12, "\(width)x\(height) at \(time): \(difference)")
            }
        }
    }

    @Test(
        "VID-10 odd sizes have chroma rounded up", arguments: [VideoCodec.vp8, .vp9],
        [(175, 143), (1, 1), (17, 2), (33, 65), (639, 359)])
    func oddSizes(codec: VideoCodec, size: (width: Int, height: Int)) throws {
        let pool = FrameBufferPool()
        let encoder = try VPXEncoder(settings: .init(codec: codec))
        let decoder = try VPXDecoder(codec: codec)
        for time in 0..<3 {
            let source = Pictures.moving(width: size.width, height: size.height, time: time, pool: pool)
            let frame = try #require(try encoder.encode(source, pool: pool))
            let picture = try #require(try decoder.decode(frame, pool: pool))
            #expect(picture.width == size.width && picture.height == size.height)
            #expect(picture.chromaWidth == (size.width + 1) / 2 && picture.chromaHeight == (size.height + 1) / 2)
            #expect(picture.memory.count >= picture.offsetV + picture.strideV * picture.chromaHeight)
            let difference = Pictures.difference(source, picture)
            #expect(max(difference.y, difference.u, difference.v) < 12, "\(difference)")
            // The last chroma sample is one that rounding down would lose.
            let last = (picture.chromaHeight - 1, picture.chromaWidth - 1)
            let got = Int(picture.planeU[last.0 * picture.strideU + last.1])
            #expect(abs(got - Int(source.planeU[last.0 * source.strideU + last.1])) < 40)
        }
    }

    @Test("timestamps and metadata of the frame come back with the picture")
    func metadata() throws {
        let pool = FrameBufferPool()
        var frame = try #require(try Pictures.encoded(.vp8, width: 64, height: 48, count: 1, pool: pool).first)
        frame.rtpTimestamp = 0xffff_fff0
        frame.metadata = FrameMetadata(frameID: 7, captureTimeMicros: 9, userData: FrameUserData([1, 2]))
        frame.firstPacketTime = MonotonicTime(nanoseconds: 11)
        frame.completeTime = MonotonicTime(nanoseconds: 12)
        let picture = try #require(try VPXDecoder(codec: .vp8).decode(frame, pool: pool))
        #expect(picture.rtpTimestamp == 0xffff_fff0)
        #expect(picture.metadata == frame.metadata)
        #expect(picture.firstPacketTime == frame.firstPacketTime)
        #expect(picture.completeTime == frame.completeTime && picture.decodedTime == frame.completeTime)
    }

    @Test("picture memory is reused as soon as the last reference goes", arguments: [VideoCodec.vp8, .vp9])
    func reuse(codec: VideoCodec) throws {
        let frames = try Pictures.encoded(codec, width: 320, height: 180, count: 6, pool: FrameBufferPool())
        let pool = FrameBufferPool()
        let decoder = try VPXDecoder(codec: codec)
        var addresses: Set<UnsafeMutableRawPointer> = []
        for frame in frames {
            let picture = try #require(try decoder.decode(frame, pool: pool))
            addresses.insert(picture.memory.base)
        }
        #expect(addresses.count == 1)
    }

    @Test("a kept picture does not change while the decoder goes on", arguments: [VideoCodec.vp8, .vp9])
    func kept(codec: VideoCodec) throws {
        let pool = FrameBufferPool()
        let frames = try Pictures.encoded(codec, width: 160, height: 90, count: 8, pool: pool)
        let decoder = try VPXDecoder(codec: codec)
        let first = try #require(try decoder.decode(frames[0], pool: pool))
        let sum = Pictures.md5(first)
        for frame in frames.dropFirst() { _ = try decoder.decode(frame, pool: pool) }
        #expect(Pictures.md5(first) == sum)
    }

    @Test("a stream cannot begin with an inter frame", arguments: [VideoCodec.vp8, .vp9])
    func startsWithKeyFrame(codec: VideoCodec) throws {
        let pool = FrameBufferPool()
        let frames = try Pictures.encoded(codec, width: 160, height: 90, count: 2, pool: pool)
        let decoder = try VPXDecoder(codec: codec)
        #expect(decoder.needsKeyFrame)
        #expect(kind { try decoder.decode(frames[1], pool: pool) } == .needsKeyFrame)
        #expect(try decoder.decode(frames[0], pool: pool) != nil)
        #expect(!decoder.needsKeyFrame)
    }

    @Test("after damage only a key frame goes on, and its picture is right", arguments: [VideoCodec.vp8, .vp9])
    func recovery(codec: VideoCodec) throws {
        let pool = FrameBufferPool()
        let frames = try Pictures.encoded(codec, width: 160, height: 90, count: 4, pool: pool)
        let decoder = try VPXDecoder(codec: codec)
        let right = Pictures.md5(try #require(try decoder.decode(frames[0], pool: pool)))
        let cut = EncodedFrame(Array(frames[1].array.prefix(2)), codec: codec)
        #expect(kind { try decoder.decode(cut, pool: pool) } == .corrupt)
        #expect(decoder.needsKeyFrame)
        #expect(kind { try decoder.decode(frames[2], pool: pool) } == .needsKeyFrame)
        #expect(Pictures.md5(try #require(try decoder.decode(frames[0], pool: pool))) == right)
        #expect(try decoder.decode(frames[1], pool: pool) != nil)
    }

    @Test("a frame of the other codec, or none at all, is an error")
    func wrongInput() throws {
        let pool = FrameBufferPool()
        let decoder = try VPXDecoder(codec: .vp9)
        let vp8 = try Pictures.encoded(.vp8, width: 64, height: 48, count: 1, pool: pool)[0]
        #expect(kind { try decoder.decode(vp8, pool: pool) } == .unsupportedFormat)
        #expect(kind { try decoder.decode(EncodedFrame(vp8.array, codec: .vp9), pool: pool) } != nil)
        #expect(kind { try decoder.decode(EncodedFrame([], codec: .vp9), pool: pool) } == .corrupt)
        #expect(kind { try VPXDecoder(codec: .vp8, threads: 0) } == .invalidArgument)
    }

    @Test("a huge frame hidden behind a good one in the same chunk is refused")
    func hiddenFrame() throws {
        let pool = FrameBufferPool()
        let good = try Pictures.encoded(.vp9, width: 64, height: 48, count: 1, pool: pool)[0]
        let decoder = try VPXDecoder(codec: .vp9)
        let huge = VPXFrameHeaderTests.vp9KeyFrame(width: 16_384, height: 16_384)
        #expect(kind { try decoder.decode(EncodedFrame(good.array + huge, codec: .vp9), pool: pool) } == .tooLarge)
        #expect(try decoder.decode(good, pool: pool) != nil)
    }

    @Test("fuzz: damaged frames give a picture or a typed error, and a key frame then decodes", arguments: [VideoCodec.vp8, .vp9])
    func fuzz(codec: VideoCodec) throws {
        let pool = FrameBufferPool()
        let frames = try Pictures.encoded(codec, width: 96, height: 64, count: 6, pool: pool).map(\.array)
        let decoder = try VPXDecoder(codec: codec)
        let right = Pictures.md5(try #require(try decoder.decode(EncodedFrame(frames[0], codec: codec), pool: pool)))
        var errors = 0
        for seed in UInt64(0)..<400 {
            var random = SeededGenerator(seed: seed)
            for original in frames {
                var bytes = original
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.removeSubrange(Int.random(in: 0...bytes.count, using: &random)...)
                case 1:
                    for _ in 0..<Int.random(in: 1...8, using: &random) {
                        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                    }
                case 2:
                    // The headers, where structure is.
                    let end = min(24, bytes.count)
                    bytes[Int.random(in: 0..<end, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
                default: break
                }
                do throws(CodecError) {
                    if let picture = try decoder.decode(EncodedFrame(bytes, codec: codec), pool: pool) {
                        #expect(VPXFrameHeader.isAllowed(width: picture.width, height: picture.height), "seed \(seed)")
                    }
                } catch {
                    errors += 1
                    #expect(error.kind != .invalidArgument && error.kind != .library, "seed \(seed): \(error)")
                }
            }
            let again = try #require(try decoder.decode(EncodedFrame(frames[0], codec: codec), pool: pool), "seed \(seed)")
            if Pictures.md5(again) != right { Issue.record("wrong picture after seed \(seed)") }
        }
        #expect(errors > 100)
    }
}

/// The kind of error that `body` throws; nil when it throws none, or an error that is not ours.
func kind<T>(_ body: () throws -> T) -> CodecError.Kind? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? CodecError)?.kind
    }
}
