import Glibc
import RTCBase
import RTCTransport
import Testing

// OpenSSL reads the real clock, so the tests of retransmission wait for real; the first timer is 50 ms.

@Suite("DTLSConnection")
struct DTLSConnectionTests {
    @Test("RFC 5764 both ends get the same keys and the best common profile")
    func handshake() throws {
        let pair = try DTLSPair()
        pair.run()
        let client = try #require(pair.client.keys)
        let server = try #require(pair.server.keys)
        #expect(client.profile == .aeadAES128GCM)
        #expect(client.clientKey == server.clientKey && client.serverKey == server.serverKey)
        #expect(client.clientKey != client.serverKey)
        #expect(client.isClient && !server.isClient)

        let session = try SRTPSession(keys: client)
        let peer = try SRTPSession(keys: server)
        var packet: [UInt8] = [0x80, 96, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 1, 2, 3, 4] + [UInt8](repeating: 0, count: 16)
        let count = try #require(packet.withUnsafeMutableBytes { session.protect($0, count: 16, isRTCP: false) })
        let result = packet.withUnsafeMutableBytes { peer.unprotect(UnsafeMutableRawBufferPointer(rebasing: $0[..<count]), isRTCP: false) }
        #expect(result == .success(16))
    }

    @Test(
        "SRTP-08 use_srtp lists in different orders",
        arguments: [
            ([SRTPProfile.aes128CMSHA1_80], SRTPProfile.preferred, SRTPProfile.aes128CMSHA1_80),
            (SRTPProfile.preferred, [.aes128CMSHA1_80], .aes128CMSHA1_80),
            ([.aeadAES256GCM, .aes128CMSHA1_80], SRTPProfile.preferred, .aeadAES256GCM),
            ([.aes128CMSHA1_80, .aeadAES256GCM, .aeadAES128GCM], SRTPProfile.preferred, .aeadAES128GCM),
        ])
    func profiles(client: [SRTPProfile], server: [SRTPProfile], chosen: SRTPProfile) throws {
        let pair = try DTLSPair(clientProfiles: client, serverProfiles: server)
        pair.run()
        let keys = try #require(pair.client.keys)
        #expect(keys.profile == chosen)
        #expect(pair.server.keys?.profile == chosen)
        #expect(keys.clientKey.count == chosen.keyCount + chosen.saltCount)
        #expect(keys.clientKey == pair.server.keys?.clientKey)
    }

    @Test("SRTP-08 no profile in common is a typed failure on both ends")
    func noCommonProfile() throws {
        let pair = try DTLSPair(clientProfiles: [.aeadAES256GCM], serverProfiles: [.aeadAES128GCM])
        pair.run()
        #expect(pair.client.keys == nil && pair.server.keys == nil)
        #expect(pair.client.closedKinds.contains(.srtpFailed) || pair.server.closedKinds.contains(.srtpFailed))
        #expect(pair.client.closed.count == 1 && pair.server.closed.count == 1)
    }

    @Test("application data goes both ways, one record per datagram, only after the connection")
    func applicationData() throws {
        let pair = try DTLSPair()
        #expect(!pair.client.send([1, 2, 3]), "nothing is sent before the handshake")
        pair.run()
        #expect(pair.client.send([1, 2, 3]))
        #expect(pair.server.send([UInt8](repeating: 9, count: 1160)))
        #expect(pair.server.outgoing.last?.count ?? 0 <= 1200, "a full SCTP packet stays below the MTU")
        pair.deliverAll()
        #expect(pair.server.received == [[1, 2, 3]])
        #expect(pair.client.received == [[UInt8](repeating: 9, count: 1160)])
        #expect(!pair.client.send([]))
        #expect(!pair.client.send([UInt8](repeating: 0, count: 20_000)))
    }

    @Test("DC-03 a datagram the path refuses is reported to the sender")
    func refusedDatagram() throws {
        let pair = try DTLSPair()
        pair.run()
        pair.client.refuses = true
        #expect(!pair.client.send([1]))
        pair.client.refuses = false
        #expect(pair.client.send([2]))
        pair.deliverAll()
        #expect(pair.server.received == [[2]])
    }

