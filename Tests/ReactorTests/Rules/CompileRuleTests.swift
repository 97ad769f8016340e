import Foundation
import Synchronization
import Testing

@testable import Reactor

/// Rules about the shape of the API: that these lines compile is most of the test.
@Suite struct CompileRuleTests {
    private func client() throws -> Reactor { try Reactor(model: "owner/model", local: true) }

    @Test("R-37, R-40 a dictionary literal is a payload, and nothing has to be made of the reply")
    func literal() async throws {
        let client = try client()
        await #expect(throws: ReactorError.self) {
            // No `_ =`: warnings are errors here.
            try await client.sendCommand("set_prompt", ["prompt": "a fox", "strength": 0.5, "on": true, "tags": ["a", 1], "none": nil])
        }
    }

    @Test(
        "R-59, T-2, T-3, T-7 one type for both directions and kinds, from track(_:) or tracks, to push, receive and pause; its name is fixed"
    )
    func oneTrackType() async throws {
        let client = try client()
        let track: Track = try client.track("anything")
        let listed: TrackList = client.tracks
        let sameType: [Track] = Array(listed) + [track]
        #expect(sameType.map(\.name) == ["anything"])
        // All of it on one object; without a session each says so, or waits.
        let video: Subscription = try track.onFrame { (_: VideoFrame) in }
        let audio: Subscription = try track.onFrame { (_: AudioFrame) in }
        #expect(throws: ReactorError.self) { try track.pushFrame(Data(count: 4), width: 1, height: 1) }
        #expect(throws: ReactorError.self) { try track.pushFrame([0, 0]) }
        await #expect(throws: ReactorError.self) { try await track.pause() }
        await #expect(throws: ReactorError.self) { try await track.publish() }
        #expect(!video.isCancelled && !audio.isCancelled)
        let name: KeyPath<Track, String> = \.name
        #expect(!(name is WritableKeyPath<Track, String>))
    }

    @Test("R-71 no event of the client carries a frame")
    func noFrameEvent() {
        // Without a default: a case that is added has to be looked at here.
        func carriesFrame(_ event: ReactorEvent) -> Bool {
            switch event {
            case .status, .sessionID, .tracks, .trackReceived, .message, .runtimeMessage, .error: false
            }
        }
        #expect(!carriesFrame(.status(.ready)))
    }

    @Test("T-38 a borrowed frame has the fields of a kept one")
    func rawFields() {
        let pixels: [UInt8] = [1, 2, 3, 4]
        pixels.withUnsafeBytes { bytes in
            let raw = RawVideoFrame(
                trackName: "a", pixels: bytes, width: 1, height: 1, frameID: 7, captureTimeUs: 8, userData: nil)
            let kept = VideoFrame(trackName: "a", pixels: Data(bytes), width: 1, height: 1, frameID: 7, captureTimeUs: 8)
            #expect(raw.trackName == kept.trackName && raw.width == kept.width && raw.height == kept.height)
            #expect(raw.frameID == kept.frameID && raw.captureTimeUs == kept.captureTimeUs)
            #expect(Data(raw.pixels) == kept.pixels && raw.userData == nil && kept.userData == nil)
        }
    }

    @Test("T-44 a TrackList is a random-access collection")
    func randomAccess() throws {
        func middle<C: RandomAccessCollection & Sendable>(_ list: C) -> C.Element? where C.Element == Track {
            list.isEmpty ? nil : list[list.index(list.startIndex, offsetBy: list.count / 2)]
        }
        let client = try client()
        #expect(middle(client.tracks) == nil)
        let tracks = try TrackList(["a", "b", "c"].map { try client.track($0) })
        #expect(middle(tracks)?.name == "b" && tracks.last?.name == "c" && tracks.reversed().map(\.name) == ["c", "b", "a"])
        #expect(tracks.indices == 0..<3 && tracks["c"]?.name == "c" && tracks["d"] == nil)
    }
}
