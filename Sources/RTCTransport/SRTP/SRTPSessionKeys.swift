import CSRTPCrypto

// From the master key of one direction to the keys that packets are protected with (RFC 3711 §4.3, RFC 7714 §11, RFC 6188).
// In: key and salt from the DTLS handshake. Out: cipher key, salt and authentication key, of RTP or of RTCP. Left out: a key
// derivation rate other than 0, so keys are derived once; they are the same for every SSRC.

/// The keys of RTP or RTCP in one direction.
package struct SRTPSessionKeys: ~Copyable {
    package let profile: SRTPProfile
    let encryption: SecretBytes
    let salt: SecretBytes
    /// Empty with an AEAD profile.
    let authentication: SecretBytes

    /// `salt` and `authentication` as long as the profile says.
    package init(
        profile: SRTPProfile, encryption: consuming SecretBytes, salt: consuming SecretBytes, authentication: consuming SecretBytes
    ) {
        self.profile = profile
        self.encryption = encryption
        self.salt = salt
        self.authentication = authentication
    }

    /// Derives them from `master`, which is key followed by salt; nil when its length is not that of the profile.
    package init?(profile: SRTPProfile, master: [UInt8], isRTCP: Bool) {
        guard let derivation = SRTPKeyDerivation(profile: profile, master: master) else { return nil }
        // RFC 3711 §4.3.2: 0, 1, 2 for RTP, 3, 4, 5 for RTCP.
        let first: UInt8 = isRTCP ? 3 : 0
        guard let encryption = derivation.secret(label: first, count: profile.keyCount),
            let authentication = derivation.secret(label: first + 1, count: profile.authenticationKeyCount),
            let salt = derivation.secret(label: first + 2, count: profile.saltCount)
        else { return nil }
        self.init(profile: profile, encryption: encryption, salt: salt, authentication: authentication)
    }
}

/// AES in counter mode as a source of keys.
package struct SRTPKeyDerivation: ~Copyable {
    private let cipher: OpaquePointer
    /// The master salt, at the left of the counter block.
    private let salt: SecretBytes

    package init?(profile: SRTPProfile, master: [UInt8]) {
        guard master.count == profile.keyCount + profile.saltCount,
            let cipher = csrtp_cipher_create(CSRTP_COUNTER, master, profile.keyCount)
        else { return nil }
        self.cipher = cipher
        salt = SecretBytes(copying: master[profile.keyCount...])
    }

    deinit { csrtp_cipher_free(cipher) }

    /// The first bytes of the stream with this label.
    package func secret(label: UInt8, count: Int) -> SecretBytes? {
        // x = label at octet 7, above a packet index of 48 bits that is 0, exclusive-or salt; a salt of 96 bits is filled with
        // zeros at its end (RFC 7714 §11). The counter block is x * 2^16.
        let block = SecretBytes(count: 16)
        block.withUnsafeMutableBytes { block in
            salt.withUnsafeBytes { block.copyBytes(from: $0) }
            block[7] ^= label
        }
        let secret = SecretBytes(count: count)
        let isDone = block.withUnsafeBytes { block in
            secret.withUnsafeMutableBytes { csrtp_counter_apply(cipher, block.baseAddress, $0.baseAddress, $0.baseAddress, count) }
        }
        guard isDone == 1 else { return nil }
        return secret
    }
}
