import RTCBase
import RTCCodec
import Testing

@testable import RTCPeer

/// The real encoders in virtual time: a session knows no clock but the times of the pushes.
@Suite("VideoEncodeSession", .timeLimit(.minutes(2)))
struct VideoEncodeSessionTests {
    /// Hard pictures at 30 per second, and what became of them.
    private struct Player: ~Copyable {
        var session: VideoEncodeSession
        let pictures: [PlanarFrame]
        var milliseconds: Int64 = 5_000
        var frames: [EncodedFrame] = []
        var sizes: [Int] = []
        var number = 0

        init(_ codec: VideoCodec, width: Int, height: Int) {
            session = VideoEncodeSession(codec: codec, scaledPool: FrameBufferPool(maxCached: 1), framePool: FrameBufferPool())
            let pool = FrameBufferPool()
            pictures = (0..<6).map { Self.hard(width: width, height: height, number: $0, pool: pool) }
        }

        /// Runs for so long at a rate; returns the bytes made.
        ///
        /// - Parameter every: only one of so many pictures is not skipped because of the network.
        mutating func play(seconds: Double, bitsPerSecond: Int, every: Int = 1) throws -> Int {
            var bytes = 0
            for _ in 0..<Int(seconds * 30) {
                let picture = pictures[number % pictures.count]
                number += 1
                milliseconds += number % 3 == 0 ? 34 : 33
                guard number % every == 0 else { continue }
                let input = VideoEncodeWorker.Input(
                    picture: picture, number: UInt64(number), rtpTimestamp: UInt32(milliseconds * 90),
                    pushed: MonotonicTime(milliseconds: milliseconds), skippedBefore: every - 1)
                guard let frame = try session.encode(input, bitsPerSecond: bitsPerSecond, forceKeyFrame: false) else { continue }
                bytes += frame.bytes.count
                frames.append(frame)
                sizes.append(session.width)
            }
            return bytes
        }

        /// Blocks that jump, with noise: an encoder can predict little of it.
        private static func hard(width: Int, height: Int, number: Int, pool: FrameBufferPool) -> PlanarFrame {
            let picture = PlanarFrame(width: width, height: height, pool: pool)
            var noise = UInt32(truncatingIfNeeded: 77 + number)
            var y = 0
            while y < height {
                let row = picture.planeY + y * picture.strideY
                var x = 0
                while x < width {
                    noise = noise &* 1_664_525 &+ 1_013_904_223
                    row[x] = UInt8(truncatingIfNeeded: 60 + Int((x + number * 5) / 16 ^ (y + number * 3) / 16) % 8 * 12 + Int(noise >> 27))
                    x += 1
                }
                y += 1
            }
            picture.planeU.update(repeating: 120, count: picture.strideU * picture.chromaHeight)
            picture.planeV.update(repeating: 136, count: picture.strideV * picture.chromaHeight)
            return picture
        }
    }

    @Test("when bits are short every picture is still sent, in a smaller size, and the size comes back", arguments: [VideoCodec.vp8, .vp9])
    func sizeGivesWay(codec: VideoCodec) throws {
        var player = Player(codec, width: 320, height: 180)
        _ = try player.play(seconds: 3, bitsPerSecond: 1_000_000)
        #expect(Set(player.sizes) == [320])
        _ = try player.play(seconds: 8, bitsPerSecond: 40_000)
        let low = try player.play(seconds: 4, bitsPerSecond: 40_000)
        let smallest = try #require(player.sizes.last)
        #expect(smallest < 320)
        // The encoder keeps to the rate there, as near as such a picture lets it.
        #expect(low * 8 < 40_000 * 4 * 2, "\(low * 8 / 4) bits per second at a width of \(smallest)")
        _ = try player.play(seconds: 15, bitsPerSecond: 1_000_000)
        #expect(player.sizes.last == 320)
        // 30 per second throughout.
        #expect(player.frames.count == 900)
        #expect(zip(player.frames, player.frames.dropFirst()).allSatisfy { (2_900...3_100).contains($1.rtpTimestamp - $0.rtpTimestamp) })
        // VP9 scales its references; VP8 has to begin anew with each size.
        let changes = zip(player.sizes, player.sizes.dropFirst()).filter { $0 != $1 }.count
        #expect(player.frames.filter(\.isKeyFrame).count == (codec == .vp9 ? 1 : 1 + changes))
    }

    @Test(
        "what was skipped while the network is behind makes no frame larger, and does not hide that bits are short",
        arguments: [VideoCodec.vp8, .vp9])
    func skippedPictures(codec: VideoCodec) throws {
        var player = Player(codec, width: 320, height: 180)
        _ = try player.play(seconds: 2, bitsPerSecond: 600_000)
        let all = try player.play(seconds: 4, bitsPerSecond: 600_000) / (4 * 30)
        let some = try player.play(seconds: 8, bitsPerSecond: 600_000, every: 8) / (8 * 30 / 8)
        #expect(some < all * 3 / 2, "\(some) bytes a frame against \(all)")
        #expect(player.sizes.last == 320)
        #expect(abs(player.session.framesPerSecond - 30) < 2)
        _ = try player.play(seconds: 16, bitsPerSecond: 40_000, every: 8)
        #expect(try #require(player.sizes.last) < 320)
    }

    @Test("what comes out decodes to the size that was chosen, through every step", arguments: [VideoCodec.vp8, .vp9])
    func decodes(codec: VideoCodec) throws {
        var player = Player(codec, width: 320, height: 180)
        for rate in [1_000_000, 40_000, 1_000_000] { _ = try player.play(seconds: 6, bitsPerSecond: rate) }
        let pool = FrameBufferPool()
        let decoder = try VPXDecoder(codec: codec)
        for (frame, width) in zip(player.frames, player.sizes) {
            let picture = try #require(try decoder.decode(frame, pool: pool))
            #expect(picture.width == width)
        }
        #expect(Set(player.sizes).count > 1)
    }

    @Test("the ceiling is told for the first picture and when size or rate change")
    func ceiling() {
        var session = VideoEncodeSession(codec: .vp9, scaledPool: FrameBufferPool(), framePool: FrameBufferPool())
        let pool = FrameBufferPool()
        let small = PlanarFrame(width: 320, height: 180, pool: pool)
        let large = PlanarFrame(width: 1280, height: 720, pool: pool)
        let now = MonotonicTime(milliseconds: 1)
        let first = session.newCeiling(for: small, now: now)
        #expect(first == ResolutionAdapter.ceiling(width: 320, height: 180))
        #expect(session.newCeiling(for: small, now: now) == nil)
        #expect(session.newCeiling(for: large, now: now) == ResolutionAdapter.ceiling(width: 1280, height: 720))
        #expect(session.newCeiling(for: small, now: now) == first)
    }
}
