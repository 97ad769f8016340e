import PeerTestSupport
import RTCBase
import RTCTransport
import RTCWire
import Testing

// Consent checks on the wire, between two agents over loopback: the answers go through libnice.
extension ICEAgentTests {
    private static let transactions = (1...3).map { STUNTransaction(high: UInt32($0), low: UInt64($0) << 40) }

    private func connected(_ address: String, bothControl: Bool = false) async throws -> ICEHarness {
        let harness = ICEHarness()
        try await harness.run {
            try $0.connect({ $0.localAddresses = [address] }) {
                $0.localAddresses = [address]
                if bothControl { $0.isControlling = true }
            }
        }
        #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) })
        return harness
    }

    @Test("ICE-07 the peer answers our consent checks and the answers reach us, from both roles", arguments: ["127.0.0.1", "::1"])
    func consentAnswered(address: String) async throws {
        let harness = try await connected(address)
        #expect(await harness.pairsSelected[.a] ?? 0 > 0)
        #expect(await harness.pairsSelected[.b] ?? 0 > 0)
        for side in [ICEHarness.Side.a, .b] {
            for transaction in Self.transactions {
                #expect(await harness.run { $0.agents[side]?.sendCheck(transaction) } == true)
            }
            #expect(await harness.wait { $0.answers[side]?.count == 3 })
            #expect(await harness.answers[side] == Self.transactions)
        }
        for side in [ICEHarness.Side.a, .b] {
            #expect(await harness.run { $0.agents[side]?.drops[.unknownDatagram] } == 0)
            #expect(await harness.datagrams[side] == [], "STUN must not reach the media path")
        }
        await harness.closeAll()
    }

    @Test("ICE-05 after a role conflict the checks say the role that was settled, and are answered")
    func consentAfterConflict() async throws {
        let harness = try await connected("127.0.0.1", bothControl: true)
        let roles = await harness.run { [$0.agents[.a]?.isControlling, $0.agents[.b]?.isControlling] }
        #expect(roles == [true, false] || roles == [false, true], "\(roles)")
        for side in [ICEHarness.Side.a, .b] {
            #expect(await harness.run { $0.agents[side]?.sendCheck(Self.transactions[0]) } == true)
            #expect(await harness.wait { $0.answers[side]?.count == 1 })
        }
        await harness.closeAll()
    }

    @Test("ICE-07 only a success response with a right MESSAGE-INTEGRITY is an answer")
    func consentForged() async throws {
        let harness = try await connected("127.0.0.1")
        let password = await harness.run { $0.agents[.b]?.localPassword } ?? ""
        let transaction = [UInt8](repeating: 9, count: 12)
        func response(type: UInt16 = 0x0101, _ attributes: [STUNPeer.Attribute]) -> [UInt8] {
            STUNPeer.message(type: type, transaction: transaction, [.mappedAddress(port: 9)] + attributes)
        }
        var cut = response([.integrity(password: password), .fingerprint])
        cut.removeLast(4)
        let forged = [
            response([.fingerprint]), response([.integrity(password: "a password of somebody else"), .fingerprint]),
            response(type: 0x0111, [.integrity(password: password), .fingerprint]), cut,
        ]
        for bytes in forged { #expect(await harness.send(.b, bytes)) }
        // In order behind them: a real one, whose transaction the machine above would refuse.
        #expect(await harness.send(.b, response([.integrity(password: password), .fingerprint])))
        #expect(await harness.wait { $0.answers[.a]?.isEmpty == false })
        #expect(await harness.answers[.a] == [STUNTransaction(high: 0x0909_0909, low: 0x0909_0909_0909_0909)])
        #expect(await harness.run { $0.agents[.a]?.drops[.unknownDatagram] } == UInt64(forged.count))
        #expect(await harness.datagrams[.a] == [])
        await harness.closeAll()
    }

    @Test("no check without a pair, and none after the end")
    func consentWithoutPair() async throws {
        let harness = ICEHarness()
        let sent = try await harness.run { harness in
            try harness.make(.a) { $0.localAddresses = ["127.0.0.1"] }
            guard let agent = harness.agents[.a] else { return true }
            let before = agent.sendCheck(Self.transactions[0])
            agent.setRemote(usernameFragment: "peer", password: "peer-password-of-22-chars")
            try agent.startGathering()
            let unpaired = agent.sendCheck(Self.transactions[0])
            agent.close()
            return before || unpaired || agent.sendCheck(Self.transactions[0])
        }
        #expect(!sent)
        await harness.closeAll()
    }
}