    @Test("RFC 8827 §6.5 a certificate with another fingerprint: no keys, no data, typed failure, peer told")
    func wrongFingerprint() throws {
        let other = try DTLSIdentity()
        let pair = try DTLSPair(serverFingerprint: ("sha-256", try #require(other.fingerprint())))
        pair.run()
        #expect(pair.client.keys == nil)
        #expect(pair.client.closedKinds == [.fingerprintMismatch])
        #expect(!pair.client.send([1]))
        #expect(pair.server.closed == [.peerClosed])
    }

    @Test("RFC 8122 §5 fingerprints with SHA-256, 384 and 512, in lower case too", arguments: ["sha-256", "sha-384", "sha-512", "SHA-256"])
    func fingerprintHashes(algorithm: String) throws {
        let identity = try DTLSIdentity()
        let value = try #require(identity.fingerprint(algorithm.lowercased()))
        let pair = try DTLSPair(serverIdentity: identity, serverFingerprint: (algorithm, value.lowercased()))
        pair.run()
        #expect(pair.client.keys != nil)
    }

    @Test("RFC 8122 §5 the strongest announced hash decides, and SHA-1 alone is refused")
    func weakFingerprints() throws {
        let identity = try DTLSIdentity()
        let good = try #require(identity.fingerprint("sha-256"))
        let wrong512 = try #require(try DTLSIdentity().fingerprint("sha-512"))
        let pair = try DTLSPair(serverIdentity: identity, serverFingerprint: ("sha-256", good), alsoExpected: [("sha-512", wrong512)])
        pair.run()
        #expect(pair.client.closedKinds == [.fingerprintMismatch])
        #expect(identity.fingerprint("sha-1") == nil)
        for value in ["AA:BB", "", "no hex"] {
            #expect(throws: TransportError.self) {
                try DTLSConnection(role: .client, identity: identity, expectedFingerprints: [("sha-1", value)])
            }
        }
    }

    @Test("DTLS-01 every datagram of a handshake with an RSA-4096 certificate is within the MTU", arguments: [1200, 600])
    func datagramSizes(mtu: Int) throws {
        let identity = try DTLSIdentity(key: .rsa4096)
        let pair = try DTLSPair(clientIdentity: identity, serverIdentity: identity, mtu: mtu)
        pair.run()
        #expect(pair.client.keys != nil && pair.server.keys != nil)
        let sizes = (pair.client.sent + pair.server.sent).map(\.count)
        #expect(sizes.allSatisfy { $0 <= mtu }, "\(sizes)")
        #expect(sizes.contains { $0 > mtu / 2 }, "the flight is cut by the MTU, not into crumbs: \(sizes)")
    }

    @Test("DTLS-12 a flight with a P-256 certificate fits into two datagrams")
    func flightSize() throws {
        let pair = try DTLSPair()
        pair.run()
        #expect(pair.server.sent.count <= 3, "server: hello to hello done, then finished")
        #expect(pair.client.sent.count <= 3, "client: hello, then certificate to finished")
    }

    @Test("DTLS-11 RTP, STUN and garbage between the handshake datagrams are dropped and counted")
    func foreignDatagrams() throws {
        let pair = try DTLSPair()
        var generator = SplitMix(seed: 11)
        pair.beforeEach = { end in
            for first in [0x80, 0x00, 0x45, 0xff] as [UInt8] {
                end.receive([first] + (0..<60).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
            }
            end.receive([])
        }
        pair.run()
        #expect(pair.client.keys != nil && pair.server.keys != nil)
        #expect(pair.client.connection.drops[.unknownDatagram] > 0)
    }

    @Test("RFC 6347 §4.1.2.7 damaged, repeated and cut records are dropped without a sound")
    func badRecords() throws {
        let pair = try DTLSPair()
        pair.run()
        #expect(pair.client.send([7, 7, 7]))
        let record = try #require(pair.client.outgoing.first)
        pair.client.outgoing.removeAll()
        for position in 13..<record.count {
            var damaged = record
            damaged[position] ^= 0x20
            pair.server.receive(damaged)
        }
        for count in 1..<record.count { pair.server.receive(Array(record[..<count])) }
        #expect(pair.server.received.isEmpty)
        pair.server.receive(record)
        pair.server.receive(record)
        #expect(pair.server.received == [[7, 7, 7]], "a replayed record is delivered once")
        #expect(pair.server.closed.isEmpty)
        #expect(pair.server.send([1]))
    }

    @Test("random records in and after the handshake never trap")
    func randomRecords() throws {
        var generator = SplitMix(seed: 99)
        let pair = try DTLSPair()
        pair.run()
        for _ in 0..<2000 {
            let count = Int.random(in: 1...200, using: &generator)
            var bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            bytes[0] = UInt8.random(in: 20...25, using: &generator)
            pair.server.receive(bytes)
        }
        #expect(pair.server.closed.isEmpty, "without the keys nobody ends an association")
        for _ in 0..<200 {
            let fresh = try DTLSPair()
            fresh.startBoth()
            var bytes = fresh.client.outgoing[0]
            for _ in 0..<3 {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: .min ... .max, using: &generator)
            }
            fresh.server.receive(bytes)
        }
    }

    @Test(
        "DTLS-14 lost first datagrams are repeated and the connection is made",
        arguments: [(1, 0), (2, 0), (3, 0), (0, 1), (0, 2), (0, 3), (2, 2)])
    func lostDatagrams(fromClient: Int, fromServer: Int) async throws {
        let pair = try DTLSPair()
        pair.client.toDrop = fromClient
        pair.server.toDrop = fromServer
        // Counted in timeouts, because a busy machine stretches real time: five are 1.6 s.
        let timeouts = await pair.runWithTimers(limit: 10)
        #expect(pair.client.keys != nil && pair.server.keys != nil)
        #expect((1...5).contains(timeouts), "\(timeouts) timeouts")
    }

    @Test("DTLS-14 retransmission starts at 50 ms and doubles up to one second")
    func timerSchedule() async throws {
        let pair = try DTLSPair()
        pair.client.toDrop = .max
        let start = NetworkExecutor.now()
        pair.client.connection.start(now: start)
        var waits: [Double] = []
        var last = start
        for _ in 0..<5 {
            let deadline = try #require(pair.client.connection.nextDeadline)
            waits.append(deadline.milliseconds(since: last))
            try await Task.sleep(for: deadline - NetworkExecutor.now())
            last = NetworkExecutor.now()
            pair.client.connection.handleTimeout(now: last)
        }
        for (wait, expected) in zip(waits, [50.0, 100, 200, 400, 800]) {
            // The library's clock may be read a while after ours.
            #expect(wait > expected / 2 - 15 && wait <= expected + 1, "\(waits)")
        }
        #expect(pair.client.sent.count == 6)
        pair.client.connection.close()
        #expect(pair.client.connection.nextDeadline == nil)
    }

    @Test("DTLS-06 close_notify of the peer ends the association at once, and is final")
    func peerCloses() throws {
        let pair = try DTLSPair()
        pair.run()
        pair.server.connection.close()
        pair.deliverAll()
        #expect(pair.client.closed == [.peerClosed])
        #expect(pair.server.closed.isEmpty, "no callback follows one's own close")
        #expect(!pair.client.send([1]))
        #expect(pair.client.connection.nextDeadline == nil)
    }

    @Test("DTLS-08 close_notify goes out a few times, so that losing two does not matter")
    func goodbyeUnderLoss() throws {
        let pair = try DTLSPair()
        pair.run()
        let before = pair.client.sent.count
        pair.client.connection.close()
        #expect((2...4).contains(pair.client.sent.count - before))
        pair.client.outgoing.removeFirst(2)
        pair.deliverAll()
        #expect(pair.server.closed == [.peerClosed])
        pair.client.connection.close()
        #expect(pair.client.sent.count - before <= 4, "closing again does nothing")
    }

    @Test("a fatal alert of the peer is a typed failure that names it")
    func fatalAlert() throws {
        let pair = try DTLSPair()
        pair.startBoth()
        // Unencrypted, as a peer without a common cipher sends it: handshake_failure (40), fatal.
        pair.client.receive([21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 40])
        #expect(pair.client.closedKinds == [.dtlsFailed])
        guard case .failed(let error) = try #require(pair.client.closed.first) else { return }
        #expect(error.message.contains("handshake failure"))
    }

    @Test("SW-06 closing from within any callback is safe", arguments: 0..<4)
    func closeInCallbacks(which: Int) throws {
        for _ in 0..<50 {
            let pair = try DTLSPair()
            let connection = pair.client.connection
            switch which {
            case 0: pair.client.atSend = { connection.close() }
            case 1: pair.client.atConnected = { connection.close() }
            case 2: pair.client.atData = { connection.close() }
            default: pair.client.atClosed = { connection.close() }
            }
            pair.run()
            _ = pair.server.send([1])
            _ = pair.client.send([1])
            if which == 3 { pair.server.connection.close() }
            pair.deliverAll()
            #expect(!pair.client.connection.isConnected)
            pair.client.clearHooks()
        }
    }
}

/// One end with what came out of it.
final class DTLSEnd {
    let connection: DTLSConnection
    var outgoing: [[UInt8]] = []
    var sent: [[UInt8]] = []
    var keys: SRTPKeys?
    var received: [[UInt8]] = []
    var closed: [DTLSConnection.CloseReason] = []
    /// So many datagrams more are lost on the way.
    var toDrop = 0
    var refuses = false
    var atSend: () -> Void = {}
    var atConnected: () -> Void = {}
    var atData: () -> Void = {}
    var atClosed: () -> Void = {}

