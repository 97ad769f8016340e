import PeerTestSupport
import RTCBase
import RTCPeer
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A connection that publishes a camera and a microphone to another one of ours.
private final class PublishedCall: Sendable {
    let webcam = LocalTrack(name: "webcam", kind: .video)
    let mic = LocalTrack(name: "mic", kind: .audio)
    let pair: PeerPair
    let video: RemoteTrack.VideoConsumer
    let audio: RemoteTrack.AudioConsumer

    init(codecs: [VideoCodec] = [.vp9, .vp8], carriesMetadata: Bool = true) async throws {
        let received = (RemoteTrack(name: "webcam"), RemoteTrack(name: "mic"))
        video = received.0.addVideoConsumer()
        audio = received.1.addAudioConsumer(capacityBlocks: 1000)
        var offering = PeerConfiguration()
        offering.videoCodecs = codecs
        offering.offersFrameMetadata = carriesMetadata
        pair = try await PeerPair(
            tracks: Self.tracks(.sendonly), farTracks: Self.tracks(.recvonly),
            farRemoteTracks: ["webcam": received.0, "mic": received.1], localTracks: ["webcam": webcam, "mic": mic],
            offering: offering)
        try #require(await pair.waitUntilOpen())
    }

    private static func tracks(_ direction: MediaDirection) -> [TrackDeclaration] {
        [
            TrackDeclaration(name: "webcam", kind: .video, direction: direction),
            TrackDeclaration(name: "mic", kind: .audio, direction: direction),
        ]
    }

    /// Pushes one picture and waits for it at the other end.
    func show(width: Int = 320, height: Int = 180, number: Int, _ metadata: FrameMetadata = FrameMetadata()) async throws -> PlanarFrame {
        #expect(webcam.push(width: width, height: height, number: number, metadata: metadata))
        return try #require(await video.next()).planes
    }

    func outbound(_ track: String) async -> PeerStatistics.Outbound? {
        await pair.offerer.statistics.outbound.first { $0.track == track }
    }
}

