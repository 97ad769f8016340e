import CAllocationCounter
import Foundation
import PeerTestSupport
import RTCBase
import Synchronization
import Testing

@testable import Reactor

/// What a published track puts on the wire, received and decoded by a loopback runtime.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct ClientSendMediaTests {
    private func connected(_ configure: (inout FakeRuntime.Options) -> Void = { _ in }) async throws -> (FakeRuntime, Reactor) {
        let runtime = try FakeRuntime {
            $0.hasMicrophone = true
            $0.offersMedia = false
            configure(&$0)
        }
        let client = try runtime.client()
        try await client.connect()
        return (runtime, client)
    }

    /// One colour, B, G, R, A.
    private static func picture(_ width: Int, _ height: Int, _ colour: [UInt8] = [64, 128, 192, 255]) -> Data {
        Data((0..<(width * height)).flatMap { _ in colour })
    }

    /// Pushes pictures every 10 ms until the far end has seen so many more; false when it never did.
    private func push(
        _ runtime: FakeRuntime, _ track: Track, until count: Int, width: Int = 64, height: Int = 48,
        userData: @Sendable (Int) -> Data? = { _ in nil }, captureTime: @Sendable (Int) -> Int64? = { _ in nil }
    ) async throws -> Bool {
        let pixels = Self.picture(width, height)
        let peer = try runtime.peer
        let before = await peer.run { $0.inbox.pictureCount }
        var index = 0
        return await eventually(within: 10) {
            try? track.pushFrame(
                pixels, width: UInt32(width), height: UInt32(height), userData: userData(index), captureTimeUs: captureTime(index))
            index += 1
            try? await Task.sleep(for: .milliseconds(8))
            return await peer.run { $0.inbox.pictureCount } >= before + count
        }
    }

    @Test("T-14, T-19 pushed pictures arrive in their size and colour, and nothing after unpublish()", arguments: [VideoCodec.vp8, .vp9])
    func video(_ codec: VideoCodec) async throws {
        let (runtime, client) = try await connected { $0.peer.videoCodec = codec }
        let track = try client.track("webcam")
        let (peer, mid) = (try runtime.peer, try runtime.mid("webcam"))
        #expect(await peer.run { $0.srtpPacketsReceived } == 0)
        try await track.publish()
        #expect(try await push(runtime, track, until: 5))
        let pictures = await peer.run { $0.inbox.pictures }
        #expect(pictures.first?.isKeyFrame == true)
        for picture in pictures {
            #expect(picture.mid == mid)
            #expect(picture.codec == codec)
            #expect(picture.width == 64 && picture.height == 48)
            // BT.601, limited range, of (R 192, G 128, B 64).
            for (value, expected) in zip(picture.middle, [136, 91, 164]) { #expect(abs(value - expected) <= 6, "\(picture.middle)") }
        }
        try track.unpublish()
        #expect(await eventually { runtime.publishing.last == "unpublish webcam" })
        let packets = await peer.run { $0.srtpPacketsReceived }
        #expect(throws: ReactorError.self) { try track.pushFrame(Self.picture(64, 48), width: 64, height: 48) }
        // A round trip of the channel that was behind the media, and then some.
        for _ in 0..<20 { _ = try await client.requestSchema() }
        #expect(await peer.run { $0.srtpPacketsReceived } <= packets + 2)
        // Published again it begins with a key frame.
        let before = await peer.run { $0.inbox.pictureCount }
        try await track.publish()
        #expect(try await push(runtime, track, until: 2))
        #expect(await peer.run { $0.inbox.pictures[before].isKeyFrame })
        #expect(await peer.run { $0.inbox.decodeErrors } == 0)
        try await client.disconnect()
    }

    @Test("T-19 a picture in any layout arrives in its colour, and the wrong count of bytes is refused", arguments: PixelFormat.allCases)
    func layouts(_ format: PixelFormat) async throws {
        let (runtime, client) = try await connected()
        let track = try client.track("webcam")
        try await track.publish()
        let (width, height) = (64, 48)
        // R 192, G 128, B 64, which is Y 136, U 91, V 164.
        let pixels: Data =
            switch format {
            case .bgra: Self.picture(width, height)
            case .rgba: Self.picture(width, height, [192, 128, 64, 255])
            case .i420: Data(repeating: 136, count: 3072) + Data(repeating: 91, count: 768) + Data(repeating: 164, count: 768)
            case .nv12: Data(repeating: 136, count: 3072) + Data((0..<768).flatMap { _ in [91, 164] })
            }
        let frame = OutgoingVideoFrame(pixels: pixels, width: UInt32(width), height: UInt32(height), format: format)
        let peer = try runtime.peer
        #expect(
            await eventually(within: 10) {
                try? track.pushFrame(frame)
                try? await Task.sleep(for: .milliseconds(8))
                return await peer.run { $0.inbox.pictureCount } >= 3
            })
        for picture in await peer.run({ $0.inbox.pictures }) {
            #expect(picture.width == width && picture.height == height)
            for (value, expected) in zip(picture.middle, [136, 91, 164]) { #expect(abs(value - expected) <= 6, "\(picture.middle)") }
        }
        var short = frame
        short.pixels = frame.pixels.dropLast()
        let error = #expect(throws: ReactorError.self) { try track.pushFrame(short) }
        #expect(error?.code == .badRequest && error?.message.contains(format.rawValue.uppercased()) == true)
        try await client.disconnect()
    }

    @Test("7.3, T-20, T-21, R-75 trailers: byte for byte, the given capture time or the push's, none without both")
    func trailers() async throws {
        let (runtime, client) = try await connected()
        let track = try client.track("webcam")
        try await track.publish()
        let begin = Reactor.timeMicros()
        let tag = Data((0..<300).map { UInt8(truncatingIfNeeded: $0 * 31) })
        #expect(try await push(runtime, track, until: 3))
        #expect(try await push(runtime, track, until: 3, userData: { _ in Data() }))
        let plain = try await runtime.peer.run { $0.inbox.pictures }
        #expect(plain.allSatisfy { $0.metadata == nil })
        // The times of the pushes, just before each, and whether one was given.
        let pushes = Mutex<[(time: Int64, isGiven: Bool)]>([])
        #expect(
            try await push(
                runtime, track, until: 14, userData: { $0 % 2 == 0 ? tag : nil },
                captureTime: { index in
                    let time = Reactor.timeMicros()
                    pushes.withLock { $0.append((time, index % 3 != 0)) }
                    return index % 3 == 0 ? nil : time
                }))
        let tagged = try await runtime.peer.run { $0.inbox.pictures.compactMap(\.metadata) }
        #expect(tagged.count >= 8)
        #expect(tagged.contains { $0.userData == nil })
        var givenCount = 0
        for metadata in tagged {
            if let userData = metadata.userData { #expect(Data(userData) == tag) }
            // One clock at both ends here: what was given comes back exactly; what was not is later than its own push began, and
            // earlier than the next one.
            let time = Int64(metadata.captureTimeMicros)
            let push = try #require(pushes.withLock { $0.last { $0.time <= time } })
            #expect(time >= begin && (!push.isGiven || push.time == time))
            givenCount += push.isGiven ? 1 : 0
        }
        #expect(givenCount > 0 && givenCount < tagged.count)
        #expect(zip(tagged, tagged.dropFirst()).allSatisfy { $0.frameID < $1.frameID })
        try await client.disconnect()
    }

    @Test("T-20 towards a peer that does not read tags they vanish, and nothing fails")
    func noTrailers() async throws {
        let (runtime, client) = try await connected { $0.peer.mirrorsFrameMetadata = false }
        let track = try client.track("webcam")
        try await track.publish()
        #expect(try await push(runtime, track, until: 5, userData: { _ in Data("tag".utf8) }, captureTime: { _ in Reactor.timeMicros() }))
        let pictures = try await runtime.peer.run { $0.inbox.pictures }
        #expect(pictures.allSatisfy { $0.metadata == nil })
        #expect(try await runtime.peer.run { $0.inbox.decodeErrors } == 0)
        try await client.disconnect()
    }

    @Test("a picture of another size follows, odd sizes too; a request for a key frame is answered")
    func sizesAndKeyFrames() async throws {
        let (runtime, client) = try await connected()
        let track = try client.track("webcam")
        let (peer, mid) = (try runtime.peer, try runtime.mid("webcam"))
        try await track.publish()
        for (width, height) in [(64, 48), (97, 51), (160, 120)] {
            #expect(try await push(runtime, track, until: 4, width: width, height: height))
            let last = await peer.run { $0.inbox.pictures.last }
            #expect(last?.width == width && last?.height == height)
        }
        let before = await peer.run { $0.inbox.pictures.count }
        peer.post { $0.requestKeyFrame(mid: mid) }
        // Both ends limit how often: it may take half a second.
        let pixels = Self.picture(160, 120)
        #expect(
            await eventually(within: 10) {
                try? track.pushFrame(pixels, width: 160, height: 120)
                try? await Task.sleep(for: .milliseconds(8))
                return await peer.run { $0.inbox.pictures[before...].contains { $0.isKeyFrame } }
            })
        try await client.disconnect()
    }

    @Test("X-9 a tone pushed at any rate, mono or stereo, in chunks of any length, is heard", arguments: [8000, 44100, 48000])
    func audio(sampleRate: Int) async throws {
        let (runtime, client) = try await connected()
        let track = try client.track("mic")
        let (peer, mid) = (try runtime.peer, try runtime.mid("mic"))
        try await track.publish()
        let channels = sampleRate == 48000 ? 1 : 2
        var position = 0
        var chunk = 0
        let begin = ContinuousClock.now
        let isHeard = await eventually(within: 10) {
            // As much as time has passed, in pieces of odd lengths.
            let due = Int((ContinuousClock.now - begin) / .seconds(1) * Double(sampleRate))
            while position < due {
                let count = [1, 37, 441, 960][chunk % 4]
                chunk += 1
                let samples = (position..<(position + count)).flatMap { index in
                    [Int16](
                        repeating: Int16(12_000 * sin(2 * .pi * 440 * Double(index) / Double(sampleRate))), count: channels)
                }
                position += count
                try? track.pushFrame(samples, sampleRate: UInt32(sampleRate), channels: UInt32(channels))
            }
            return await peer.run { $0.inbox.samples[mid]?.count ?? 0 } > 48_000
        }
        #expect(isHeard)
        let samples = await peer.run { Array(($0.inbox.samples[mid] ?? []).suffix(24_000)) }
        #expect(TestTone.share(of: 440, in: samples) > 0.8)
        let packets = await peer.run { $0.srtpPacketsReceived }
        try track.unpublish()
        #expect(await eventually { runtime.publishing.last == "unpublish mic" })
        for _ in 0..<10 { _ = try await client.requestSchema() }
        #expect(await peer.run { $0.srtpPacketsReceived } <= packets + 25)
        try await client.disconnect()
    }

    @Test("T-22 a push from raw memory copies no picture: it allocates at most what the encoder's input takes")
    func noCopy() async throws {
        guard callocation_is_available() == 1 else { return }
        let (runtime, client) = try await connected()
        let track = try client.track("webcam")
        try await track.publish()
        let pixels = Self.picture(640, 360)
        for _ in 0..<5 { try track.pushFrame(pixels, width: 640, height: 360) }
        let most = try Self.mostBytesAllocated(pixels, track)
        // I420 is three eighths of BGRA; a copy of the pixels would be 921600 bytes more.
        #expect(most <= 640 * 360 * 3 / 2 + 64 * 1024, "\(most)")
        try await client.disconnect()
        withExtendedLifetime(runtime) {}
    }

    /// Of one push, on this thread.
    private static func mostBytesAllocated(_ pixels: Data, _ track: Track) throws -> UInt64 {
        try pixels.withUnsafeBytes { raw in
            var most: UInt64 = 0
            for _ in 0..<20 {
                let before = callocation_counts_now()
                try track.pushFrame(raw, width: 640, height: 360)
                most = max(most, callocation_counts_now().bytes - before.bytes)
            }
            return most
        }
    }

    @Test("stats() tells what is sent, per published track; counters count pushes; R-26 media flows again after a reconnect")
    func statistics() async throws {
        let (runtime, client) = try await connected()
        let track = try client.track("webcam")
        try await client.setBitrate(max: 400_000)
        try await track.publish()
        #expect(try await push(runtime, track, until: 10))
        let stats = try await client.stats()
        let video = try #require(stats.outbound.first { $0.trackName == "webcam" })
        #expect(video.kind == "video")
        #expect(video.codec == "VP8")
        #expect(video.packetsSent >= 10 && video.bytesSent > 0)
        #expect(video.framesSent >= 10 && video.framesEncoded >= 10)
        #expect(video.frameWidth == 64 && video.frameHeight == 48)
        #expect(video.targetBitrateBPS > 0 && video.targetBitrateBPS <= 400_000)
        #expect(stats.targetBitrateBPS == stats.outbound.reduce(0) { $0 + $1.targetBitrateBPS })
        #expect(stats.availableOutgoingBitrateBPS.map { $0 > 0 } == true)
        #expect(track.counters.pushed >= 10 && track.counters.encoded >= 10)
        try await client.reconnect()
        try await track.publish()
        #expect(try await push(runtime, track, until: 3))
        // The bound was remembered.
        let again = try await client.stats()
        #expect(again.outbound.first { $0.trackName == "webcam" }.map { $0.targetBitrateBPS <= 400_000 } == true)
        try await client.disconnect()
    }
}
