import Testing

@testable import RTCTransport

@Suite("Remote candidates")
struct RemoteCandidateTests {
    @Test(
        "candidates as browsers and servers write them are taken and written anew",
        arguments: [
            (
                "candidate:2603425150 1 udp 2122194687 192.0.2.2 46152 typ host generation 0 ufrag XERq network-id 1",
                "candidate:2603425150 1 UDP 2122194687 192.0.2.2 46152 typ host"
            ),
            (
                "a=candidate:1 1 UDP 1686052607 203.0.113.9 5000 typ srflx raddr 0.0.0.0 rport 0\r\n",
                "candidate:1 1 UDP 1686052607 203.0.113.9 5000 typ srflx"
            ),
            ("candidate:a+/ 1 udp 1 2001:db8:0:0::1 1 typ relay raddr :: rport 9", "candidate:a+/ 1 UDP 1 2001:db8::1 1 typ relay"),
            ("candidate:1 1 udp 5 127.0.0.1 7 typ prflx", "candidate:1 1 UDP 5 127.0.0.1 7 typ prflx"),
        ])
    func valid(text: String, line: String) throws {
        #expect(try RemoteCandidate(parsing: text).line == line)
    }

    @Test(
        "ICE-01 what we cannot connect to is told from what is malformed",
        arguments: [
            "candidate:1 1 udp 1 1f4712db-ea17-4bcf-a596-105139dfd8bf.local 54596 typ host",
            "candidate:1 1 tcp 1518283007 192.0.2.2 9 typ host tcptype active",
            "candidate:1 2 udp 1 192.0.2.2 5001 typ host", "candidate:1 1 udp 1 192.0.2.2 0 typ host",
            "candidate:1 1 udp 1 fe80::1 5000 typ host", "candidate:1 1 udp 1 fe80::1%eth0 5000 typ host",
            "candidate:1 1 udp 1 0.0.0.0 5000 typ host", "candidate:1 1 udp 1 host.example 5000 typ host",
        ])
    func unusable(text: String) {
        #expect(throws: RemoteCandidate.Problem.unusable) { try RemoteCandidate(parsing: text) }
    }

    @Test(
        "malformed candidates are refused",
        arguments: [
            "", "candidate:", "candidate:1 1 udp 1 192.0.2.2 5000 typ", "candidate:1 1 udp 99999999999 192.0.2.2 5000 typ host",
            "candidate:1 1 udp 0 192.0.2.2 5000 typ host", "candidate:1 1 udp 1 192.0.2.2 70000 typ host",
            "candidate:1 1 udp 1 192.0.2.2 -1 typ host", "candidate:1 0 udp 1 192.0.2.2 1 typ host",
            "candidate:1 300 udp 1 192.0.2.2 1 typ host", "candidate:1 1 udp 1 192.0.2.2 1 typ other",
            "candidate:\u{1F600} 1 udp 1 192.0.2.2 1 typ host", "candidate:1 1 udp 1 192.0.2.2\u{7}! 1 typ host",
            "nonsense:1 1 udp 1 192.0.2.2 1 typ host", "candidate:" + String(repeating: "1", count: 40) + " 1 udp 1 192.0.2.2 1 typ host",
            "candidate:1 1 udp 1 192.0.2.2 1 typ host" + String(repeating: " x y", count: 200),
        ])
    func malformed(text: String) {
        #expect(throws: RemoteCandidate.Problem.malformed) { try RemoteCandidate(parsing: text) }
    }
}

@Suite("Local addresses")
struct LocalAddressesTests {
    @Test("ICE-03 link-local IPv6 and the unspecified address are no candidates, others are")
    func candidates() throws {
        for text in ["fe80::1", "febf::ffff", "0.0.0.0", "::"] {
            let address = try #require(NumericAddress(text))
            #expect(!LocalAddresses.isCandidate(address), "\(text)")
        }
        for text in ["127.0.0.1", "::1", "192.0.2.1", "fd00::2", "2001:db8::1", "fec0::1"] {
            let address = try #require(NumericAddress(text))
            #expect(LocalAddresses.isCandidate(address), "\(text)")
        }
    }

    @Test("this machine's addresses: no link-local, loopback last or not at all")
    func thisMachine() {
        let with = LocalAddresses.usable(includesLoopback: true)
        let without = LocalAddresses.usable(includesLoopback: false)
        #expect(!with.isEmpty && !without.isEmpty)
        #expect(!with.contains { $0.isIPv6 && $0.isLinkLocal })
        #expect(with.contains { $0.isLoopback })
        let firstLoopback = with.firstIndex { $0.isLoopback } ?? with.endIndex
        #expect(with[firstLoopback...].allSatisfy { $0.isLoopback })
        let hasOrdinary = with.contains { !$0.isLoopback }
        #expect(without.contains { $0.isLoopback } == !hasOrdinary)
    }

    @Test("zones, names and half addresses are no numeric addresses")
    func notNumeric() {
        for text in ["fe80::1%lo", "localhost", "1.2.3", "", "1.2.3.4.5", ":", "::g", "[::1]"] {
            #expect(NumericAddress(text) == nil, "\(text)")
        }
    }
}
