import Foundation
import PeerTestSupport
import RTCBase
import RTCPeer
import Synchronization
import Testing

@testable import Reactor

/// The rules of api.md whose check is that something compiles: each test uses the thing as the rule says, and looks at what came
/// of it. Warnings are errors in this target.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(1))) struct CompileRuleTests {
    private func makeClient() throws -> Reactor { try Reactor(model: "owner/name", apiURL: "http://127.0.0.1:1", local: true) }

    /// A client that believes to know its session's tracks.
    private func makeDeclaredClient() throws -> Reactor {
        let client = try makeClient()
        client.state.write {
            $0.declarations = [
                TrackDeclaration(name: "webcam", kind: .video, direction: .sendonly),
                TrackDeclaration(name: "mic", kind: .audio, direction: .sendonly),
                TrackDeclaration(name: "main_video", kind: .video, direction: .recvonly),
                TrackDeclaration(name: "main_audio", kind: .audio, direction: .recvonly),
            ]
        }
        return client
    }

    // MARK: Commands

    @Test("R-37, R-40 a dictionary literal works as the payload, and the result may be ignored")
    func literalAndIgnoredResult() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        try await client.sendCommand("echo", ["prompt": "a lake", "strength": 0.5, "tags": ["a", 1, true, nil], "size": ["w": 4]])
        try await client.sendCommand("echo", arguments: ["n": 1])
        let first = try await runtime.peer.run { core in core.messages.filter { $0.channel == "data" }.map(\.bytes) }
        #expect(first.count == 2)
        let reply = try await client.sendCommand(
            "echo", ["prompt": "a lake", "strength": 0.5, "tags": ["a", 1, true, nil], "size": ["w": 4]])
        let spelled: JSONValue = .object([
            "prompt": .string("a lake"), "strength": .number(0.5),
            "tags": .array([.string("a"), .number(1), .bool(true), .null]), "size": .object(["w": .number(4)]),
        ])
        #expect(reply?.data == spelled)
        try await client.disconnect()
    }

    // MARK: Tracks

    @Test("R-59 track(name) is the way to push, to receive and to pause")
    func trackIsTheWay() async throws {
        let client = try makeDeclaredClient()
        // No session is there, so each of them is refused by the track, which is how far it has to get.
        #expect(await failure { try await client.track("main_video").pause() }?.operation == "pause_track")
        #expect(await failure { try await client.track("main_video").resume() }?.operation == "resume_track")
        #expect(await failure { try client.track("webcam").pushFrame(Data(count: 16), width: 2, height: 2) }?.code == .invalidState)
        #expect(await failure { try client.track("mic").pushFrame([0, 0]) }?.code == .invalidState)
        #expect(await failure { try await client.track("webcam").publish() }?.code == .invalidState)
        let subscription = try client.track("main_video").onFrame { (_: VideoFrame) in }
        subscription.cancel()
    }

    @Test("R-71 there is no frame event on the client: neither a method nor a case of its events")
    func noFrameEvent() throws {
        let client = try makeClient()
        // A method of the client itself would be taken before the one of the protocol's extension.
        #expect(client.onFrame { _ in } == NoFrameEvent())
        #expect(client.onRawFrame { _ in } == NoFrameEvent())
        // Without a default: a new case does not compile before it is looked at here.
        func isFrame(_ event: ReactorEvent) -> Bool {
            switch event {
            case .status, .sessionID, .tracks, .trackReceived, .message, .runtimeMessage, .error: false
            }
        }
        #expect(!isFrame(.message("x")))
    }

    @Test("T-2 a track comes from track(name) or from tracks, and is the same one")
    func whereTracksComeFrom() throws {
        let client = try makeDeclaredClient()
        let named: Track = try client.track("main_video")
        let listed: Track = try #require(client.tracks.first { $0.name == "main_video" })
        #expect(named === listed)
        #expect(client.tracks["main_video"] === named)
    }

    @Test("T-3 one type serves both directions and both kinds")
    func oneType() throws {
        let client = try makeDeclaredClient()
        let all: [Track] = Array(client.tracks)
        let seen = Set(all.map { "\($0.kind?.rawValue ?? "") \($0.direction?.rawValue ?? "")" })
        #expect(seen == ["video sendonly", "audio sendonly", "video recvonly", "audio recvonly"])
        // What sends and what receives is on each of them, and says which it is not.
        for track in all {
            #expect(throws: ReactorError.self) { try track.pushFrame(Data(count: 16), width: 2, height: 2) }
            #expect(throws: ReactorError.self) { try track.pushFrame([0]) }
        }
    }

    @Test("T-7 a name cannot be written, and is the same when the session is over")
    func nameIsConstant() throws {
        let client = try makeDeclaredClient()
        let track = try client.track("main_video")
        let path: PartialKeyPath<Track> = \Track.name
        #expect(!(path is ReferenceWritableKeyPath<Track, String>))
        client.state.write { $0.declarations = [] }
        #expect(track.name == "main_video")
        client.close()
        #expect(track.name == "main_video")
    }

    @Test("T-44 a list of tracks is a random-access collection")
    func randomAccess() throws {
        func ends<List: RandomAccessCollection<Track>>(_ list: List) -> [String] {
            let last = list.index(list.endIndex, offsetBy: -1)
            return [list[list.startIndex].name, list[last].name, "\(list.distance(from: list.startIndex, to: list.endIndex))"]
        }
        let tracks = try makeDeclaredClient().tracks
        #expect(ends(tracks) == ["webcam", "main_audio", "4"])
        #expect(tracks.reversed().map(\.name) == ["main_audio", "main_video", "mic", "webcam"])
        #expect(ends(tracks[1...2]) == ["mic", "main_video", "2"])
    }

    // MARK: Raw frames

    @Test("T-38, T-32 a raw frame has the fields of a frame, borrowed: its pixels are the picture's own memory")
    func rawFrame() async throws {
        let client = try makeDeclaredClient()
        let track = try client.track("main_video")
        let seen = Mutex<(frame: VideoFrame, address: UInt)?>(nil)
        let subscription = try track.onRawFrame { (raw: borrowing RawVideoFrame) in
            let pixels: UnsafeRawBufferPointer = raw.pixels
            let userData: UnsafeRawBufferPointer? = raw.userData
            let copy = VideoFrame(
                trackName: raw.trackName, pixels: Data(pixels), width: raw.width, height: raw.height, frameID: raw.frameID,
                captureTimeUs: raw.captureTimeUs, userData: userData.map { Data($0) })
            let address = UInt(bitPattern: pixels.baseAddress)
            seen.withLock { if $0 == nil { $0 = (copy, address) } }
        }
        let picture = picture(7)
        #expect(
            await eventually {
                track.remote.deliver(picture)
                return seen.withLock { $0 != nil }
            })
        let (frame, address) = try #require(seen.withLock { $0 })
        #expect(frame.trackName == "main_video" && frame.width == 4 && frame.height == 2)
        #expect(frame.frameID == 7 && frame.captureTimeUs == 12_345 && frame.userData == Data("tag".utf8))
        #expect(frame.pixels == Data(repeating: 255, count: 32))
        #expect(address == UInt(bitPattern: picture.bgra()?.buffer.baseAddress))
        subscription.cancel()
        withExtendedLifetime(client) {}
    }

    @Test("T-32 raw frames come on the thread of the track's other handlers, and a handler that blocks gets the newest next")
    func rawBackpressure() async throws {
        let client = try makeDeclaredClient()
        let track = try client.track("main_video")
        let gate = DispatchSemaphore(value: 0)
        let numbers = Mutex<[UInt64]>([])
        let threads = Mutex<[String: Set<UInt>]>([:])
        @Sendable func note(_ handler: String) { threads.withLock { _ = $0[handler, default: []].insert(UInt(pthread_self())) } }
        let raw = try track.onRawFrame { frame in
            note("raw")
            let isFirst = numbers.withLock { numbers in
                numbers.append(frame.frameID)
                return numbers.count == 1
            }
            if isFirst { gate.wait() }
        }
        // Until the handler is at its place; it then holds the thread.
        #expect(
            await eventually {
                track.remote.deliver(picture(1))
                return numbers.withLock { $0 } == [1]
            })
        for number: UInt64 in 2...9 { track.remote.deliver(picture(number)) }
        gate.signal()
        #expect(await eventually { numbers.withLock { $0.count } == 2 })
        #expect(numbers.withLock { $0 } == [1, 9])
        let other = try track.onFrame { (_: VideoFrame) in note("kept") }
        #expect(
            await eventually {
                track.remote.deliver(picture(10))
                return threads.withLock { $0["kept"] != nil }
            })
        #expect(threads.withLock { $0["raw"] == $0["kept"] && $0["raw"]?.count == 1 })
        raw.cancel()
        other.cancel()
        withExtendedLifetime(client) {}
    }

    /// White, with a number and user data.
    private func picture(_ number: UInt64) -> DecodedPicture {
        let pool = FrameBufferPool()
        var planes = PlanarFrame(width: 4, height: 2, pool: pool)
        planes.planeY.update(repeating: 235, count: planes.strideY * 2)
        planes.planeU.update(repeating: 128, count: planes.strideU)
        planes.planeV.update(repeating: 128, count: planes.strideV)
        planes.metadata = FrameMetadata(frameID: number, captureTimeMicros: 12_345, userData: FrameUserData(Array("tag".utf8)))
        return DecodedPicture(planes: planes, pool: pool)
    }
}

/// What `onFrame` and `onRawFrame` on a client give as long as the client has none of its own.
private struct NoFrameEvent: Equatable {}
private protocol HasNoFrameEvent {}
extension HasNoFrameEvent {
    fileprivate func onFrame(_ handler: @Sendable (VideoFrame) -> Void) -> NoFrameEvent { NoFrameEvent() }
    fileprivate func onRawFrame(_ handler: @Sendable (borrowing RawVideoFrame) -> Void) -> NoFrameEvent { NoFrameEvent() }
}
extension Reactor: HasNoFrameEvent {}
