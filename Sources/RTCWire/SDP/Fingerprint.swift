/// The hash of a certificate (RFC 8122 §5).
package struct Fingerprint: Sendable, Hashable {
    /// Lower case: `sha-256`.
    package var algorithm: String
    /// Upper-case hex pairs with colons.
    package var value: String

    package init(algorithm: String, value: String) {
        self.algorithm = algorithm.lowercased()
        self.value = value.uppercased()
    }

    /// Hashes that may stand for a certificate here (trap SDP-14); sha-1 and older may not.
    package var isSupported: Bool { algorithm == "sha-256" || algorithm == "sha-384" || algorithm == "sha-512" }

    /// The hash as bytes; nil when `value` is not hex pairs.
    package var bytes: [UInt8]? {
        let pairs = value.split(separator: ":", omittingEmptySubsequences: false)
        let bytes = pairs.compactMap { $0.utf8.count == 2 && $0.allSatisfy(\.isHexDigit) ? UInt8($0, radix: 16) : nil }
        return bytes.count == pairs.count && !bytes.isEmpty ? bytes : nil
    }
}