    init(_ connection: DTLSConnection) {
        self.connection = connection
        connection.onSend = { [unowned self] datagram in
            atSend()
            if refuses { return false }
            sent.append(Array(datagram))
            if toDrop > 0 { toDrop -= 1 } else { outgoing.append(Array(datagram)) }
            return true
        }
        connection.onConnected = { [unowned self] in
            keys = $0
            atConnected()
        }
        connection.onApplicationData = { [unowned self] in
            received.append(Array($0))
            atData()
        }
        connection.onClosed = { [unowned self] in
            closed.append($0)
            atClosed()
        }
    }

    var closedKinds: [TransportError.Kind] {
        closed.compactMap { if case .failed(let error) = $0 { error.kind } else { nil } }
    }

    func receive(_ bytes: [UInt8]) { bytes.withUnsafeBytes { connection.receive($0, now: NetworkExecutor.now()) } }
    func send(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { connection.send($0) } }

    func clearHooks() {
        atSend = {}
        atConnected = {}
        atData = {}
        atClosed = {}
    }
}

/// Two ends and the datagrams between them.
final class DTLSPair {
    let client: DTLSEnd
    let server: DTLSEnd
    /// Called with the receiving end before each delivery.
    var beforeEach: (DTLSEnd) -> Void = { _ in }