/// Media from a local track to the peer.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct PublishTests {
    @Test("T-20 pushed pictures arrive with their size, number, capture time and user data", arguments: [VideoCodec.vp8, .vp9])
    func pictures(codec: VideoCodec) async throws {
        let call = try await PublishedCall(codecs: [codec])
        try await call.pair.offerer.setPublishing(true, track: "webcam")
        for number in 0..<20 {
            let captured = UInt64(NetworkThread.now().nanoseconds / 1000)
            let picture = try await call.show(number: number, FrameMetadata(captureTimeMicros: captured, userData: [7, UInt8(number)]))
            #expect(picture.width == 320 && picture.height == 180)
            #expect(PushedPictures.number(picture) == number)
            #expect(
                picture.metadata == FrameMetadata(frameID: UInt64(number + 1), captureTimeMicros: captured, userData: [7, UInt8(number)]))
        }
        let outbound = try #require(await call.outbound("webcam"))
        #expect(outbound.codec == codec.rawValue && outbound.kind == .video)
        #expect(outbound.framesEncoded == 20 && outbound.framesSent == 20 && outbound.framesDropped == 0)
        #expect(outbound.packetsSent >= 20 && outbound.bytesSent > 0 && outbound.keyFrames == 1)
        #expect(outbound.width == 320 && outbound.height == 180)
        #expect(outbound.targetBitrate > 0)
        #expect(call.webcam.counts == .init(pushed: 20, encoded: 20, dropped: 0))
        await call.pair.end()
    }

    @Test("T-20 towards a peer that does not read tags they vanish, and nothing fails")
    func noMetadata() async throws {
        let call = try await PublishedCall(carriesMetadata: false)
        try await call.pair.offerer.setPublishing(true, track: "webcam")
        for number in 0..<3 {
            let picture = try await call.show(number: number, FrameMetadata(userData: [1, 2, 3]))
            #expect(PushedPictures.number(picture) == number && picture.metadata == nil)
        }
        await call.pair.end()
    }

    @Test("VID-08 sizes change between pictures, odd ones too", arguments: [VideoCodec.vp8, .vp9])
    func sizes(codec: VideoCodec) async throws {
        let call = try await PublishedCall(codecs: [codec])
        try await call.pair.offerer.setPublishing(true, track: "webcam")
        for (number, size) in [(320, 180), (641, 361), (160, 90), (426, 240), (319, 179)].enumerated() {
            let picture = try await call.show(width: size.0, height: size.1, number: number)
            #expect(picture.width == size.0 && picture.height == size.1)
            #expect(PushedPictures.number(picture) == number)
        }
        await call.pair.end()
    }

    @Test("nothing is sent before publish and after unpublish, threads end, and publishing again begins with a key frame")
    func unpublish() async throws {
        let call = try await PublishedCall()
        #expect(!call.webcam.push(width: 320, height: 180, number: 0))
        try await call.pair.offerer.setPublishing(true, track: "webcam")
        for number in 1..<5 { _ = try await call.show(number: number) }
        #expect(ProcessResources.threads(named: "reactor-enc") == 1)
        try await call.pair.offerer.setPublishing(false, track: "webcam")
        let sent = try #require(await call.outbound("webcam")).packetsSent
        #expect(await eventually { ProcessResources.threads(named: "reactor-enc") == 0 })
        #expect(!call.webcam.push(width: 320, height: 180, number: 5))
        #expect(await call.outbound("webcam")?.packetsSent == sent)
        // Twice is as once.
        try await call.pair.offerer.setPublishing(false, track: "webcam")
        try await call.pair.offerer.setPublishing(true, track: "webcam")
        try await call.pair.offerer.setPublishing(true, track: "webcam")
        #expect(PushedPictures.number(try await call.show(number: 6)) == 6)
        #expect(try #require(await call.outbound("webcam")).keyFrames == 2)
        await call.pair.end()
        #expect(!call.webcam.isPublished)
        #expect(!call.webcam.push(width: 320, height: 180, number: 7))
    }

    @Test("a receiver that comes back from a pause gets a key frame")
    func keyFrame() async throws {
        let call = try await PublishedCall()
        try await call.pair.offerer.setPublishing(true, track: "webcam")
        _ = try await call.show(number: 0)
        await call.pair.answerer.setReceiving(false, track: "webcam")
        await call.pair.answerer.setReceiving(true, track: "webcam")
        // The first picture shows that one is needed; a request is answered by one of the next.
        var number = 1
        let shown = await eventually {
            call.webcam.push(width: 320, height: 180, number: number)
            number += 1
            return await call.outbound("webcam")?.keyFrames == 2
        }
        #expect(shown)
        #expect(await call.video.next() != nil)
        await call.pair.end()
    }

    @Test("X-9 a pushed tone arrives at its pitch", arguments: [(16_000, 1), (44_100, 2), (48_000, 1)])
    func tone(rate: Int, channels: Int) async throws {
        let call = try await PublishedCall()
        try await call.pair.offerer.setPublishing(true, track: "mic")
        // A second and a half in one chunk: it leaves, and is played, at the pace of the sound.
        let samples = (0..<(rate * 3 / 2)).flatMap { index -> [Int16] in
            [Int16](repeating: Int16(12_000 * sin(2 * .pi * 523 * Double(index) / Double(rate))), count: channels)
        }
        #expect(samples.withUnsafeBufferPointer { call.mic.push(samples: $0, sampleRate: rate, channels: channels) })
        var best = 0.0
        var window: [Int16] = []
        for _ in 0..<200 where best < 0.9 {
            guard let block = await call.audio.next() else { break }
            // One channel of however many were decoded.
            window += stride(from: 0, to: block.samples.count, by: block.channels).map { block.samples[$0] }
            if window.count > 4800 { window.removeFirst(480) }
            if window.count == 4800 { best = max(best, TestTone.share(of: 523, in: window)) }
        }
        #expect(best >= 0.9)
        let outbound = try #require(await call.outbound("mic"))
        #expect(outbound.kind == .audio && outbound.codec == "opus" && outbound.packetsSent > 5)
        await call.pair.end()
    }

    @Test("T-14 tracks that cannot be sent are refused with a reason, and everything after close is")
    func refusals() async throws {
        let call = try await PublishedCall()
        for track in ["unknown", ""] {
            let error = await #expect(throws: PeerError.self) { try await call.pair.offerer.setPublishing(true, track: track) }
            #expect(error?.kind == .negotiation)
        }
        let receiving = await #expect(throws: PeerError.self) { try await call.pair.answerer.setPublishing(true, track: "webcam") }
        #expect(receiving?.kind == .negotiation)
        await call.pair.offerer.close()
        let closed = await #expect(throws: PeerError.self) { try await call.pair.offerer.setPublishing(true, track: "webcam") }
        #expect(closed?.kind == .invalidState)
        await call.pair.end()
    }

    @Test("a maximum for a track or for all holds for the encoder")
    func limits() async throws {
        let call = try await PublishedCall()
        try await call.pair.offerer.setBitrateLimits(track: "webcam", max: 200_000)
        try await call.pair.offerer.setPublishing(true, track: "webcam")
        for number in 0..<5 { _ = try await call.show(number: number) }
        #expect(await eventually { await (call.outbound("webcam")?.targetBitrate ?? .max) <= 200_000 })
        try await call.pair.offerer.setBitrateLimits(min: 50_000, max: 100_000)
        #expect(await eventually { await (call.outbound("webcam")?.targetBitrate ?? .max) <= 100_000 })
        await call.pair.end()
    }
}
