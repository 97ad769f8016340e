import Testing

@testable import RTCTransport

@Suite("ICE servers")
struct ICEServerTests {
    @Test("ICE-19 every server keeps its own address, transport and credentials")
    func ownCredentials() throws {
        let list = try ICEServerList([
            ICEServer(url: "turn:relay.example:3479?transport=tcp", username: "a", credential: "one"),
            ICEServer(url: "stun:stun.example"),
            ICEServer(url: "TURN:[2001:db8::1]:99", username: "b", credential: "two"),
            ICEServer(url: "turn:192.0.2.1?transport=UDP", username: "c", credential: "three"),
        ])
        #expect(list.stunServers == [.init(host: "stun.example", port: 3478)])
        #expect(
            list.relays == [
                .init(address: .init(host: "relay.example", port: 3479), transport: .tcp, username: "a", credential: "one"),
                .init(address: .init(host: "2001:db8::1", port: 99), transport: .udp, username: "b", credential: "two"),
                .init(address: .init(host: "192.0.2.1", port: 3478), transport: .udp, username: "c", credential: "three"),
            ])
        #expect(list.warnings.isEmpty)
    }

    @Test(
        "ICE-19 TURN without credentials is a typed configuration error that names the server",
        arguments: [
            ICEServer(url: "turn:relay.example"), ICEServer(url: "turn:relay.example", username: "u"),
            ICEServer(url: "turn:relay.example", username: "", credential: "secret"),
        ])
    func missingCredentials(server: ICEServer) {
        let error = #expect(throws: TransportError.self) { try ICEServerList([server]) }
        #expect(error?.kind == .iceConfiguration)
        #expect(error?.message.contains("relay.example") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test("turns: and unknown transports are skipped with a warning")
    func skipped() throws {
        let list = try ICEServerList([
            ICEServer(url: "turns:relay.example:443?transport=tcp", username: "u", credential: "secret"),
            ICEServer(url: "stuns:stun.example"), ICEServer(url: "turn:r.example?transport=sctp", username: "u", credential: "secret"),
        ])
        #expect(list.relays.isEmpty && list.stunServers.isEmpty)
        #expect(list.warnings.count == 3)
        #expect(!list.warnings.joined().contains("secret"))
    }

    @Test("relay-only without a usable relay is a typed configuration error")
    func relayOnly() throws {
        for servers in [[], [ICEServer(url: "stun:s")], [ICEServer(url: "turns:s", username: "u", credential: "p")]] {
            let error = #expect(throws: TransportError.self) { try ICEServerList(servers, relayOnly: true) }
            #expect(error?.kind == .iceConfiguration)
        }
        _ = try ICEServerList([ICEServer(url: "turn:s", username: "u", credential: "p")], relayOnly: true)
    }

    @Test(
        "malformed URLs are typed errors",
        arguments: [
            "", "stun", "stun:", "http://x", "stun:host:0", "stun:host:65536", "stun:host:x", "stun:[::1", "stun:[host]", "stun::1",
            "stun:ho st", "stun:h\0st", "stun:[::1]3478", "turn:h?x=y", "stun:" + String(repeating: "a", count: 600),
        ])
    func malformed(url: String) {
        let error = #expect(throws: TransportError.self) { try ICEServerList([ICEServer(url: url, username: "u", credential: "p")]) }
        #expect(error?.kind == .iceConfiguration)
    }

    @Test("one relay listed twice is used once, with its first credentials")
    func duplicates() throws {
        let list = try ICEServerList([
            ICEServer(url: "turn:r", username: "u", credential: "one"),
            ICEServer(url: "turn:r:3478?transport=udp", username: "u", credential: "two"),
            ICEServer(url: "turn:r?transport=tcp", username: "u", credential: "three"),
        ])
        #expect(list.relays.map(\.credential) == ["one", "three"])
        #expect(list.warnings.count == 1)
    }

    @Test("more relays than the library takes are warned about")
    func manyRelays() throws {
        let list = try ICEServerList((0..<12).map { ICEServer(url: "turn:r\($0)", username: "u", credential: "p") })
        #expect(list.relays.count == 8)
        #expect(list.warnings.count == 4)
    }
}
