import Foundation
import Glibc
import PeerTestSupport
import RTCBase
import RTCTransport
import Testing

extension ICEAgentTests {
    @Test(
        "a relay-only agent tells only its relay, connects through it and gives everything back",
        .enabled(if: TURNServer.isInstalled, "coturn is not installed"), arguments: [RelayTransport.udp, .tcp])
    func relay(transport: RelayTransport) async throws {
        let server = try TURNServer()
        defer { server.stop() }
        let silent = TestSocket()
        let silentPort = silent.port
        let before = openSocketCount()
        let harness = ICEHarness()
        let url = "turn:127.0.0.1:\(server.port)?transport=\(transport.rawValue)"
        try await harness.run {
            try $0.connect(
                {
                    $0.localAddresses = ["127.0.0.1"]
                    $0.relayOnly = true
                    // Each with its own credentials (ICE-19); the first never answers.
                    $0.servers = [
                        ICEServer(url: "turn:127.0.0.1:\(silentPort)", username: "other", credential: "wrong"),
                        ICEServer(url: url, username: TURNServer.user, credential: TURNServer.password),
                    ]
                }, { $0.localAddresses = ["127.0.0.1"] })
        }
        #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) })
        let lines = await harness.candidates[.a] ?? []
        #expect(!lines.isEmpty && lines.allSatisfy { $0.contains(" typ relay") })
        let pair = await harness.run { $0.agents[.a]?.selectedPair() }
        #expect(pair?.localType == .relayed)
        #expect(pair?.relayProtocol == transport)
        for i in 0..<50 {
            #expect(await harness.send(.a, [0xFF, UInt8(i)]))
            #expect(await harness.send(.b, [0xFE, UInt8(i)]))
        }
        #expect(await harness.wait { $0.datagrams[.a]?.count == 50 && $0.datagrams[.b]?.count == 50 })
        await harness.closeAll()
        #expect(await eventually { openSocketCount() <= before })
    }

    @Test("a relay beside host candidates does not delay them", .enabled(if: TURNServer.isInstalled, "coturn is not installed"))
    func relayBeside() async throws {
        let server = try TURNServer()
        defer { server.stop() }
        let harness = ICEHarness()
        let started = NetworkExecutor.now()
        try await harness.run {
            try $0.connect(
                {
                    $0.localAddresses = ["127.0.0.1"]
                    $0.servers = [
                        ICEServer(url: "stun:127.0.0.1:\(server.port)"),
                        ICEServer(url: "turn:127.0.0.1:\(server.port)", username: TURNServer.user, credential: TURNServer.password),
                    ]
                }, { $0.localAddresses = ["127.0.0.1"] })
        }
        #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) })
        #expect(NetworkExecutor.now().milliseconds(since: started) < 500)
        #expect(await harness.wait { ($0.candidates[.a] ?? []).contains { $0.contains(" typ relay") } && $0.gatheringDone.contains(.a) })
        #expect(NetworkExecutor.now().milliseconds(since: started) < 2000)
        #expect(await harness.run { $0.agents[.a]?.selectedPair()?.localType } == .host)
        let closing = NetworkExecutor.now()
        await harness.closeAll()
        #expect(NetworkExecutor.now().milliseconds(since: closing) < 300, "the relay's answer ends the close")
    }

    @Test(
        "a relay that refuses the credentials ends the gathering without a candidate",
        .enabled(if: TURNServer.isInstalled, "coturn is not installed"))
    func wrongCredentials() async throws {
        let server = try TURNServer()
        defer { server.stop() }
        let harness = ICEHarness()
        try await harness.run { harness in
            try harness.make(.a) {
                $0.localAddresses = ["127.0.0.1"]
                $0.relayOnly = true
                $0.servers = [ICEServer(url: "turn:127.0.0.1:\(server.port)", username: TURNServer.user, credential: "wrong")]
            }
            try harness.agents[.a]?.startGathering()
        }
        #expect(await harness.wait(seconds: 11) { $0.gatheringDone.contains(.a) })
        #expect(await harness.candidates[.a] == [])
        await harness.closeAll()
    }

    @Test("a relay that dies takes at most half a second of the close", .enabled(if: TURNServer.isInstalled, "coturn is not installed"))
    func deadRelayClose() async throws {
        let server = try TURNServer()
        let harness = ICEHarness()
        try await harness.run { harness in
            try harness.make(.a) {
                $0.localAddresses = ["127.0.0.1"]
                $0.servers = [ICEServer(url: "turn:127.0.0.1:\(server.port)", username: TURNServer.user, credential: TURNServer.password)]
            }
            try harness.agents[.a]?.startGathering()
        }
        #expect(await harness.wait { $0.gatheringDone.contains(.a) })
        server.stop()
        let started = NetworkExecutor.now()
        await harness.closeAll()
        #expect(NetworkExecutor.now().milliseconds(since: started) < 1000)
    }
}
