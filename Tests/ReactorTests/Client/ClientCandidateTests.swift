import PeerTestSupport
import Testing

@testable import Reactor

/// What of our own candidates reaches the server, and when.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ClientCandidateTests {
    @Test("ICE-11 a late connection id: candidates are not lost, none leaves before the offer, and the final marker goes out once")
    func lateRegistration() async throws {
        let runtime = try FakeRuntime {
            $0.override = { request in
                guard request.method == "POST", request.path.hasSuffix("/connections") else { return nil }
                return [.pause(milliseconds: 500), .reply(201, #"{"connection_id":5042}"#)]
            }
        }
        let client = try runtime.client()
        try await client.connect()
        let isFinal = { (request: ScriptedServer.Request) in
            request.path.hasSuffix("ice_candidates") && String(decoding: request.body, as: UTF8.self).contains(#""is_final":true"#)
        }
        #expect(await eventually { runtime.server.requests.contains(where: isFinal) })
        let requests = runtime.server.requests
        let offer = try #require(requests.firstIndex { $0.method == "POST" && $0.path.hasSuffix("sdp_params") })
        #expect(requests[offer].path.contains("/5042/"))
        // The host addresses were gathered half a second before there was an id: they are in the offer.
        #expect(String(decoding: requests[offer].body, as: UTF8.self).contains("a=candidate:"))
        let early = requests[..<offer].filter { $0.path.hasSuffix("ice_candidates") }
        #expect(early.isEmpty)
        try await client.disconnect()
        #expect(runtime.server.requests.count(where: isFinal) == 1)
    }
}
