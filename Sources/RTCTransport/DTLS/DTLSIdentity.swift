import CDTLS

/// A private key with a self-signed certificate: who this end is, for one connection (making one costs less than a millisecond).
package final class DTLSIdentity {
    package enum Key: Sendable {
        /// What RFC 8827 §6.5 asks for.
        case p256
        /// Long certificates, for tests of fragmentation.
        case rsa4096
    }

    let handle: OpaquePointer

    package init(key: Key = .p256) throws(TransportError) {
        guard let handle = cdtls_identity_create(key == .rsa4096 ? CDTLS_KEY_RSA4096 : CDTLS_KEY_P256) else {
            throw TransportError(.dtlsFailed, "no DTLS certificate could be made")
        }
        self.handle = handle
    }

    deinit { cdtls_identity_free(handle) }

    /// The certificate's fingerprint as SDP writes it: upper-case hex pairs with colons (RFC 8122 §5). Nil for a hash that is
    /// not `sha-256`, `sha-384` or `sha-512`.
    package func fingerprint(_ algorithm: String = "sha-256") -> String? {
        guard let hash = FingerprintHash(rawValue: algorithm.lowercased()) else { return nil }
        return hash.digest { cdtls_identity_digest(handle, $0, $1) }.map(FingerprintHash.text)
    }
}

/// The hashes accepted for certificates, weakest first. SHA-1 and MD5 are not among them.
enum FingerprintHash: String, CaseIterable {
    case sha256 = "sha-256"
    case sha384 = "sha-384"
    case sha512 = "sha-512"

    /// As OpenSSL names it.
    private var openSSLName: String {
        switch self {
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        }
    }

    /// Runs a digest function of the shim. Nil when it gives nothing.
    func digest(_ compute: (UnsafePointer<CChar>, UnsafeMutablePointer<UInt8>) -> Int) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            guard let base = buffer.baseAddress else { return }
            count = openSSLName.withCString { compute($0, base) }
        }
        return bytes.isEmpty ? nil : bytes
    }

    static func text(_ digest: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF")
        return digest.map { String([digits[Int($0 >> 4)], digits[Int($0 & 15)]]) }.joined(separator: ":")
    }

    /// Bytes of hex pairs with or without colons, upper or lower case. Nil for anything else.
    static func parse(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text.utf8 where character != UInt8(ascii: ":") {
            guard let digit = Character(UnicodeScalar(character)).hexDigitValue else { return nil }
            if let first = high {
                bytes.append(first << 4 | UInt8(digit))
                high = nil
            } else {
                high = UInt8(digit)
            }
        }
        return high == nil && !bytes.isEmpty ? bytes : nil
    }
}
