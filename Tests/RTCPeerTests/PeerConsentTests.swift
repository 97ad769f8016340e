import PeerTestSupport
import RTCBase
import RTCPeer
import Synchronization
import Testing

/// Consent freshness of a whole connection: everything but some STUN passes between the two.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(1))) struct PeerConsentTests {
    /// A call through a relay, with checks every 100 to 150 ms and media from the peer all the time.
    private func call(through relay: DatagramRelay, expiryMilliseconds: Int64) async throws -> PeerCall {
        var options = AnsweringCore.Options()
        options.localAddresses = ["127.0.0.1"]
        let call = try await PeerCall(
            options: options,
            // The peer learns our address from our checks, which come through the relay.
            editOffer: { $0.replacing(#/a=candidate:[^\r\n]*\r\n/#, with: "") },
            edit: { answer in
                answer.replacing(#/ 127\.0\.0\.1 (\d+) typ host/#) { " 127.0.0.1 \(relay.port(for: UInt16($0.output.1) ?? 0)) typ host" }
            },
            configure: {
                $0.consentIntervalMilliseconds = 100...150
                $0.consentExpiryMilliseconds = expiryMilliseconds
            })
        try #require(await call.waitUntilOpen())
        let video = try TestVideo()
        await call.peer.run { $0.startVideo(mid: PeerCall.videoMid, video, everyMilliseconds: 30) }
        return call
    }

    @Test("ICE-09 a peer whose packets arrive while ours no longer reach it: lost as a transport failure, well before 10 s")
    func unheard() async throws {
        let relay = DatagramRelay()
        defer { relay.stop() }
        let call = try await call(through: relay, expiryMilliseconds: 30_000)
        let before = await call.connection.statistics.packetsReceived
        let began = NetworkThread.now()
        relay.block { toServer, _ in toServer }
        #expect(await eventually(within: 12) { !call.events.losses.isEmpty })
        let loss = try #require(call.events.losses.first)
        #expect(loss.loss.cause == .transport)
        #expect((4500...8500).contains(loss.time.milliseconds(since: began)))
        #expect(await call.connection.statistics.packetsReceived > before + 50, "the peer went on sending")
        await call.end()
    }

    private static func isResponse(_ datagram: [UInt8]) -> Bool { datagram.starts(with: [0x01, 0x01]) }

    @Test("ICE-07 checks are answered while media flows, and every second one lost is harmless")
    func answered() async throws {
        let relay = DatagramRelay()
        defer { relay.stop() }
        let call = try await call(through: relay, expiryMilliseconds: 2000)
        #expect(await eventually { await call.connection.statistics.consentAnswers >= 5 })
        let before = await call.connection.statistics
        #expect(before.drops[.unknownDatagram] == 0)
        let passed = Atomic<Int>(0)
        relay.block { toServer, datagram in
            !toServer && Self.isResponse(datagram) && passed.add(1, ordering: .relaxed).newValue % 2 == 0
        }
        #expect(await eventually(within: 10) { await call.connection.statistics.consentAnswers >= before.consentAnswers + 10 })
        let after = await call.connection.statistics
        #expect(after.consentChecksSent - before.consentChecksSent > after.consentAnswers - before.consentAnswers)
        #expect(after.isConnected && call.events.losses.isEmpty)
        #expect(after.localAddress == "127.0.0.1" && after.remoteAddress == "127.0.0.1")
        await call.end()
    }

    @Test("ICE-07 a peer that sends but answers no check: lost as a transport failure at the expiry, and nothing is sent any more")
    func expired() async throws {
        let relay = DatagramRelay()
        defer { relay.stop() }
        let call = try await call(through: relay, expiryMilliseconds: 1000)
        #expect(await eventually { await call.connection.statistics.consentAnswers >= 2 })
        let began = NetworkThread.now()
        relay.block { toServer, datagram in !toServer && Self.isResponse(datagram) }
        #expect(await eventually { !call.events.losses.isEmpty })
        let loss = try #require(call.events.losses.first)
        #expect(loss.loss.cause == .transport)
        // The last answer was at most a check's interval and a round trip before `began`.
        #expect((750...3000).contains(loss.time.milliseconds(since: began)))
        let lost = await call.connection.statistics
        #expect(!lost.isConnected)
        // RFC 7675 §5.1: transmission ends at once; the peer still sends, and its packets still arrive.
        #expect(await eventually { await call.connection.statistics.packetsReceived > lost.packetsReceived + 20 })
        try? await call.connection.send([1], channel: "data")
        #expect(await call.connection.statistics.packetsSent == lost.packetsSent)
        #expect(call.events.losses.count == 1)
        await call.end()
    }
}
