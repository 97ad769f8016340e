import PeerTestSupport
import RTCBase
import RTCPeer
import ReactorCore
import Testing

@testable import Reactor

/// the limits that the platform's clients share. Each is looked at where it is used, so that no test has to wait for one.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(1))) struct TimeLimitRuleTests {
    @Test("X-16 30 s until ready, 30 s for the token exchange, 10 s for every control request, clips among them")
    func limits() throws {
        #expect(SessionEngine.readinessSeconds == 30)
        #expect(APIClient.Limits().create == .seconds(30))
        let second: Int64 = 1_000_000_000
        for call in [PendingCall.schema, .publish(track: "t"), .clip, .recording, .command(type: "c")] {
            var correlator = RequestCorrelator<Int>(channel: .control)
            _ = try correlator.register(call, waiter: 1, nowNanoseconds: 5 * second)
            #expect(correlator.nextDeadline() == 15 * second, "\(call)")
            #expect(correlator.takeExpired(nowNanoseconds: 15 * second - 1).isEmpty)
            #expect(correlator.takeExpired(nowNanoseconds: 15 * second).count == 1)
        }
    }

    @Test("X-16 the token exchange ends at its limit under a server that says nothing")
    func tokenExchange() async throws {
        let server = try ScriptedServer(.silence)
        var api = APIClient(endpoint: try APIEndpoint(apiURL: server.url, local: false), operation: .fetchJWT)
        api.limits.create = .milliseconds(100)
        let client = CoordinatorClient(api: api, clientInfo: .swift)
        #expect(await failure { try await client.fetchToken(apiKey: "rk_1", body: TokenRequestBody()) }?.code == .requestTimeout)
    }

    @Test("X-16 when ready a ping goes out at once, and the next is due 10 s later; out of ready none is")
    func ping() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let begin = NetworkThread.now()
        try await client.connect()
        let due = try #require(await client.engine.nextPing)
        #expect(due >= begin.adding(milliseconds: 10_000))
        #expect(due <= NetworkThread.now().adding(milliseconds: 10_000))
        #expect(await eventually { runtime.control.last == "ping" })
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { client.status == .disconnected })
        #expect(await client.engine.nextPing == nil)
        client.close()
    }
}
