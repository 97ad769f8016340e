import Foundation
import PeerTestSupport
import RTCBase
import RTCTransport
import Synchronization
import Testing

/// Everything that opens ICE sockets runs one after the other: descriptors are counted.
@Suite("ICE agent", .serialized, .networkTurn)
struct ICEAgentTests {
    private func only(_ addresses: String...) -> ICEHarness.Configure { { $0.localAddresses = addresses } }

    private func exchange(_ harness: ICEHarness, count: Int = 100) async {
        #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) })
        for i in 0..<count {
            #expect(await harness.send(.a, [0xFF, UInt8(i)]))
            #expect(await harness.send(.b, [0xFE, UInt8(i)]))
        }
        #expect(await harness.wait { ($0.datagrams[.a]?.count ?? 0) >= count && ($0.datagrams[.b]?.count ?? 0) >= count })
        let received = await harness.datagrams
        #expect(received[.b] == (0..<count).map { [0xFF, UInt8($0)] })
        #expect(received[.a] == (0..<count).map { [0xFE, UInt8($0)] })
    }

    @Test("two agents connect and exchange datagrams in order", arguments: ["127.0.0.1", "::1"])
    func connect(address: String) async throws {
        let harness = ICEHarness()
        try await harness.run { try $0.connect(only(address), only(address)) }
        #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) })
        let started = try #require(await harness.startedTime)
        let connected = try #require(await harness.connectedTimes.values.max())
        #expect(connected.milliseconds(since: started) < 1000)
        await exchange(harness)
        let pair = await harness.run { $0.agents[.a]?.selectedPair() }
        #expect(pair?.localType == .host && pair?.remoteAddress == address && pair?.relayProtocol == nil)
        let lines = await harness.candidates[.a] ?? []
        #expect(!lines.isEmpty && lines.allSatisfy { $0.hasPrefix("candidate:") })
        await harness.closeAll()
    }

    @Test("receive buffers are enlarged")
    func receiveBuffer() async throws {
        let harness = ICEHarness()
        try await harness.run { try $0.connect(only("127.0.0.1"), only("127.0.0.1")) }
        let granted = await harness.run { $0.agents[.a]?.receiveBufferBytes ?? 0 }
        let limit =
            Int(
                (try? String(contentsOfFile: "/proc/sys/net/core/rmem_max", encoding: .utf8))?.trimmingCharacters(
                    in: .whitespacesAndNewlines) ?? "") ?? 0
        #expect(granted >= min(4 << 20, limit))
        await harness.closeAll()
    }

    @Test("host candidates are there when startGathering returns, and callbacks come later")
    func candidatesAtOnce() async throws {
        let harness = ICEHarness()
        let (atOnce, told) = try await harness.run { harness in
            try harness.make(.a)
            try harness.agents[.a]?.startGathering()
            return (harness.agents[.a]?.localCandidates ?? [], harness.candidates[.a] ?? [])
        }
        #expect(!atOnce.isEmpty)
        #expect(told.isEmpty)
        #expect(await harness.wait { $0.candidates[.a] == atOnce && $0.gatheringDone.contains(.a) })
        #expect(!atOnce.contains { $0.contains(" fe80:") }, "ICE-03")
        let announcesLoopback = atOnce.contains { $0.contains(" 127.0.0.1 ") }
        let hasOther = atOnce.contains { !$0.contains(" 127.0.0.1 ") && !$0.contains(" ::1 ") }
        #expect(announcesLoopback != hasOther)
        await harness.closeAll()
    }

    @Test("a peer that tells only 127.0.0.1, or only another address of this machine, is reached with default settings")
    func sameMachine() async throws {
        let other = ICEAgentTests.ordinaryAddress()
        for address in ["127.0.0.1", "::1"] + (other.map { [$0] } ?? []) {
            let harness = ICEHarness()
            try await harness.run { try $0.connect({ _ in }, only(address)) }
            #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) }, "\(address)")
            let pair = await harness.run { $0.agents[.a]?.selectedPair() }
            #expect(pair?.remoteAddress == address)
            await exchange(harness, count: 5)
            await harness.closeAll()
        }
    }