    init(
        clientIdentity: DTLSIdentity? = nil, serverIdentity: DTLSIdentity? = nil, clientProfiles: [SRTPProfile] = SRTPProfile.preferred,
        serverProfiles: [SRTPProfile] = SRTPProfile.preferred, serverFingerprint: (String, String)? = nil,
        alsoExpected: [(String, String)] = [], mtu: Int = 1200
    ) throws {
        let clientIdentity = try clientIdentity ?? DTLSIdentity()
        let serverIdentity = try serverIdentity ?? DTLSIdentity()
        let ofClient = try #require(clientIdentity.fingerprint())
        let ofServer = try #require(serverIdentity.fingerprint())
        client = DTLSEnd(
            try DTLSConnection(
                role: .client, identity: clientIdentity, profiles: clientProfiles,
                expectedFingerprints: [serverFingerprint ?? ("sha-256", ofServer)] + alsoExpected, mtu: mtu))
        server = DTLSEnd(
            try DTLSConnection(
                role: .server, identity: serverIdentity, profiles: serverProfiles, expectedFingerprints: [("sha-256", ofClient)], mtu: mtu))
    }

    func startBoth() {
        server.connection.start(now: NetworkExecutor.now())
        client.connection.start(now: NetworkExecutor.now())
    }

    /// Delivers until nothing is on the way.
    func deliverAll() {
        while !client.outgoing.isEmpty || !server.outgoing.isEmpty {
            for (from, to) in [(client, server), (server, client)] {
                let datagrams = from.outgoing
                from.outgoing.removeAll()
                for datagram in datagrams {
                    beforeEach(to)
                    to.receive(datagram)
                }
            }
        }
    }

    func run() {
        startBoth()
        deliverAll()
    }

    /// Delivers and serves timers on the real clock until both ends are connected or so many timers have ended; how many have.
    func runWithTimers(limit: Int) async -> Int {
        run()
        var timeouts = 0
        while client.keys == nil || server.keys == nil, timeouts < limit {
            let deadlines = [client, server].compactMap(\.connection.nextDeadline)
            guard let next = deadlines.min() else { return timeouts }
            try? await Task.sleep(for: max(.milliseconds(1), next - NetworkExecutor.now()))
            for end in [client, server] {
                if let deadline = end.connection.nextDeadline, deadline <= NetworkExecutor.now() {
                    end.connection.handleTimeout(now: NetworkExecutor.now())
                    timeouts += 1
                }
            }
            deliverAll()
        }
        return timeouts
    }
}
