import PeerTestSupport
import RTCBase
import RTCWire
import Testing

@testable import RTCTransport

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
                #expect(await harness.run { $0.agents[side]?.sendCheck(transaction) } == .sent)
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

    @Test("ICE-05 after a role conflict one end has one check refused, then the checks of both are answered")
    func consentAfterConflict() async throws {
        let harness = try await connected("127.0.0.1", bothControl: true)
        func claims() async -> [Bool?] {
            await harness.run { [$0.agents[.a]?.consent.isControlling, $0.agents[.b]?.consent.isControlling] }
        }
        #expect(await claims() == [true, true])
        for side in [ICEHarness.Side.a, .b] {
            #expect(await harness.run { $0.agents[side]?.sendCheck(Self.transactions[0]) } == .sent)
        }
        #expect(await eventually { await claims() != [true, true] })
        #expect(await claims() != [false, false])
        for side in [ICEHarness.Side.a, .b] {
            #expect(await harness.run { $0.agents[side]?.sendCheck(Self.transactions[1]) } == .sent)
            #expect(await harness.wait { $0.answers[side]?.last == Self.transactions[1] })
        }
        let counts = await harness.run { [$0.answers[.a]?.count, $0.answers[.b]?.count] }
        #expect(counts == [1, 2] || counts == [2, 1], "\(counts)")
        await harness.closeAll()
    }

    @Test("ICE-07 only a success response with a right MESSAGE-INTEGRITY is an answer")
    func consentForged() async throws {
        let harness = try await connected("127.0.0.1")
        let password = await harness.run { $0.agents[.b]?.localPassword } ?? ""
        let transaction = Self.transactions[0]
        #expect(await harness.run { $0.agents[.a]?.sendCheck(transaction) } == .sent)
        #expect(await harness.wait { $0.answers[.a] == [transaction] })
        func response(type: UInt16 = 0x0101, _ attributes: [STUNPeer.Attribute]) -> [UInt8] {
            STUNPeer.message(type: type, transaction: transaction.bytes, [.mappedAddress(port: 9)] + attributes)
        }
        let forged = [
            response([.fingerprint]), response([.integrity(password: "a password of somebody else"), .fingerprint]),
            response([.integrity(password: password)]), response(type: 0x0111, [.integrity(password: password), .fingerprint]),
            Array(response([.integrity(password: password), .fingerprint]).dropLast(4)),
        ]
        for bytes in forged { #expect(await harness.send(.b, bytes)) }
        // In order behind them: a real one, which the machine above would refuse as a second answer.
        #expect(await harness.send(.b, response([.integrity(password: password), .fingerprint])))
        #expect(await harness.wait { $0.answers[.a]?.count == 2 })
        #expect(await harness.answers[.a] == [transaction, transaction])
        #expect(await harness.run { $0.agents[.a]?.drops[.unknownDatagram] } == UInt64(forged.count))
        #expect(await harness.datagrams[.a] == [])
        await harness.closeAll()
    }

    @Test("datagrams of every length, down to one byte, pass a socket that waits for answers")
    func consentAndShortDatagrams() async throws {
        let harness = try await connected("127.0.0.1")
        #expect(await harness.run { $0.agents[.a]?.sendCheck(Self.transactions[0]) } == .sent)
        #expect(await harness.wait { $0.answers[.a]?.count == 1 })
        let datagrams = [1, 2, 3, 4, 19, 20, 27, 28, 29, 44, 1200].map { [UInt8](repeating: 0x90, count: $0) }
        for datagram in datagrams { #expect(await harness.send(.b, datagram)) }
        #expect(await harness.wait { $0.datagrams[.a]?.count == datagrams.count })
        #expect(await harness.datagrams[.a] == datagrams)
        await harness.closeAll()
    }

    @Test("no check without a pair, and none after the end")
    func consentWithoutPair() async throws {
        let harness = ICEHarness()
        let sent = try await harness.run { harness in
            try harness.make(.a) { $0.localAddresses = ["127.0.0.1"] }
            guard let agent = harness.agents[.a] else { return [ICEAgent.CheckOutcome]() }
            let before = agent.sendCheck(Self.transactions[0])
            agent.setRemote(usernameFragment: "peer", password: "peer-password-of-22-chars")
            try agent.startGathering()
            let unpaired = agent.sendCheck(Self.transactions[0])
            agent.close()
            return [before, unpaired, agent.sendCheck(Self.transactions[0])]
        }
        #expect(sent == [.notSent, .notSent, .notSent])
        await harness.closeAll()
    }
}
