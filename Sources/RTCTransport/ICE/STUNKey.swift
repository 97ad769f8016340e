private import CSRTPCrypto

/// HMAC-SHA1 with an ICE password, for MESSAGE-INTEGRITY (RFC 8489 §14.5).
final class STUNKey {
    private let hmac: OpaquePointer

    /// Short-term credentials: the password is the key (RFC 8489 §9.1.1). Nil without memory.
    init?(password: String) {
        let bytes = Array(password.utf8)
        guard let hmac = csrtp_hmac_create(bytes, bytes.count) else { return nil }
        self.hmac = hmac
    }

    deinit { csrtp_hmac_free(hmac) }

    /// 20 bytes.
    func tag(of bytes: [UInt8]) -> [UInt8]? {
        var tag = [UInt8](repeating: 0, count: Self.tagCount)
        return csrtp_hmac_sign(hmac, bytes, bytes.count, nil, 0, &tag, tag.count) == 1 ? tag : nil
    }

    func verify(_ tag: [UInt8], of bytes: [UInt8]) -> Bool {
        tag.count == Self.tagCount && csrtp_hmac_verify(hmac, bytes, bytes.count, nil, 0, tag, tag.count) == 1
    }

    private static let tagCount = 20
}
