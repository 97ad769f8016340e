/// A protection profile of DTLS-SRTP; the raw value is its number on the wire (RFC 5764 §4.1.2, RFC 7714 §14.2).
package enum SRTPProfile: UInt16, Sendable, Hashable, CaseIterable {
    case aes128CMSHA1_80 = 1
    case aeadAES128GCM = 7
    case aeadAES256GCM = 8

    /// Best first. GCM costs two thirds of counter mode with SHA-1 (0002); counter mode is what every peer must have.
    package static let preferred: [SRTPProfile] = [.aeadAES128GCM, .aeadAES256GCM, .aes128CMSHA1_80]

    /// Bytes of master key and master salt. They follow from the profile alone, never from the cipher of the DTLS session.
    package var keyCount: Int { self == .aeadAES256GCM ? 32 : 16 }
    package var saltCount: Int { isAEAD ? 12 : 14 }

    /// Whether the cipher authenticates as well (RFC 7714); otherwise HMAC-SHA1 does.
    var isAEAD: Bool { self != .aes128CMSHA1_80 }
    /// Bytes of the authentication tag of RTP and of RTCP.
    var tagCount: Int { isAEAD ? 16 : 10 }
    /// Bytes of the HMAC key (RFC 3711 §8.2).
    var authenticationKeyCount: Int { isAEAD ? 0 : 20 }

    /// As OpenSSL writes it in a list of profiles.
    var openSSLName: String {
        switch self {
        case .aes128CMSHA1_80: "SRTP_AES128_CM_SHA1_80"
        case .aeadAES128GCM: "SRTP_AEAD_AES_128_GCM"
        case .aeadAES256GCM: "SRTP_AEAD_AES_256_GCM"
        }
    }
}

/// What a DTLS handshake yields for SRTP: one master key per direction. Not printable on purpose.
package struct SRTPKeys: Sendable, CustomStringConvertible, CustomReflectable {
    package var profile: SRTPProfile
    /// Key followed by salt, of what the DTLS client sends.
    package var clientKey: [UInt8]
    /// Key followed by salt, of what the DTLS server sends.
    package var serverKey: [UInt8]
    /// Whether our end is the DTLS client.
    package var isClient: Bool

    package init(profile: SRTPProfile, clientKey: [UInt8], serverKey: [UInt8], isClient: Bool) {
        self.profile = profile
        self.clientKey = clientKey
        self.serverKey = serverKey
        self.isClient = isClient
    }

    /// Cuts the exporter's output, which has client key, server key, client salt, server salt in this order (RFC 5764 §4.2).
    /// Nil when its length is not that of the profile.
    package init?(profile: SRTPProfile, exported: [UInt8], isClient: Bool) {
        let key = profile.keyCount
        let salt = profile.saltCount
        guard exported.count == 2 * (key + salt) else { return nil }
        let salts = 2 * key
        self.init(
            profile: profile,
            clientKey: Array(exported[0..<key] + exported[salts..<(salts + salt)]),
            serverKey: Array(exported[key..<salts] + exported[(salts + salt)...]),
            isClient: isClient)
    }

    package var description: String { "SRTPKeys(\(profile))" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
