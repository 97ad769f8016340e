import Foundation
import PeerTestSupport
import Reactor
import Testing

@testable import ReactorTesting

/// Clips and recordings through the runtime's routes, as our own client sees them.
@Suite("Recording, loopback")
struct RecordingLoopbackTests {
    private static func model() -> TestModel {
        TestModel { session in
            let start = ContinuousClock.now
            for tick in 0... {
                if tick % 3 != 2 {
                    let pixels = Data(NumberedPicture.bgra(tick, width: 96, height: 64))
                    try await session.pushVideo(OutgoingVideoFrame(pixels: pixels, width: 96, height: 64), to: "main_video")
                }
                try await session.pushAudio(Tone.samples(hertz: 440, rate: 48_000, from: tick * 960, count: 960), to: "main_audio")
                try await Task.sleep(until: start + .milliseconds(20 * (tick + 1)))
            }
        }
    }

    @Test("R-47, R-49, R-50 a clip and a recording load while the session lives, and after it")
    func clips() async throws {
        try await withRuntime(Self.model()) { runtime in
            let client = try await runtime.connectedClient()
            let seen = SharedList<Bool>()
            _ = try await client.track("main_video").videoFrames.first(within: .seconds(60)) { _ in
                seen.append(true)
                return seen.all.count >= 30
            }
            let clip = try await client.requestClip(.milliseconds(500))
            let clipEnd = try #require(clip.endMarker)
            #expect(clip.kind == "snap" && clip.duration == .milliseconds(500))
            let chunks = try Self.chunks(await client.clipData(clip, readyTimeout: .seconds(60)))
            let times = try ChunkDecoder.pictures(chunks).map(\.time)
            #expect(times.last.map { $0 < clipEnd && $0 > clipEnd - 1 } == true)

            let recording = try await client.requestRecording()
            #expect(recording.kind == "recording" && recording.startMarker == 0 && (recording.endMarker ?? 0) >= clipEnd)
            try await client.disconnect()

            let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).mp4")
            defer { try? FileManager.default.removeItem(at: url) }
            _ = try await Reactor.download(recording, to: url, jwt: nil, readyTimeout: .seconds(60))
            let all = try Self.chunks(Data(contentsOf: url))
            let pictures = try ChunkDecoder.pictures(all)
            let numbers = pictures.map { NumberedPicture.number($0.frame) }
            #expect(numbers == numbers.sorted() && numbers.count > 10)
            #expect(pictures.first?.time == 0)
            #expect(MP4Fragment.parse(all[0]).map(\.track) == [1, 2])
        }
    }

    @Test("B8 a runtime that records nothing says so")
    func disabled() async throws {
        try await withRuntime(Self.model(), { $0.recordsSessions = false }) { runtime in
            let client = try await runtime.connectedClient()
            await #expect { _ = try await client.requestClip(.seconds(1)) } throws: { ($0 as? ReactorError)?.code == .recorderDisabled }
            await #expect { _ = try await client.requestRecording() } throws: { ($0 as? ReactorError)?.code == .recorderDisabled }
            try await client.disconnect()
        }
    }

    /// The media segments of a file, each from its `styp` on.
    private static func chunks(_ file: Data) throws -> [[UInt8]] {
        let bytes = [UInt8](file)
        let boxes = try #require(MP4Box.parse(bytes))
        #expect(boxes.prefix(2).map(\.type) == ["ftyp", "moov"])
        let starts = boxes.filter { $0.type == "styp" }.map(\.start)
        return zip(starts, starts.dropFirst() + [bytes.count]).map { Array(bytes[$0..<$1]) }
    }
}
