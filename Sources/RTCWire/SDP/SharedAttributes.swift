/// Attributes that session and sections both may carry; a section without its own takes the session's
/// (RFC 9429 §5.8, RFC 8839 §5.4, RFC 8122 §5, RFC 8866 §6.7, RFC 8285 §5).
struct SharedAttributes {
    var direction: MediaSection.Direction?
    var iceUsernameFragment: String?
    var icePassword: String?
    var iceOptions: [String] = []
    var fingerprints: [Fingerprint] = []
    var setup: MediaSection.Setup?
    var endOfCandidates = false
    var headerExtensions: [SDPHeaderExtension] = []

    /// RFC 8839 §5.4.
    private static let maxCredentialCount = 256
    /// Several hashes of one certificate are allowed; nobody needs this many.
    private static let maxFingerprints = 32

    /// False when the attribute is none of these.
    mutating func take(_ attribute: SDPAttribute) throws(SDPValueError) -> Bool {
        let value = attribute.value
        switch attribute.name {
        case "sendrecv", "sendonly", "recvonly", "inactive":
            guard value == nil else { throw SDPValueError() }
            direction = MediaSection.Direction(rawValue: attribute.name)
        case "ice-ufrag": iceUsernameFragment = try Self.credential(value)
        case "ice-pwd": icePassword = try Self.credential(value)
        case "ice-options": iceOptions += try SDPValue.words(value, atLeast: 1)
        case "fingerprint":
            let fingerprint = try Self.fingerprint(value)
            if !fingerprints.contains(fingerprint) { fingerprints.append(fingerprint) }
            guard fingerprints.count <= Self.maxFingerprints else { throw SDPValueError() }
        case "setup":
            guard let role = MediaSection.Setup(rawValue: value?.lowercased() ?? "") else { throw SDPValueError() }
            setup = role
        case "end-of-candidates": endOfCandidates = true
        case "extmap":
            // The first line of an id counts: an id means one thing in a section.
            if let element = try Self.headerExtension(value), !headerExtensions.contains(where: { $0.id == element.id }) {
                headerExtensions.append(element)
            }
        default: return false
        }
        return true
    }

    /// Fills what `own` does not say from the session's values.
    func inherited(_ own: SharedAttributes) -> SharedAttributes {
        var result = own
        if own.direction == nil { result.direction = direction }
        // A fragment and a password belong together: a section with either has its own pair.
        if own.iceUsernameFragment == nil, own.icePassword == nil {
            result.iceUsernameFragment = iceUsernameFragment
            result.icePassword = icePassword
        }
        if own.iceOptions.isEmpty { result.iceOptions = iceOptions }
        if own.fingerprints.isEmpty { result.fingerprints = fingerprints }
        if own.setup == nil { result.setup = setup }
        result.endOfCandidates = own.endOfCandidates || endOfCandidates
        let ownIDs = Set(own.headerExtensions.map(\.id))
        result.headerExtensions += headerExtensions.filter { !ownIDs.contains($0.id) }
        return result
    }

    private static func credential(_ value: String?) throws(SDPValueError) -> String {
        guard let value, (1...maxCredentialCount).contains(value.utf8.count), !value.utf8.contains(0x20) else { throw SDPValueError() }
        return value
    }

    private static func fingerprint(_ value: String?) throws(SDPValueError) -> Fingerprint {
        let words = try SDPValue.words(value, atLeast: 2)
        let fingerprint = Fingerprint(algorithm: words[0], value: words[1])
        guard fingerprint.bytes != nil else { throw SDPValueError() }
        return fingerprint
    }

    /// Nil for an id outside 1...255: those cannot stand in a packet (RFC 8285 §5 uses 4096 and up for offers of more
    /// extensions than there are ids).
    private static func headerExtension(_ value: String?) throws(SDPValueError) -> SDPHeaderExtension? {
        let words = try SDPValue.words(value, atLeast: 2)
        let head = words[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let number = UInt16(head[0]) else { throw SDPValueError() }
        guard let id = UInt8(exactly: number), id != 0 else { return nil }
        return SDPHeaderExtension(id: id, uri: words[1], direction: head.count > 1 ? String(head[1]) : nil)
    }
}

/// Pieces of attribute values.
enum SDPValue {
    /// The words between blanks; throws when there are fewer than `minimum`.
    static func words(_ value: String?, atLeast minimum: Int) throws(SDPValueError) -> [String] {
        let words = (value ?? "").split(separator: " ").map(String.init)
        guard words.count >= minimum else { throw SDPValueError() }
        return words
    }

    /// Decimal digits only; a number too large for `Int` counts as the largest.
    static func number(_ value: String?) throws(SDPValueError) -> Int {
        guard let value, !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { throw SDPValueError() }
        return Int(value) ?? .max
    }
}
