import Foundation
import RTCBase
import Testing

@testable import Reactor

/// What is refused before anything is sent.
@Suite(.timeLimit(.minutes(1))) struct ClientPushTests {
    private func code(_ body: () async throws -> Void) async -> ReactorError.Code? { await failure(body)?.code }

    private func pushError(_ body: () throws -> Void) -> ReactorError? { #expect(throws: ReactorError.self) { try body() } }

    private func makeClient() throws -> Reactor { try Reactor(model: "owner/name", apiURL: "http://127.0.0.1:1", local: true) }

    /// A client that believes to be in a session and to publish both of its inputs.
    private func makePublishingClient() throws -> Reactor {
        let client = try makeClient()
        client.state.write {
            $0.status = .ready
            $0.declarations = [
                TrackDeclaration(name: "webcam", kind: .video, direction: .sendonly),
                TrackDeclaration(name: "mic", kind: .audio, direction: .sendonly),
                TrackDeclaration(name: "main_video", kind: .video, direction: .recvonly),
                TrackDeclaration(name: "main_audio", kind: .audio, direction: .recvonly),
            ]
            $0.published = ["webcam", "mic"]
        }
        return client
    }

    @Test("T-19 a picture has exactly width * height * 4 bytes", arguments: [(1, 1), (2, 2), (33, 17), (640, 360)])
    func exactSize(width: Int, height: Int) throws {
        let client = try makePublishingClient()
        let track = try client.track("webcam")
        let exact = Data(count: width * height * 4)
        #expect(throws: Never.self) { try track.pushFrame(exact, width: UInt32(width), height: UInt32(height)) }
        for wrong in [exact.dropLast(), exact + [0], Data(), exact.dropLast(4)] where wrong.count != exact.count {
            let error = pushError { try track.pushFrame(wrong, width: UInt32(width), height: UInt32(height)) }
            #expect(error?.code == .badRequest)
            #expect(error?.operation == "pushFrame")
            #expect(error?.message.contains("\(exact.count)") == true)
        }
        withExtendedLifetime(client) {}
    }

    @Test("T-26 sizes that multiply to anything, up to UInt32.max, are refused and never trap")
    func hugeSizes() throws {
        let client = try makePublishingClient()
        let track = try client.track("webcam")
        let bytes = Data(count: 16)
        let sizes: [UInt32] = [0, 1, 3, 4, 16_384, 1 << 16, 1 << 30, 1 << 31, .max - 1, .max]
        for width in sizes {
            for height in sizes where (width, height) != (1, 4) && (width, height) != (4, 1) {
                #expect(pushError { try track.pushFrame(bytes, width: width, height: height) }?.code == .badRequest)
                bytes.withUnsafeBytes { raw in
                    #expect(pushError { try track.pushFrame(raw, width: width, height: height) }?.code == .badRequest)
                }
            }
        }
        #expect(pushError { try track.pushFrame(Data(), width: 0, height: 0) }?.code == .badRequest)
        withExtendedLifetime(client) {}
    }

    @Test("T-26 the arguments are looked at first: also unpublished a wrong size is badRequest, a right one invalidState")
    func argumentsFirst() throws {
        let client = try makeClient()
        let track = try client.track("any")
        #expect(pushError { try track.pushFrame(Data(count: 3), width: 1, height: 1) }?.code == .badRequest)
        #expect(pushError { try track.pushFrame([1, 2, 3], channels: 2) }?.code == .badRequest)
        #expect(pushError { try track.pushFrame(Data(count: 4), width: 1, height: 1) }?.code == .invalidState)
        #expect(pushError { try track.pushFrame([1, 2, 3]) }?.code == .invalidState)
        withExtendedLifetime(client) {}
    }

    @Test("T-21 a capture time is a value of timeMicros(): a negative one is refused")
    func captureTime() throws {
        let client = try makePublishingClient()
        let track = try client.track("webcam")
        for time: Int64 in [-1, .min] {
            #expect(pushError { try track.pushFrame(Data(count: 4), width: 1, height: 1, captureTimeUs: time) }?.code == .badRequest)
        }
        for time: Int64 in [0, 1, .max] {
            #expect(throws: Never.self) { try track.pushFrame(Data(count: 4), width: 1, height: 1, captureTimeUs: time) }
        }
        withExtendedLifetime(client) {}
    }

    @Test("T-23, T-24, T-26 samples divide by the channels; 48000 Hz and one channel by default")
    func audioCount() throws {
        let client = try makePublishingClient()
        let mic = try client.track("mic")
        #expect(throws: Never.self) { try mic.pushFrame([1, 2, 3]) }
        #expect(throws: Never.self) { try mic.pushFrame([]) }
        #expect(throws: Never.self) { try mic.pushFrame([1, 2, 3, 4], channels: 2) }
        #expect(pushError { try mic.pushFrame([1, 2, 3], channels: 2) }?.code == .badRequest)
        withExtendedLifetime(client) {}
    }

    @Test("X-9 six rates and one or two channels are taken, any other format is badRequest")
    func audioFormat() throws {
        let client = try makePublishingClient()
        let mic = try client.track("mic")
        for rate: UInt32 in [8000, 16000, 24000, 32000, 44100, 48000] {
            for channels: UInt32 in 1...2 {
                #expect(throws: Never.self) { try mic.pushFrame([0, 0], sampleRate: rate, channels: channels) }
            }
        }
        for rate: UInt32 in [0, 1, 11025, 22050, 44101, 96000, .max] {
            #expect(pushError { try mic.pushFrame([0, 0], sampleRate: rate) }?.code == .badRequest)
        }
        for channels: UInt32 in [0, 3, 6, .max] {
            #expect(pushError { try mic.pushFrame([Int16](repeating: 0, count: 6), channels: channels) }?.code == .badRequest)
        }
        withExtendedLifetime(client) {}
    }

    @Test("T-25, T-6 pushFrame throws invalidState on a track that is received, and on the wrong overload for the kind")
    func wrongTrack() throws {
        let client = try makePublishingClient()
        let pixels = Data(count: 4)
        for name in ["main_video", "mic", "main_audio"] {
            let track = try client.track(name)
            #expect(pushError { try track.pushFrame(pixels, width: 1, height: 1) }?.code == .invalidState)
            pixels.withUnsafeBytes { raw in
                #expect(pushError { try track.pushFrame(raw, width: 1, height: 1) }?.code == .invalidState)
            }
        }
        for name in ["main_video", "webcam", "main_audio"] {
            let track = try client.track(name)
            #expect(pushError { try track.pushFrame([1, 2]) }?.code == .invalidState)
        }
        withExtendedLifetime(client) {}
    }

    @Test("T-15, T-16, X-8 publish() throws invalidState on a recvonly track and without a session; X-13 unpublish() does nothing then")
    func publishOffline() async throws {
        let client = try makeClient()
        let track = try client.track("webcam")
        #expect(!track.published)
        let error = await #expect(throws: ReactorError.self) { try await track.publish() }
        #expect(error?.code == .invalidState)
        #expect(error?.operation == "publish_track")
        #expect(throws: Never.self) { try track.unpublish() }
        client.state.write {
            $0.declarations = [
                TrackDeclaration(name: "webcam", kind: .video, direction: .sendonly),
                TrackDeclaration(name: "main_video", kind: .video, direction: .recvonly),
            ]
        }
        let output = try client.track("main_video")
        #expect(await code { try await output.publish() } == .invalidState)
        #expect(pushError { try output.unpublish() }?.code == .invalidState)
        #expect(await code { try await output.setBitrate(max: 1) } == .invalidState)
        withExtendedLifetime(client) {}
    }

    @Test("X-3, C7 after close() every push and every call about publishing throws invalidState")
    func closed() async throws {
        let client = try makePublishingClient()
        let (webcam, mic) = (try client.track("webcam"), try client.track("mic"))
        #expect(webcam.published)
        client.close()
        try await refusesEverything(webcam, mic)
        #expect(await code { try await client.setBitrate(max: 1_000_000) } == .invalidState)
    }

    @Test("T-4, T-5, C7 the same when the client is gone")
    func released() async throws {
        var client: Reactor? = try makePublishingClient()
        let webcam = try #require(try client?.track("webcam"))
        let mic = try #require(try client?.track("mic"))
        client = nil
        try await refusesEverything(webcam, mic)
    }

    private func refusesEverything(_ webcam: Track, _ mic: Track) async throws {
        #expect(!webcam.published)
        #expect(pushError { try webcam.pushFrame(Data(count: 4), width: 1, height: 1) }?.code == .invalidState)
        // Also with arguments that could not be.
        #expect(pushError { try webcam.pushFrame(Data(count: 3), width: 1, height: 1) }?.code == .invalidState)
        #expect(pushError { try mic.pushFrame([1, 2]) }?.code == .invalidState)
        #expect(pushError { try webcam.unpublish() }?.code == .invalidState)
        #expect(await code { try await webcam.publish() } == .invalidState)
        #expect(await code { try await webcam.setBitrate(max: 1_000_000) } == .invalidState)
    }

    @Test("T-13 a reader sees no published track once the status is another, whatever is written in between")
    func closedIsUnpublished() throws {
        let client = try makePublishingClient()
        client.close()
        let (status, published) = client.state.read { ($0.status, $0.published) }
        #expect(status == .disconnected)
        #expect(published.isEmpty)
    }

    @Test("B21 setBitrate keeps min <= start <= max, on client and track, also before connect()")
    func bitrateBounds() async throws {
        let client = try makePublishingClient()
        try await client.setBitrate()
        try await client.setBitrate(min: 300_000, start: 1_000_000, max: 4_000_000)
        // Against what is already set.
        #expect(await code { try await client.setBitrate(min: 5_000_000) } == .badRequest)
        #expect(await code { try await client.setBitrate(start: 100_000) } == .badRequest)
        #expect(await code { try await client.setBitrate(max: -1) } == .badRequest)
        try await client.setBitrate(max: .max)
        let webcam = try client.track("webcam")
        try await webcam.setBitrate(min: 0, max: 2_000_000)
        #expect(await code { try await webcam.setBitrate(min: 2_000_001) } == .badRequest)
        let mic = try client.track("mic")
        #expect(await code { try await mic.setBitrate(max: 64_000) } == .invalidState)
        let settings = await client.engine.bitrates
        #expect(settings.connection.min == 300_000)
        #expect(settings.connection.max == BitrateBounds.mostBitsPerSecond)
        #expect(settings.tracks["webcam"] == BitrateBounds(min: 0, max: 2_000_000))
    }
}
