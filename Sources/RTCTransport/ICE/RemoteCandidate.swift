// Candidates of the peer: text in, checked text for libnice out (RFC 8839 §5.1). libnice takes port 70000 and priority
// 99999999999 without complaint, so everything is checked here, and the line is written anew with what we need of it.
// Left out: TCP candidates, second components, `.local` names (mDNS), link-local IPv6, which all count as unusable.

/// A checked remote candidate.
struct RemoteCandidate: Hashable {
    enum Problem: Error, Hashable {
        case malformed
        /// Well-formed, but nothing we can connect to.
        case unusable
    }

    let foundation: String
    let priority: UInt32
    let address: NumericAddress
    let port: UInt16
    let type: ICECandidateType

    /// Parses `candidate:...`, with or without `a=`.
    init(parsing text: String) throws(Problem) {
        guard text.utf8.count <= Self.maxBytes else { throw .malformed }
        var line = Substring(text)
        while let last = line.last, last.isNewline || last == " " { line.removeLast() }
        if line.hasPrefix("a=") { line.removeFirst(2) }
        guard line.hasPrefix("candidate:") else { throw .malformed }
        line.removeFirst("candidate:".count)
        let tokens = line.split(separator: " ", omittingEmptySubsequences: true)
        guard tokens.count >= 8, tokens[6] == "typ" else { throw .malformed }

        guard (1...32).contains(tokens[0].utf8.count), tokens[0].utf8.allSatisfy(Self.isICECharacter) else { throw .malformed }
        foundation = String(tokens[0])
        guard let component = UInt16(tokens[1]), component >= 1, component <= 256 else { throw .malformed }
        guard let priority = UInt32(tokens[3]), priority > 0, priority <= UInt32(Int32.max) else { throw .malformed }
        self.priority = priority
        guard let port = UInt16(tokens[5]) else { throw .malformed }
        self.port = port
        guard let type = ICECandidateType(rawValue: String(tokens[7])) else { throw .malformed }
        self.type = type

        // Well-formed from here on. Port 9 stands for "no port" in TCP candidates only; port 0 can never be reached.
        guard component == 1, tokens[2].lowercased() == "udp", port > 0 else { throw .unusable }
        guard let address = NumericAddress(tokens[4]) else {
            // A name: mDNS or other. A resolver for them would have to be bounded and off this thread.
            let looksLikeName = tokens[4].utf8.allSatisfy(Self.isNameCharacter)
            throw looksLikeName ? .unusable : .malformed
        }
        guard LocalAddresses.isCandidate(address) else { throw .unusable }
        self.address = address
    }

    /// The line as libnice gets it: only what it uses, in the spelling it knows.
    var line: String { "candidate:\(foundation) 1 UDP \(priority) \(address.text) \(port) typ \(type.rawValue)" }

    private static func isICECharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true  // "-" and "_" are not in the grammar, but some stacks send them
        default: false
        }
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        isICECharacter(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "%")
    }

    private static let maxBytes = 512
}

/// Where a candidate's address comes from.
package enum ICECandidateType: String, Sendable, Hashable {
    case host
    case serverReflexive = "srflx"
    case peerReflexive = "prflx"
    case relayed = "relay"
}