    @Test("a port range is kept")
    func portRange() async throws {
        let harness = ICEHarness()
        try await harness.run { harness in
            try harness.make(.a) {
                $0.localAddresses = ["127.0.0.1"]
                $0.portRange = 42_000...42_100
            }
            try harness.agents[.a]?.startGathering()
        }
        let lines = await harness.run { $0.agents[.a]?.localCandidates ?? [] }
        #expect(lines.count == 1 && lines.allSatisfy { (42_000...42_100).contains(candidatePort($0) ?? 0) })
        await harness.closeAll()
    }

    @Test("ICE-01 names and TCP candidates in the list are skipped and counted, the rest connects")
    func unusableCandidates() async throws {
        let harness = ICEHarness()
        try await harness.run { harness in
            try harness.make(.a, only("127.0.0.1"))
            try harness.agents[.a]?.startGathering()
            harness.agents[.a]?.addRemoteCandidates([
                "candidate:1 1 udp 2122260223 1f4712db-ea17-4bcf-a596-105139dfd8bf.local 54596 typ host",
                "candidate:1 1 tcp 1518280447 127.0.0.1 9 typ host tcptype passive", "nonsense",
                "candidate:1 1 udp 99999999999 127.0.0.1 70000 typ host",
            ])
        }
        let drops = await harness.run { $0.agents[.a]?.drops }
        #expect(drops?[.unusableCandidate] == 2)
        #expect(drops?[.malformedCandidate] == 2)
        try await harness.run { harness in
            try harness.make(.b, only("127.0.0.1"))
            guard let a = harness.agents[.a], let b = harness.agents[.b] else { return }
            try b.startGathering()
            a.setRemote(usernameFragment: b.localUsernameFragment, password: b.localPassword)
            b.setRemote(usernameFragment: a.localUsernameFragment, password: a.localPassword)
            a.addRemoteCandidates(b.localCandidates)
        }
        #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) })
        await harness.closeAll()
    }

    @Test("the number of remote candidates is bounded, repeated ones count once")
    func boundedCandidates() async throws {
        let harness = ICEHarness()
        try await harness.run { harness in
            try harness.make(.a, only("127.0.0.1"))
            guard let agent = harness.agents[.a] else { return }
            let lines = (1...100).map { "candidate:\($0) 1 udp \($0) 127.0.0.1 \($0) typ host" }
            agent.addRemoteCandidates(lines)
            agent.addRemoteCandidates(Array(lines.prefix(10)))
            #expect(agent.drops[.unusableCandidate] == 75)
        }
        await harness.closeAll()
    }

    @Test("ICE-12 candidates before the description, and before gathering, are kept and used")
    func earlyCandidates() async throws {
        let harness = ICEHarness()
        try await harness.run { harness in
            try harness.make(.a, only("127.0.0.1"))
            try harness.make(.b, only("127.0.0.1"))
            guard let a = harness.agents[.a], let b = harness.agents[.b] else { return }
            try b.startGathering()
            a.addRemoteCandidates(b.localCandidates)
            a.setRemoteGatheringDone()
            try a.startGathering()
            b.setRemote(usernameFragment: a.localUsernameFragment, password: a.localPassword)
        }
        #expect(await harness.gatheringDone.count < 3)
        await harness.run { harness in
            guard let a = harness.agents[.a], let b = harness.agents[.b] else { return }
            let wasConnected = harness.isConnected(.a)
            #expect(!wasConnected)
            #expect(a.setRemote(usernameFragment: b.localUsernameFragment, password: b.localPassword))
        }
        #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) })
        await harness.closeAll()
    }

    @Test("malformed credentials of the peer are refused")
    func badCredentials() async throws {
        let harness = ICEHarness()
        try await harness.run { harness in
            try harness.make(.a, only("127.0.0.1"))
            guard let agent = harness.agents[.a] else { return }
            let good = String(repeating: "p", count: 22)
            #expect(!agent.setRemote(usernameFragment: "abc", password: good))
            #expect(!agent.setRemote(usernameFragment: "abcd", password: "short"))
            #expect(!agent.setRemote(usernameFragment: "ab\0d", password: good))
            #expect(!agent.setRemote(usernameFragment: String(repeating: "u", count: 257), password: good))
            #expect(agent.setRemote(usernameFragment: "abcd", password: good))
        }
        await harness.closeAll()
    }

