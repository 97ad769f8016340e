import RTCTransport
import Testing

@testable import RTCWire

/// Builds STUN messages by hand, right and wrong ones, for a peer that only a test has.
struct STUNPeer {
    enum Attribute {
        case username(String), priority(UInt32), controlling, useCandidate, mappedAddress(port: UInt16)
        /// The HMAC over everything before, keyed with a password.
        case integrity(password: String)
        case fingerprint
    }

    static func message(type: UInt16, transaction: [UInt8], _ attributes: [Attribute]) -> [UInt8] {
        var bytes: [UInt8] = big(type) + big(UInt16(0)) + big(UInt32(0x2112_A442)) + transaction
        for attribute in attributes {
            switch attribute {
            case .username(let name): append(0x0006, Array(name.utf8), to: &bytes)
            case .priority(let value): append(0x0024, big(value), to: &bytes)
            case .controlling: append(0x802A, Array(repeating: 0xFF, count: 8), to: &bytes)
            case .useCandidate: append(0x0025, [], to: &bytes)
            case .mappedAddress(let port):
                append(0x0020, [0, 1] + big(port ^ 0x2112) + big(UInt32(0x7F00_0001 ^ 0x2112_A442)), to: &bytes)
            case .integrity(let password):
                setLength(of: &bytes, extra: 24)
                append(0x0008, hmacSHA1(key: Array(password.utf8), bytes), to: &bytes)
            case .fingerprint:
                setLength(of: &bytes, extra: 8)
                append(0x8028, big(CRC32.checksum(bytes.span.bytes) ^ 0x5354_554E), to: &bytes)
            }
        }
        setLength(of: &bytes, extra: 0)
        return bytes
    }

    private static func append(_ type: UInt16, _ value: [UInt8], to bytes: inout [UInt8]) {
        bytes += big(type) + big(UInt16(value.count)) + value + Array(repeating: 0, count: (4 - value.count % 4) % 4)
    }

    private static func setLength(of bytes: inout [UInt8], extra: Int) {
        bytes.replaceSubrange(2..<4, with: big(UInt16(bytes.count - 20 + extra)))
    }

    private static func big<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

    // MARK: RFC 2104, RFC 3174

    static func hmacSHA1(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        let padded = key + Array(repeating: 0, count: max(0, 64 - key.count))
        let inner = sha1(padded.map { $0 ^ 0x36 } + message)
        return sha1(padded.map { $0 ^ 0x5C } + inner)
    }

    static func sha1(_ message: [UInt8]) -> [UInt8] {
        var h: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        var padded = message + [0x80]
        padded += Array(repeating: 0, count: (120 - padded.count % 64) % 64) + big(UInt64(message.count * 8))
        for start in stride(from: 0, to: padded.count, by: 64) {
            var w = (0..<16).map { i in padded[start + i * 4..<start + i * 4 + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
            for i in 16..<80 { w.append(rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1)) }
            var (a, b, c, d, e) = (h[0], h[1], h[2], h[3], h[4])
            for i in 0..<80 {
                let (f, k): (UInt32, UInt32) =
                    switch i {
                    case 0..<20: ((b & c) | (~b & d), 0x5A82_7999)
                    case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                    case 40..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
                    default: (b ^ c ^ d, 0xCA62_C1D6)
                    }
                (a, b, c, d, e) = (rotate(a, 5) &+ f &+ e &+ k &+ w[i], a, rotate(b, 30), c, d)
            }
            for (i, value) in [a, b, c, d, e].enumerated() { h[i] &+= value }
        }
        return h.flatMap { big($0) }
    }

    private static func rotate(_ value: UInt32, _ count: UInt32) -> UInt32 { value << count | value >> (32 - count) }
}

extension ICEAgentTests {
    private static let peerPassword = "peer-password-of-22-chars"

    @Test("the test's own HMAC is right (RFC 2202 case 2)")
    func hmac() {
        let digest = STUNPeer.hmacSHA1(key: Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
        #expect(digest.prefix(4) == [0xEF, 0xFC, 0xDF, 0x6A] && digest.suffix(2) == [0x7C, 0x79])
    }

    /// Plays a controlling peer against a controlled agent for a while; true when the agent gets connected.
    private func nominate(_ request: @Sendable (_ username: String, _ password: String) -> [STUNPeer.Attribute]) async throws -> (
        connected: Bool, errors: Int, checks: Int
    ) {
        let harness = ICEHarness()
        let (username, password, port) = try await harness.run { harness in
            try harness.make(.b) { $0.localAddresses = ["127.0.0.1"] }
            guard let agent = harness.agents[.b] else { return ("", "", UInt16(0)) }
            agent.setRemote(usernameFragment: "peer", password: Self.peerPassword)
            try agent.startGathering()
            return ("\(agent.localUsernameFragment):peer", agent.localPassword, candidatePort(agent.localCandidates.first ?? "") ?? 0)
        }
        let socket = TestSocket()
        var (errors, checks) = (0, 0)
        for round in 0..<8 {
            let transaction = [UInt8](repeating: UInt8(round), count: 12)
            socket.send(STUNPeer.message(type: 0x0001, transaction: transaction, request(username, password)), to: port)
            while let datagram = socket.receive(milliseconds: 30) {
                guard datagram.bytes.count >= 20 else { continue }
                switch UInt16(datagram.bytes[0]) << 8 | UInt16(datagram.bytes[1]) {
                case 0x0111: errors += 1
                case 0x0001:
                    checks += 1
                    let response = STUNPeer.message(
                        type: 0x0101, transaction: Array(datagram.bytes[8..<20]),
                        [.mappedAddress(port: port), .integrity(password: Self.peerPassword), .fingerprint])
                    socket.send(response, to: port)
                default: break
                }
            }
        }
        let connected = await harness.isConnected(.b)
        await harness.closeAll()
        return (connected, errors, checks)
    }

    @Test("ICE-16 USE-CANDIDATE counts before MESSAGE-INTEGRITY and is ignored after it")
    func lateAttribute() async throws {
        let right = try await nominate { username, password in
            [.username(username), .priority(1_862_270_975), .controlling, .useCandidate, .integrity(password: password), .fingerprint]
        }
        #expect(right.connected && right.errors == 0)
        let late = try await nominate { username, password in
            [.username(username), .priority(1_862_270_975), .controlling, .integrity(password: password), .useCandidate, .fingerprint]
        }
        #expect(!late.connected)
    }

    @Test("ICE-18 checks with other credentials are refused and lead to nothing")
    func oldCredentials() async throws {
        let wrongPassword = try await nominate { username, _ in
            [
                .username(username), .priority(1_862_270_975), .controlling, .useCandidate,
                .integrity(password: "password-of-another-generation"), .fingerprint,
            ]
        }
        #expect(!wrongPassword.connected && wrongPassword.errors > 0 && wrongPassword.checks == 0)
        let wrongName = try await nominate { _, password in
            [.username("olda:peer"), .priority(1_862_270_975), .controlling, .useCandidate, .integrity(password: password), .fingerprint]
        }
        #expect(!wrongName.connected && wrongName.checks == 0)
    }
}
