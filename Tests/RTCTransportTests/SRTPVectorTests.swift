import RTCTransport
import Testing

/// Values printed in RFC 3711 and RFC 7714.
@Suite("SRTP vectors")
struct SRTPVectorTests {
    @Test("RFC 3711 B.3: cipher key, salt and authentication key follow from the master key")
    func keyDerivation() throws {
        let master = bytes("E1F97A0D3E018BE0D64FA32C06DE4139 0EC675AD498AFEEBB6960B3AABE6")
        guard let derivation = SRTPKeyDerivation(profile: .aes128CMSHA1_80, master: master) else { throw Mismatch("keys refused") }
        #expect(secret(derivation, label: 0, count: 16) == bytes("C61E7A93744F39EE10734AFE3FF7A087"))
        #expect(secret(derivation, label: 2, count: 14) == bytes("30CBBC08863D8C85D49DB34A9AE1"))
        let authentication = bytes(
            """
            CEBE321F6FF7716B6FD4AB49AF256A15 6D38BAA48F0A0ACF3C34E2359E6CDBCE E049646C43D9327AD175578EF7227098
            6371C10C9A369AC2F94A8C5FBCDDDC25 6D6E919A48B610EF17C2041E47403576
            """)
        #expect(secret(derivation, label: 1, count: authentication.count) == authentication)
    }

    @Test("RFC 3711 B.2: the key stream of counter mode, at its start and where the counter's low byte wraps")
    func counterModeKeyStream() throws {
        let keys = SRTPSessionKeys(
            profile: .aes128CMSHA1_80, encryption: SecretBytes(copying: bytes("2B7E151628AED2A6ABF7158809CF4F3C")),
            salt: SecretBytes(copying: bytes("F0F1F2F3F4F5F6F7F8F9FAFBFCFD")), authentication: SecretBytes(count: 20))
        guard let transform = SRTPTransform(keys: keys, isRTCP: false, isInbound: false) else { throw Mismatch("keys refused") }
        // SSRC, rollover counter and number are 0; a payload of zeros becomes the key stream.
        let count = 12 + 16 * 0xff03
        let header: [UInt8] = [0x80] + [UInt8](repeating: 0, count: 11)
        var packet = header + [UInt8](repeating: 0, count: count - header.count + transform.trailerCount)
        let isSealed = packet.withUnsafeMutableBytes {
            transform.seal($0.baseAddress!, count: count, clearCount: 12, ssrc: 0, index: 0)
        }
        #expect(isSealed)
        #expect(Array(packet[..<12]) == header)
        let expected: [(block: Int, value: String)] = [
            (0, "E03EAD0935C95E80E166B16DD92B4EB4"), (1, "D23513162B02D0F72A43A2FE4A5F97AB"), (2, "41E95B3BB0A2E8DD477901E4FCA894C0"),
            (0xfeff, "EC8CDF7398607CB0F2D21675EA9EA1E4"), (0xff00, "362B7C3C6773516318A077D7FC5073AE"),
            (0xff01, "6A2CC3787889374FBEB4C81B17BA6C44"),
        ]
        for (block, value) in expected { #expect(Array(packet[(12 + 16 * block)...].prefix(16)) == bytes(value), "block \(block)") }
    }

    @Test(
        "RFC 7714 §16: a packet with AES-128 and AES-256, encrypted and decrypted",
        arguments: [
            (
                SRTPProfile.aeadAES128GCM,
                "f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf8833899d7f27beb16a9152cf765ee4390cce"
            ),
            (
                SRTPProfile.aeadAES256GCM,
                "32b1de78a822fe12ef9f78fa332e33aab18012389a58e2f3b50b2a0276ffae0f1ba63799b87b7aa3db36dfffd6b0f9bb7878d7a76c13"
            ),
        ])
    func gcm(profile: SRTPProfile, protected: String) throws {
        let plain = bytes(
            "8040f17b8041f8d35501a0b2 47616c6c696120657374206f6d6e697320646976697361 20696e207061727465732074726573")
        try check(
            profile, isRTCP: false, plain: plain, protected: Array(plain[..<12]) + bytes(protected), clearCount: 12, ssrc: 0x5501_a0b2,
            index: 0xf17b)
    }

    @Test("RFC 7714 §17: an SRTCP packet with AES-128; the index is authenticated, last, and carries the E bit")
    func gcmRTCP() throws {
        let plain = bytes(
            """
            81c8000d4d617273 4e5450314e545032525450200000042a0000e930 4c756e61
            deadbeefdeadbeefdeadbeefdeadbeefdeadbeef
            """)
        let protected = bytes(
            """
            63e94885dcdab67ca727d7662f6b7e997ff5c0f76c06f32dc676a5f1730d6fda4ce09b4686303ded0bb9275bc84aa458
            96cf4d2fc5abf87245d9eade 800005d4
            """)
        try check(
            .aeadAES128GCM, isRTCP: true, plain: plain, protected: Array(plain[..<8]) + protected, clearCount: 8, ssrc: 0x4d61_7273,
            index: 0x5d4)
    }

    /// Both directions with the session key 00 01 02 … and the salt "Quid pro quo".
    private func check(
        _ profile: SRTPProfile, isRTCP: Bool, plain: [UInt8], protected: [UInt8], clearCount: Int, ssrc: UInt32, index: Int64
    ) throws {
        func keys() -> SRTPSessionKeys {
            SRTPSessionKeys(
                profile: profile, encryption: SecretBytes(copying: (0..<profile.keyCount).map { UInt8($0) }),
                salt: SecretBytes(copying: bytes("517569642070726f2071756f")), authentication: SecretBytes(count: 0))
        }
        guard let sealing = SRTPTransform(keys: keys(), isRTCP: isRTCP, isInbound: false),
            let opening = SRTPTransform(keys: keys(), isRTCP: isRTCP, isInbound: true)
        else { throw Mismatch("keys refused") }
        var packet = plain + [UInt8](repeating: 0, count: sealing.trailerCount)
        let isSealed = packet.withUnsafeMutableBytes {
            sealing.seal($0.baseAddress!, count: plain.count, clearCount: clearCount, ssrc: ssrc, index: index)
        }
        #expect(isSealed)
        #expect(packet == protected)
        let isOpen = packet.withUnsafeMutableBytes {
            opening.open($0.baseAddress!, count: $0.count, clearCount: clearCount, ssrc: ssrc, index: index, into: $0.baseAddress!)
        }
        #expect(isOpen)
        #expect(Array(packet[..<plain.count]) == plain)
    }

    private func secret(_ derivation: borrowing SRTPKeyDerivation, label: UInt8, count: Int) -> [UInt8]? {
        guard let secret = derivation.secret(label: label, count: count) else { return nil }
        return secret.withUnsafeBytes { Array($0) }
    }

    private func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