    @Test("ICE-05 two controlling agents settle it between them")
    func roleConflict() async throws {
        let harness = ICEHarness()
        try await harness.run {
            try $0.connect(only("127.0.0.1")) {
                $0.localAddresses = ["127.0.0.1"]
                $0.isControlling = true
            }
        }
        await exchange(harness, count: 5)
        await harness.closeAll()
    }

    @Test("ICE-14 200 agents made, gathered, connected now and then, and closed: sockets return to the start value")
    func descriptors() async throws {
        let before = openSocketCount()
        for cycle in 0..<200 {
            let harness = ICEHarness()
            try await harness.run { try $0.connect(only("127.0.0.1", "::1"), only("127.0.0.1", "::1")) }
            if cycle % 10 == 0 { #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) }) }
            await harness.closeAll()
        }
        // Other suites of the process open and close sockets of their own meanwhile.
        #expect(await eventually { openSocketCount() <= before })
    }

    @Test("an agent that is let go of without close gives its sockets back")
    func letGo() async throws {
        let before = openSocketCount()
        for _ in 0..<10 { try await gatherAndLetGo() }
        // The closes are queued behind each other on the network thread; a cycle that awaits its own close comes after.
        for _ in 0..<2 { try await makeAndClose() }
        // Other suites of the process open and close sockets of their own meanwhile.
        #expect(await eventually { openSocketCount() <= before })
    }

    // Apart from their caller: the optimiser of Swift 6.3.1 crashes on the two loops in one coroutine.
    @inline(never)
    private func makeAndClose() async throws {
        let harness = ICEHarness()
        try await harness.run { try $0.make(.a) }
        await harness.closeAll()
    }

    @inline(never)
    private func gatherAndLetGo() async throws {
        let harness = ICEHarness()
        try await harness.run { harness in
            try harness.make(.a, only("127.0.0.1"))
            try harness.agents[.a]?.startGathering()
        }
    }

    @Test("SW-06 closing while datagrams arrive: no callback afterwards, no crash")
    func closeWhileReceiving() async throws {
        for round in 0..<100 {
            let harness = ICEHarness()
            try await harness.run { try $0.connect(only("127.0.0.1"), only("127.0.0.1")) }
            #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) })
            await harness.run { harness in
                for i in 0..<64 { _ = harness.send(.b, [0xFF, UInt8(i)]) }
                if round % 2 == 0 {
                    // From inside the callback of the tenth datagram.
                    harness.onDatagram = { harness, side, _ in
                        if side == .a, harness.datagrams[.a]?.count == 10 { harness.agents[.a]?.close() }
                    }
                }
            }
            if round % 2 == 0 {
                #expect(await harness.wait { ($0.datagrams[.a]?.count ?? 0) >= 10 })
            }
            await harness.closeAll()
            if round % 2 == 0 { #expect(await harness.datagrams[.a]?.count == 10) }
            #expect(await harness.callbacksAfterClose == 0)
        }
    }

    @Test("a STUN server that never answers, and one whose name does not resolve, delay nothing", arguments: [true, false])
    func deadServer(isName: Bool) async throws {
        let silent = TestSocket()  // bound, and never read: no answer and no refusal
        let url = isName ? "stun:does-not-exist.invalid:3478" : "stun:127.0.0.1:\(silent.port)"
        let harness = ICEHarness()
        let started = NetworkExecutor.now()
        try await harness.run {
            try $0.connect(
                {
                    $0.localAddresses = ["127.0.0.1"]
                    $0.servers = [ICEServer(url: url)]
                }, only("127.0.0.1"))
        }
        #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) })
        #expect(NetworkExecutor.now().milliseconds(since: started) < 500)
        if !isName { #expect(await !harness.gatheringDone.contains(.a)) }
        await exchange(harness, count: 5)
        let closing = NetworkExecutor.now()
        await harness.closeAll()
        #expect(NetworkExecutor.now().milliseconds(since: closing) < 400)
    }

    @Test("a closed port of the peer (ICMP refusal) fails the agent well under 5 s", arguments: ["127.0.0.1", "::1"])
    func refused(address: String) async throws {
        let harness = ICEHarness()
        try await harness.run { try $0.connect(only(address), only(address)) }
        await exchange(harness, count: 5)
        let started = NetworkExecutor.now()
        await harness.close(.b)  // says nothing on the wire: as good as SIGKILL
        #expect(await harness.wait(seconds: 3) { $0.agents[.a]?.state == .failed })
        #expect(NetworkExecutor.now().milliseconds(since: started) < 1500)
        #expect(await harness.run { $0.agents[.a]?.failure?.kind } == .iceRefused)
        #expect(await harness.states[.a]?.last == .failed)
        #expect(await !harness.send(.a, [1]))
        await harness.closeAll()
    }

    @Test("refusals of other addresses, and refusals while the peer is heard, change nothing")
    func otherRefusals() async throws {
        let harness = ICEHarness()
        // A candidate nobody listens on: its checks are refused by the machine all the time.
        let closed = TestSocket().port
        try await harness.run { try $0.connect(only("127.0.0.1"), only("127.0.0.1")) }
        await harness.run { harness in
            harness.agents[.a]?.addRemoteCandidates(["candidate:9 1 udp 2130706431 127.0.0.1 \(closed) typ host"])
        }
        #expect(await harness.wait { $0.isConnected(.a) && $0.isConnected(.b) })
        // Silence for three probes: they reach a live peer, which answers nothing.
        #expect(await harness.wait(seconds: 1.5) { $0.agents[.a]?.state == .failed } == false)
        await exchange(harness, count: 20)
        await harness.closeAll()
    }

    @Test("an ICMP error that comes between the loop's poll and libnice's read does not end the connection")
    func errorBeforeRead() async throws {
        let closed = TestSocket().port
        let stranger = TestSocket()
        let harness = ICEHarness()
        let socket = Mutex<Int32>(-1)
        // On this machine's own address the kernel answers within the call.
        await harness.makeEarlyTimer { sendDatagram([1], from: socket.withLock { $0 }, to: closed) }
        try await harness.run { try $0.connect(only("127.0.0.1"), only("127.0.0.1")) }
        await exchange(harness, count: 5)
        let port = try #require(await harness.run { $0.agents[.b]?.selectedPair()?.remotePort })
        let descriptor = try #require(udpSocket(port: port))
        socket.withLock { $0 = descriptor }

        for _ in 0..<5 {
            let limit = NetworkExecutor.now().adding(milliseconds: 3000)
            while !reportsErrors(descriptor), NetworkExecutor.now() < limit { try await Task.sleep(for: .milliseconds(2)) }
            #expect(reportsErrors(descriptor), "the agent does not listen for refusals")
            await harness.run { harness in
                // Both are there when the loop polls next.
                sendDatagram([0xFF], from: stranger.descriptor, to: port)
                harness.fireEarlyTimer()
            }
        }
        #expect(await harness.send(.b, [0xFE, 99]))
        #expect(await harness.wait { $0.datagrams[.a]?.last == [0xFE, 99] })
        #expect(await harness.states[.a]?.contains(.failed) == false)
        await harness.closeAll()
    }

    @Test("a 3 s outage does not fail the agent")
    func outage() async throws {
        let relay = DatagramRelay()
        let harness = ICEHarness()
        await harness.run { harness in
            harness.rewrite = { side, line in
                // A reaches B through the relay only; B learns the relay from A's checks.
                guard side == .b, let port = candidatePort(line) else { return nil }
                return line.replacingOccurrences(of: " \(port) typ", with: " \(relay.port(for: port)) typ")
            }
        }
        try await harness.run { try $0.connect(only("127.0.0.1"), only("127.0.0.1")) }
        await exchange(harness, count: 5)
        relay.isBlocked = true
        #expect(await harness.wait(seconds: 3) { $0.agents[.a]?.state == .failed || $0.agents[.b]?.state == .failed } == false)
        relay.isBlocked = false
        let before = await harness.datagrams[.b]?.count ?? 0
        #expect(await harness.send(.a, [0xFF, 99]))
        #expect(await harness.wait { ($0.datagrams[.b]?.count ?? 0) > before })
        #expect(await harness.isConnected(.a))
        await harness.closeAll()
        relay.stop()
    }

    /// An address of this machine that is not loopback, as the kernel sees it.
    private static func ordinaryAddress() -> String? {
        let agent = try? FileManager.default.contentsOfDirectory(atPath: "/sys/class/net")
        guard agent?.contains(where: { $0 != "lo" }) == true else { return nil }
        return TestAddresses.firstIPv4()
    }
}
