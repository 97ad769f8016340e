import CDTLS

/// Hashes of bytes, by OpenSSL.
package enum MessageDigest {
    /// SHA-256 (FIPS 180-4): 32 bytes; none when the library refuses.
    package static func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        FingerprintHash.sha256.digest { cdtls_digest($0, bytes.baseAddress, bytes.count, $1) } ?? []
    }
}
