import Foundation
import Reactor
import ReactorTesting
import Testing

struct Grey: LocalModel {
    let tracks = [LocalTrack("main_video", kind: .video, direction: .recvonly)]

    func run(in session: LocalSession) async throws {
        while true {
            try await session.pushVideo(
                OutgoingVideoFrame(pixels: Data(repeating: 128, count: 64 * 64 * 4), width: 64, height: 64), to: "main_video")
            try await Task.sleep(for: .milliseconds(33))
        }
    }
}

@Suite("As a reader of the documentation writes it")
struct ReadmeTests {
    @Test func firstFrame() async throws {
        let runtime = try await LocalRuntime(model: Grey())
        let reactor = try Reactor(model: "grey", runtime: runtime)
        try await reactor.connect()
        let frame = try await reactor.track("main_video").videoFrames.first { _ in true }
        #expect(frame?.width == 64 && abs(Int(frame?.pixels.first ?? 0) - 128) < 3)
        await runtime.stop()
    }
}
