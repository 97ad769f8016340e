// Which STUN and TURN servers to use: configuration in, checked servers out (RFC 7064, RFC 7065). No name is resolved here.
// Left out: TLS to servers (`stuns:`, `turns:`), which libnice cannot speak; such entries are skipped with a warning.

/// One server of the ICE configuration, with its own credentials.
package struct ICEServer: Sendable, Hashable {
    /// `stun:host[:port]`, `turn:host[:port][?transport=udp|tcp]`.
    package var url: String
    package var username: String?
    package var credential: String?

    package init(url: String, username: String? = nil, credential: String? = nil) {
        self.url = url
        self.username = username
        self.credential = credential
    }
}

/// The servers that can be used, and what was left out.
package struct ICEServerList: Sendable, Hashable {
    package struct Address: Sendable, Hashable {
        package var host: String
        package var port: UInt16
    }

    package struct Relay: Sendable, Hashable {
        package var address: Address
        package var transport: RelayTransport
        package var username: String
        package var credential: String
    }

    package var stunServers: [Address] = []
    package var relays: [Relay] = []
    /// Entries that were skipped, one sentence each, without credentials.
    package var warnings: [String] = []

    /// Checks every entry. Throws for an entry that is wrong (malformed, TURN without credentials) and when `relayOnly` is
    /// asked for and no entry gives a relay.
    package init(_ servers: [ICEServer], relayOnly: Bool = false) throws(TransportError) {
        for server in servers { try add(server) }
        if relayOnly, relays.isEmpty {
            let reason = warnings.isEmpty ? "" : " (\(warnings.joined(separator: "; ")))"
            throw TransportError(.iceConfiguration, "A relay-only policy needs a usable turn: server, and there is none\(reason)")
        }
    }

    private mutating func add(_ server: ICEServer) throws(TransportError) {
        guard let url = ICEServerURL(server.url) else {
            throw TransportError(.iceConfiguration, "Malformed ICE server URL: \(server.url.prefix(128))")
        }
        switch url.scheme {
        case .stun:
            if !stunServers.contains(url.address) { stunServers.append(url.address) }
        case .turn:
            guard let transport = url.transport else {
                warnings.append("\(server.url): the transport is not supported")
                return
            }
            guard let username = server.username, let credential = server.credential, !username.isEmpty, !credential.isEmpty else {
                throw TransportError(.iceConfiguration, "TURN server without username or credential: \(server.url)")
            }
            // Two allocations from one socket at one server cannot be told apart (RFC 8656 §3.2).
            guard !relays.contains(where: { $0.address == url.address && $0.transport == transport }) else {
                warnings.append("\(server.url): listed twice")
                return
            }
            guard relays.count < Self.maxRelays else {
                warnings.append("\(server.url): more than \(Self.maxRelays) relays")
                return
            }
            relays.append(Relay(address: url.address, transport: transport, username: username, credential: credential))
        case .secure:
            warnings.append("\(server.url): TLS to ICE servers is not supported")
        }
    }

    /// libnice: NICE_CANDIDATE_MAX_TURN_SERVERS.
    private static let maxRelays = 8
}

/// How datagrams get to a relay.
package enum RelayTransport: String, Sendable, Hashable {
    case udp, tcp
}

/// A `stun:`, `turn:`, `stuns:` or `turns:` URL taken apart.
struct ICEServerURL: Hashable {
    enum Scheme { case stun, turn, secure }

    var scheme: Scheme
    var address: ICEServerList.Address
    /// `nil`: a transport that we do not know.
    var transport: RelayTransport?

    init?(_ text: String) {
        guard text.utf8.count <= 512, let colon = text.firstIndex(of: ":") else { return nil }
        switch text[..<colon].lowercased() {
        case "stun": scheme = .stun
        case "turn": scheme = .turn
        case "stuns", "turns": scheme = .secure
        default: return nil
        }
        var rest = text[text.index(after: colon)...]
        transport = .udp
        if let question = rest.firstIndex(of: "?") {
            let query = rest[rest.index(after: question)...].lowercased()
            rest = rest[..<question]
            guard query.hasPrefix("transport=") else { return nil }
            transport = RelayTransport(rawValue: String(query.dropFirst("transport=".count)))
        }
        guard let address = Self.parseAddress(rest) else { return nil }
        self.address = address
    }

    private static func parseAddress(_ text: Substring) -> ICEServerList.Address? {
        var host = text
        var port: Substring?
        if text.first == "[" {
            guard let close = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<close]
            let tail = text[text.index(after: close)...]
            guard tail.isEmpty || tail.first == ":" else { return nil }
            port = tail.isEmpty ? nil : tail.dropFirst()
            guard NumericAddress(host)?.isIPv6 == true else { return nil }
        } else if let colon = text.firstIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        let allowed: (UInt8) -> Bool = { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"):
                true
            default: false
            }
        }
        guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy(allowed) else { return nil }
        guard let port else { return ICEServerList.Address(host: String(host), port: defaultPort) }
        guard let number = UInt16(port), number > 0 else { return nil }
        return ICEServerList.Address(host: String(host), port: number)
    }

    /// RFC 8489 §9, RFC 8656 §7.
    private static let defaultPort: UInt16 = 3478
}
