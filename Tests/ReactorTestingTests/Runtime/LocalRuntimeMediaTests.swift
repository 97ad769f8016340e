import Foundation
import PeerTestSupport
import RTCBase
import RTCPeer
import Reactor
import ReactorCore
import Synchronization
import Testing

@testable import ReactorTesting

/// Pictures and sound both ways between our own client and the runtime.
@Suite("LocalRuntime, media")
struct LocalRuntimeMediaTests {
    @Test("T-34, T-35, T-36, T-37 pictures arrive with their content, user data and capture time")
    func pictures() async throws {
        let model = TestModel { session in
            while true {
                try await session.pushVideo(greyFrame(200, userData: Data("tag".utf8), captureTimeUs: 123_456_789), to: "main_video")
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        try await withRuntime(model) { runtime in
            let client = try await runtime.connectedClient()
            let frame = try await client.track("main_video").videoFrames.first(within: .seconds(10)) { _ in true }
            #expect(frame?.width == 64 && frame?.height == 48)
            #expect(abs((frame?.grey ?? 0) - 200) < 4)
            #expect(frame?.userData == Data("tag".utf8) && frame?.captureTimeUs == 123_456_789 && (frame?.frameID ?? 0) > 0)
            try await client.disconnect()
        }
    }

    @Test("T-40, T-41, §6.2 pause stops a track, resume starts it again with a picture that decodes")
    func pauseAndResume() async throws {
        let source = GreySource()
        try await withRuntime(TestModel(run: source.run)) { runtime in
            let client = try await runtime.connectedClient()
            let track = try client.track("main_video")
            #expect(try await track.videoFrames.first(within: .seconds(10)) { _ in true } != nil)
            try await track.pause()
            #expect(await eventually { await runtime.core.isSending("main_video") == false })
            source.grey.withLock { $0 = 220 }
            try await track.resume()
            #expect(try await track.videoFrames.first(within: .seconds(10)) { abs($0.grey - 220) < 6 } != nil)
            #expect(await runtime.core.isSending("main_video") == true)
            try await client.disconnect()
        }
    }

    @Test("§6.2 nothing flows, and nothing is converted, for a track that nobody resumed")
    func notResumed() async throws {
        try await withRuntime(TestModel(), { $0.recordsSessions = false }) { runtime in
            let raw = try await RawClient(runtime.startedCore())
            #expect(await raw.waitUntilOpen())
            let session = try await runtime.session
            for _ in 0..<20 { try await session.pushVideo(greyFrame(9), to: "main_video") }
            #expect(await runtime.core.isSending("main_video") == false)
            #expect(!raw.events.contains { if case .mediaStarted(track: _) = $0 { true } else { false } })
            await raw.peer.close()
        }
    }

    @Test("T-39 sound arrives on a resumed track")
    func sound() async throws {
        let model = TestModel { session in
            var phase = 0
            while true {
                let chunk = (0..<960).map { Int16(8000 * sin(Double($0 + phase) * 2 * .pi * 440 / 48_000)) }
                phase += 960
                try await session.pushAudio(chunk, to: "main_audio")
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        try await withRuntime(model) { runtime in
            let client = try await runtime.connectedClient()
            let loud = try await client.track("main_audio").audioFrames.first(within: .seconds(10)) { block in
                block.sampleRate == 48_000 && (block.samples.map { Int($0).magnitude }.max() ?? 0) > 4000
            }
            // Interleaved, 10 ms.
            #expect(loud.map { $0.samples.count == 480 * Int($0.channels) } == true)
            try await client.disconnect()
        }
    }

    @Test("§6.3, §12, 7 what the publisher of a track sends reaches the model, and nothing of it after unpublish")
    func publishing() async throws {
        let seen = Mutex<[Int]>([])
        let model = TestModel { session in
            for await frame in try session.videoFrames(from: "webcam") { seen.withLock { $0.append(frame.grey) } }
        }
        try await withRuntime(model) { runtime in
            let client = try await runtime.connectedClient()
            let webcam = try client.track("webcam")
            try await webcam.publish()
            let sender = Task {
                while !Task.isCancelled {
                    try? webcam.pushFrame(greyFrame(180).pixels, width: 64, height: 48)
                    try? await Task.sleep(for: .milliseconds(20))
                }
            }
            #expect(await eventually(within: 10) { seen.withLock { $0.contains { abs($0 - 180) < 6 } } })
            #expect(await runtime.core.slots.holder(of: "webcam") != nil)
            try webcam.unpublish()
            #expect(await eventually { await runtime.core.slots.holder(of: "webcam") == nil })
            sender.cancel()
            await sender.value
            try await client.disconnect()
        }
    }

    @Test("§12, 7 pictures of a client that did not publish do not reach the model")
    func unpublishedPictures() async throws {
        let seen = Mutex(0)
        let model = TestModel { session in
            for await _ in try session.videoFrames(from: "webcam") { seen.withLock { $0 += 1 } }
        }
        try await withRuntime(model) { runtime in
            let track = RawClient.Track(name: "webcam", kind: .video)
            let raw = try await RawClient(runtime.startedCore(), localTracks: ["webcam": track])
            #expect(await raw.waitUntilOpen())
            try await raw.peer.setPublishing(true, track: "webcam")
            let pixels = greyFrame(90).pixels
            let sender = Task {
                while !Task.isCancelled {
                    pixels.withUnsafeBytes { _ = track.push(bgra: $0, width: 64, height: 48) }
                    try? await Task.sleep(for: .milliseconds(20))
                }
            }
            #expect(await eventually(within: 10) { await runtime.core.refusedFrames("webcam") > 3 })
            #expect(seen.withLock { $0 } == 0)
            try await raw.control(.publishTrack(name: "webcam"), id: "p", kind: .request)
            #expect(await raw.reply("p") == .publishGranted)
            #expect(await eventually(within: 10) { seen.withLock { $0 } > 3 })
            try await raw.control(.unpublishTrack(name: "webcam"))
            #expect(await eventually { await runtime.core.slots.holder(of: "webcam") == nil })
            let refused = await runtime.core.refusedFrames("webcam")
            #expect(await eventually(within: 10) { await runtime.core.refusedFrames("webcam") > refused + 3 })
            sender.cancel()
            await sender.value
            await raw.peer.close()
        }
    }

    @Test("T-19, T-25, T-26 pushes that cannot be are refused, also while nobody takes them")
    func badPushes() async throws {
        try await withRuntime(TestModel()) { runtime in
            let client = try await runtime.connectedClient()
            let session = try await runtime.session
            func code(_ frame: OutgoingVideoFrame, _ track: String = "main_video") async -> ReactorError.Code? {
                do {
                    try await session.pushVideo(frame, to: track)
                    return nil
                } catch { return (error as? ReactorError)?.code }
            }
            func frame(_ count: Int, _ width: UInt32, _ height: UInt32, _ format: PixelFormat = .bgra) -> OutgoingVideoFrame {
                OutgoingVideoFrame(pixels: Data(count: count), width: width, height: height, format: format)
            }
            #expect(await code(frame(15, 2, 2)) == .badRequest)
            #expect(await code(frame(17, 2, 2)) == .badRequest)
            #expect(await code(frame(0, 0, 2)) == .badRequest)
            #expect(await code(frame(16, .max, .max)) == .badRequest)
            #expect(await code(frame(65536, 16384, 1)) == .badRequest)
            #expect(await code(frame(16, 2, 2, .i420)) == .badRequest)
            #expect(await code(greyFrame(1, captureTimeUs: -1)) == .badRequest)
            #expect(await code(frame(16, 2, 2), "nope") == .notFound)
            #expect(await code(frame(16, 2, 2), "webcam") == .invalidState)
            #expect(await code(frame(16, 2, 2), "main_audio") == .invalidState)
            for format in PixelFormat.allCases {
                let count = format.byteCount(width: 33, height: 7) ?? 0
                #expect(await code(frame(count, 33, 7, format)) == nil)
            }
            for (track, expected) in [("main_video", ReactorError.Code.invalidState), ("mic", .invalidState), ("nope", .notFound)] {
                let error = await #expect(throws: ReactorError.self) { try await session.pushAudio([1, 2], to: track) }
                #expect(error?.code == expected)
            }
            #expect(throws: ReactorError.self) { try session.videoFrames(from: "main_video") }
            #expect(throws: ReactorError.self) { try session.videoFrames(from: "mic") }
            #expect(throws: ReactorError.self) { try session.audioFrames(from: "webcam") }
            try await client.disconnect()
        }
    }
}
