import RTCBase
import RTCPeer
import Testing

@testable import Reactor

@Suite struct ClientStateTests {
    @Test("X-11 one track object per name")
    func sameObject() {
        let state = ClientState(hub: EventHub(queue: nil))
        #expect(state.track(named: "a") === state.track(named: "a"))
        #expect(state.track(named: "a") != state.track(named: "b"))
        state.finishTracks()
    }

    @Test("LEAK-01 a track asked for after the end keeps nothing alive and ends its sequences", .timeLimit(.minutes(1)))
    func noCycleAfterTheEnd() async {
        var state: ClientState? = ClientState(hub: EventHub(queue: nil))
        weak let observed = state
        state?.finishTracks()
        let consumer = state?.track(named: "late").remote.addVideoConsumer()
        #expect(await consumer?.next() == nil)
        state = nil
        #expect(observed == nil)
    }

    @Test("T-42, T-43, T-45 lists keep the order, filter in any order, and one() says why not")
    func lists() throws {
        let state = ClientState(hub: EventHub(queue: nil))
        state.write {
            $0.declarations = [
                TrackDeclaration(name: "webcam", kind: .video, direction: .sendonly),
                TrackDeclaration(name: "main_video", kind: .video, direction: .recvonly),
                TrackDeclaration(name: "main_audio", kind: .audio, direction: .recvonly),
                TrackDeclaration(name: "depth", kind: .video, direction: .recvonly),
            ]
        }
        let all = TrackList(state.declaredTracks)
        #expect(all.map(\.name) == ["webcam", "main_video", "main_audio", "depth"])
        let one = all.withKind(.video).withDirection(.recvonly)
        let other = all.withDirection(.recvonly).withKind(.video)
        #expect(one.map(\.name) == ["main_video", "depth"])
        #expect(Array(one) == Array(other))
        #expect(try all.withKind(.audio).one().name == "main_audio")
        #expect(all["depth"]?.name == "depth")
        #expect(all["none"] == nil)
        let several = #expect(throws: ReactorError.self) { try one.one() }
        #expect(several?.code == .conflict)
        #expect(several?.message.contains("main_video, depth") == true)
        let none = #expect(throws: ReactorError.self) { try all.withKind(.audio).withDirection(.sendonly).one() }
        #expect(none?.code == .notFound)
        state.finishTracks()
    }
}
