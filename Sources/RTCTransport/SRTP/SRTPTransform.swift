import CSRTPCrypto

// Encryption and authentication of one packet whose index is known. In: a packet and its SSRC and index. Out: the packet with
// its trailer, or its payload in the clear if the tag is right. RFC 3711 §4.1.1 and §4.2 (counter mode, HMAC-SHA1), §3.4
// (SRTCP), RFC 7714 §8 and §9 (GCM). No state but the keys: indexes, replay and streams are the session's.
//
//     SRTP          header | payload | tag
//     SRTCP, GCM    header | payload | tag | E, index
//     SRTCP, CM     header | payload | E, index | tag

/// The keyed step for RTP or RTCP in one direction. Network thread only; allocates nothing after `init`.
package final class SRTPTransform {
    package let isRTCP: Bool
    /// Bytes that a protected packet is longer.
    package let trailerCount: Int
    private let tagCount: Int
    private let cipher: OpaquePointer
    /// Nil with GCM, whose cipher authenticates as well.
    private let hmac: OpaquePointer?
    /// The salt at the left of 16 bytes, as big-endian halves.
    private let saltHigh: UInt64
    private let saltLow: UInt64

    /// Nil when libcrypto refuses the keys.
    package init?(keys: borrowing SRTPSessionKeys, isRTCP: Bool, isInbound: Bool) {
        let profile = keys.profile
        guard keys.salt.count == profile.saltCount, keys.authentication.count == profile.authenticationKeyCount else { return nil }
        let mode = !profile.isAEAD ? CSRTP_COUNTER : isInbound ? CSRTP_GCM_OPEN : CSRTP_GCM_SEAL
        guard let cipher = keys.encryption.withUnsafeBytes({ csrtp_cipher_create(mode, $0.baseAddress, $0.count) }) else { return nil }
        var hmac: OpaquePointer?
        if !profile.isAEAD {
            hmac = keys.authentication.withUnsafeBytes { csrtp_hmac_create($0.baseAddress, $0.count) }
            guard hmac != nil else {
                csrtp_cipher_free(cipher)
                return nil
            }
        }
        self.cipher = cipher
        self.hmac = hmac
        self.isRTCP = isRTCP
        tagCount = profile.tagCount
        trailerCount = profile.tagCount + (isRTCP ? Self.indexCount : 0)
        (saltHigh, saltLow) = keys.salt.withUnsafeBytes { salt in
            func half(_ range: Range<Int>) -> UInt64 { range.reduce(0) { $0 << 8 | ($1 < salt.count ? UInt64(salt[$1]) : 0) } }
            return (half(0..<8), half(8..<16))
        }
    }

    deinit {
        csrtp_cipher_free(cipher)
        csrtp_hmac_free(hmac)
    }

    /// Encrypts what follows the first `clearCount` of `count` bytes and writes the trailer behind them.
    package func seal(_ packet: UnsafeMutableRawPointer, count: Int, clearCount: Int, ssrc: UInt32, index: Int64) -> Bool {
        let payload = packet + clearCount
        let payloadCount = count - clearCount
        guard let hmac else {
            let tag = (packet + count).assumingMemoryBound(to: UInt8.self)
            let word = packet + count + tagCount
            if isRTCP { word.storeBytes(of: Self.word(index).bigEndian, as: UInt32.self) }
            return withGCMBlock(ssrc, index) {
                csrtp_gcm_seal(cipher, $0, packet, clearCount, isRTCP ? word : nil, trailerCount - tagCount, payload, payloadCount, tag)
            }
        }
        guard withCounterBlock(ssrc, index, { csrtp_counter_apply(cipher, $0, payload, payload, payloadCount) }) else { return false }
        if isRTCP {
            (packet + count).storeBytes(of: Self.word(index).bigEndian, as: UInt32.self)
            let signed = count + Self.indexCount
            return csrtp_hmac_sign(hmac, packet, signed, nil, 0, packet + signed, tagCount) == 1
        }
        return withRollover(index) { csrtp_hmac_sign(hmac, packet, count, $0, Self.rolloverCount, packet + count, tagCount) }
    }

    /// Whether the tag of the packet of `count` bytes, trailer and all, is right for this index; then what follows the first
    /// `clearCount` bytes is decrypted to the same place in `output`. `output` is the packet itself or as much room elsewhere;
    /// after a failure the part behind `clearCount` is worthless there, and elsewhere the packet is as it was.
    package func open(
        _ packet: UnsafeMutableRawPointer, count: Int, clearCount: Int, ssrc: UInt32, index: Int64, into output: UnsafeMutableRawPointer
    ) -> Bool {
        let payload = packet + clearCount
        let payloadCount = count - trailerCount - clearCount
        guard let hmac else {
            let tag = (payload + payloadCount).assumingMemoryBound(to: UInt8.self)
            let word = isRTCP ? packet + count - Self.indexCount : nil
            return withGCMBlock(ssrc, index) {
                csrtp_gcm_open(
                    cipher, $0, packet, clearCount, word, trailerCount - tagCount, payload, output + clearCount, payloadCount, tag)
            }
        }
        let signed = count - tagCount
        let isAuthentic =
            isRTCP
            ? csrtp_hmac_verify(hmac, packet, signed, nil, 0, packet + signed, tagCount) == 1
            : withRollover(index) { csrtp_hmac_verify(hmac, packet, signed, $0, Self.rolloverCount, packet + signed, tagCount) }
        guard isAuthentic else { return false }
        return withCounterBlock(ssrc, index) { csrtp_counter_apply(cipher, $0, payload, output + clearCount, payloadCount) }
    }

    /// The E bit and the index of a protected RTCP packet, which has at least the trailer (RFC 3711 §3.4).
    package func rtcpIndex(_ packet: UnsafeMutableRawPointer, count: Int) -> (isEncrypted: Bool, index: Int64) {
        let offset = count - (hmac == nil ? Self.indexCount : trailerCount)
        let word = UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        return (word & Self.encryptedBit != 0, Int64(word & ~Self.encryptedBit))
    }

    private static func word(_ index: Int64) -> UInt32 { encryptedBit | UInt32(truncatingIfNeeded: index) & ~encryptedBit }

    /// RFC 3711 §4.1.1: salt * 2^16 xor SSRC * 2^64 xor index * 2^16.
    private func withCounterBlock(_ ssrc: UInt32, _ index: Int64, _ body: (UnsafePointer<UInt8>?) -> Int32) -> Bool {
        Self.withBlock(saltHigh ^ UInt64(ssrc), saltLow ^ UInt64(bitPattern: index) << 16, body)
    }

    /// RFC 7714 §8.1 and §9.1: two zero octets, SSRC, six octets of index, all xor salt.
    private func withGCMBlock(_ ssrc: UInt32, _ index: Int64, _ body: (UnsafePointer<UInt8>?) -> Int32) -> Bool {
        let index = UInt64(bitPattern: index)
        return Self.withBlock(saltHigh ^ (UInt64(ssrc) << 16 | index >> 32 & 0xffff), saltLow ^ index << 32, body)
    }

    private static func withBlock(_ high: UInt64, _ low: UInt64, _ body: (UnsafePointer<UInt8>?) -> Int32) -> Bool {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { body($0.baseAddress?.assumingMemoryBound(to: UInt8.self)) == 1 }
    }

    /// What the tag of an RTP packet covers besides the packet (RFC 3711 §4.2).
    private func withRollover(_ index: Int64, _ body: (UnsafeRawPointer?) -> Int32) -> Bool {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: index >> 16).bigEndian) { body($0.baseAddress) == 1 }
    }

    private static let indexCount = 4
    private static let rolloverCount = 4
    private static let encryptedBit: UInt32 = 0x8000_0000
}
