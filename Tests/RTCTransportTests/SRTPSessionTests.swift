import CSRTPCrypto
import RTCTransport
import Testing

@Suite("SRTPSession")
struct SRTPSessionTests {
    @Test("SRTP-08 a packet of every profile survives protect and unprotect", arguments: SRTPProfile.allCases)
    func roundTrip(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let rtp = pair.packet(ssrc: 1, number: 7)
        let protected = try #require(pair.protect(rtp))
        #expect(protected.count == rtp.count + (profile == .aes128CMSHA1_80 ? 10 : 16))
        #expect(protected != rtp)
        #expect(try pair.unprotect(protected).get() == rtp)

        let rtcp = pair.receiverReport(ssrc: 1)
        let protectedReport = try #require(pair.protect(rtcp, isRTCP: true))
        #expect(try pair.unprotect(protectedReport, isRTCP: true).get() == rtcp)
    }

    @Test("SRTP-08 key lengths follow from the profile and the exporter's order is cut right", arguments: SRTPProfile.allCases)
    func keyLayout(profile: SRTPProfile) throws {
        let key = profile == .aeadAES256GCM ? 32 : 16
        let salt = profile == .aes128CMSHA1_80 ? 14 : 12
        let exported = [UInt8](0..<UInt8(2 * (key + salt)))
        let keys = try #require(SRTPKeys(profile: profile, exported: exported, isClient: true))
        #expect(keys.clientKey == Array(exported[..<key]) + Array(exported[(2 * key)..<(2 * key + salt)]))
        #expect(keys.serverKey == Array(exported[key..<(2 * key)]) + Array(exported[(2 * key + salt)...]))
        #expect(SRTPKeys(profile: profile, exported: Array(exported.dropLast()), isClient: true) == nil)
        #expect(!"\(keys)".contains("31"), "keys appear in no description")
    }

    @Test("SRTP-08 a key of another profile's length is refused with a typed error")
    func wrongKeyLength() {
        let keys = SRTPKeys(
            profile: .aeadAES256GCM, clientKey: [UInt8](repeating: 1, count: 28), serverKey: [UInt8](repeating: 2, count: 28),
            isClient: true)
        #expect { try SRTPSession(keys: keys) } throws: { ($0 as? TransportError)?.kind == .srtpFailed }
    }

    @Test("SRTP-01 one SSRC wraps while another goes on", arguments: SRTPProfile.allCases)
    func wrapIsPerSource(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        for step in 0..<200 {
            let video = pair.packet(ssrc: 10, number: UInt16(truncatingIfNeeded: 65436 + step))
            let audio = pair.packet(ssrc: 11, number: UInt16(500 + step))
            for packet in [video, audio] {
                let protected = try #require(pair.protect(packet))
                #expect(try pair.unprotect(protected).get() == packet)
            }
        }
        #expect(pair.receiver.recoveries == 0)
    }

    @Test("SRTP-04 a packet 1000 places late and the same number protected again are accepted; a duplicate is a replay")
    func lateRetransmission() throws {
        let pair = try SRTPPair()
        let lost = pair.packet(ssrc: 5, number: 100)
        let first = try #require(pair.protect(lost))
        for number in 101...1100 { #expect(try pair.deliver(pair.packet(ssrc: 5, number: UInt16(number)))) }
        let again = try #require(pair.protect(lost), "the sender may repeat a number")
        #expect(again == first)
        #expect(try pair.unprotect(again).get() == lost)
        #expect(pair.unprotect(again) == .failure(.replay))
    }

    @Test(
        "SRTP-05 a gap of any length below sixteen wraps is followed within a few packets", arguments: [33_000, 70_000, 250_000, 900_000])
    func longGap(gap: Int) throws {
        let pair = try SRTPPair()
        let start = 40_000
        for number in start..<(start + 50) { #expect(try pair.deliver(pair.packet(ssrc: 9, number: UInt16(number)))) }
        // The sender goes on, nothing arrives.
        let resumed = start + 50 + gap
        for number in stride(from: start + 50, to: resumed, by: 20_000) {
            _ = pair.protect(pair.packet(ssrc: 9, number: UInt16(truncatingIfNeeded: number)))
        }
        var lost = 0
        for step in 0..<100 {
            if try !pair.deliver(pair.packet(ssrc: 9, number: UInt16(truncatingIfNeeded: resumed + step))) { lost += 1 }
            #expect(try pair.deliver(pair.packet(ssrc: 77, number: UInt16(step))), "other streams are not affected")
        }
        #expect(lost < 10)
        #expect(pair.receiver.recoveries == 1)
    }

    @Test("SRTP-05 a stream joined after its first wraps is followed")
    func joinedLate() throws {
        let pair = try SRTPPair()
        for number in stride(from: 0, to: 200_000, by: 20_000) {
            _ = pair.protect(pair.packet(ssrc: 9, number: UInt16(truncatingIfNeeded: number)))
        }
        let delivered = try (200_000..<200_040).filter {
            try pair.deliver(pair.packet(ssrc: 9, number: UInt16(truncatingIfNeeded: $0)))
        }
        #expect(delivered.count > 30)
    }

    @Test("SRTP-05 forged failures do not let a recorded packet in again")
    func recoveryIsNoReplay() throws {
        let pair = try SRTPPair()
        let recorded = try #require(pair.protect(pair.packet(ssrc: 9, number: 20)))
        #expect(try pair.unprotect(recorded).get().count > 0)
        for number in 21..<3000 { #expect(try pair.deliver(pair.packet(ssrc: 9, number: UInt16(number)))) }
        var forged = recorded
        forged[forged.count - 1] ^= 1
        for _ in 0..<7 { #expect(throws: SRTPFailure.self) { try pair.unprotect(forged).get() } }
        #expect(pair.unprotect(recorded) == .failure(.replay))
        for _ in 0..<500 { _ = pair.unprotect(recorded) }
        #expect(pair.receiver.recoveries == 0)
        #expect(try pair.deliver(pair.packet(ssrc: 9, number: 3000)), "the stream itself goes on")
    }

    @Test("SRTP-07 the first packet of an SSRC with a wrong tag is not delivered, the next good one is", arguments: SRTPProfile.allCases)
    func wrongTagFirst(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let packet = pair.packet(ssrc: 3, number: 1)
        let good = try #require(pair.protect(packet))
        var bad = good
        bad[bad.count - 1] ^= 0x80
        #expect(pair.unprotect(bad) == .failure(.authentication))
        #expect(try pair.unprotect(good).get() == packet)
    }

    @Test("RFC 3711 §3.4 a changed or repeated SRTCP packet is refused", arguments: SRTPProfile.allCases)
    func rtcpReplay(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let good = try #require(pair.protect(pair.receiverReport(ssrc: 3), isRTCP: true))
        var bad = good
        bad[9] ^= 1
        #expect(pair.unprotect(bad, isRTCP: true) == .failure(.authentication))
        #expect(try pair.unprotect(good, isRTCP: true).get() == pair.receiverReport(ssrc: 3))
        #expect(pair.unprotect(good, isRTCP: true) == .failure(.replay))
    }

    @Test("SRTP-07 a packet that fails changes nothing: its number and its SSRC are still free", arguments: SRTPProfile.allCases)
    func failureLeavesNoTrace(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        for number in 1...5 { #expect(try pair.deliver(pair.packet(ssrc: 3, number: UInt16(number)))) }
        let good = try #require(pair.protect(pair.packet(ssrc: 3, number: 20_000)))
        for position in 12..<good.count {
            var bad = good
            bad[position] ^= 4
            #expect(pair.unprotect(bad) == .failure(.authentication))
            // Were the forged number taken, these would be too old.
            if position < 17 { #expect(try pair.deliver(pair.packet(ssrc: 4, number: UInt16(position)))) }
        }
        // From another sender with the same keys: to this one the number is too old.
        let next = try #require(SRTPPair(profile).protect(pair.packet(ssrc: 3, number: 6)))
        #expect(try pair.unprotect(next).get() == pair.packet(ssrc: 3, number: 6))
        #expect(try pair.unprotect(good).get() == pair.packet(ssrc: 3, number: 20_000))
    }

    @Test("SRTP-07 whatever byte of a protected packet is changed, nothing is delivered", arguments: SRTPProfile.allCases)
    func everyByteIsAuthenticated(profile: SRTPProfile) throws {
        for isRTCP in [false, true] {
            let pair = try SRTPPair(profile)
            let good = try #require(
                isRTCP
                    ? pair.protect(pair.receiverReport(ssrc: 3) + [1, 2, 3, 4], isRTCP: true)
                    : pair.protect(pair.packet(ssrc: 3, number: 1)))
            for position in 0..<good.count {
                for bit in 0..<8 {
                    var bad = good
                    bad[position] ^= 1 << UInt8(bit)
                    #expect(throws: SRTPFailure.self) { try pair.unprotect(bad, isRTCP: isRTCP).get() }
                }
            }
            #expect(throws: Never.self) { try pair.unprotect(good, isRTCP: isRTCP).get() }
        }
    }

    @Test("RFC 3711 §3.4 SRTCP without the E bit is authenticated and read as it is", arguments: SRTPProfile.allCases)
    func unencryptedRTCP(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let report = pair.receiverReport(ssrc: 3) + [1, 2, 3, 4]
        let packet = try #require(unencrypted(report, index: 77, profile))
        var bad = packet
        bad[9] ^= 1
        #expect(pair.unprotect(bad, isRTCP: true) == .failure(.authentication))
        // The bit itself is authenticated.
        bad = packet
        bad[report.count + (profile == .aes128CMSHA1_80 ? 0 : 16)] ^= 0x80
        #expect(pair.unprotect(bad, isRTCP: true) == .failure(.authentication))
        #expect(try pair.unprotect(packet, isRTCP: true).get() == report)
        #expect(pair.unprotect(packet, isRTCP: true) == .failure(.replay))
    }

    /// Written by hand: a session always encrypts.
    private func unencrypted(_ report: [UInt8], index: UInt8, _ profile: SRTPProfile) -> [UInt8]? {
        guard let derivation = SRTPKeyDerivation(profile: profile, master: SRTPPair.clientKey(profile)) else { return nil }
        func secret(_ label: UInt8, _ count: Int) -> [UInt8] {
            derivation.secret(label: label, count: count)?.withUnsafeBytes { Array($0) } ?? []
        }
        let word: [UInt8] = [0, 0, 0, index]
        guard profile != .aes128CMSHA1_80 else {
            let hmac = csrtp_hmac_create(secret(4, 20), 20)
            defer { csrtp_hmac_free(hmac) }
            var tag = [UInt8](repeating: 0, count: 10)
            return csrtp_hmac_sign(hmac, report, report.count, word, 4, &tag, 10) == 1 ? report + word + tag : nil
        }
        let cipher = csrtp_cipher_create(CSRTP_GCM_SEAL, secret(3, profile.keyCount), profile.keyCount)
        defer { csrtp_cipher_free(cipher) }
        let salt = secret(5, 12)
        let nonce = zip(salt, [0, 0] + report[4..<8] + [0, 0, 0, 0, 0, index]).map { $0 ^ $1 }
        var tag = [UInt8](repeating: 0, count: 16)
        return csrtp_gcm_seal(cipher, nonce, report, report.count, word, 4, nil, 0, &tag) == 1 ? report + tag + word : nil
    }

    @Test("our own SSRCs have a bound, and none is forgotten: an index is never used twice")
    func outboundBound() throws {
        let pair = try SRTPPair()
        let first = pair.packet(ssrc: 0, number: 65_535)
        let wrapped = pair.packet(ssrc: 0, number: 0)
        _ = try #require(pair.protect(first))
        for ssrc in 1..<4096 as Range<UInt32> { _ = try #require(pair.protect(pair.packet(ssrc: ssrc, number: 1))) }
        #expect(pair.protect(pair.packet(ssrc: 5000, number: 1)) == nil)
        #expect(try pair.unprotect(#require(pair.protect(first))).get() == first)
        #expect(try pair.deliver(wrapped), "the counter of the first one went on")
    }

    @Test("protect refuses what is no packet")
    func malformedOutbound() throws {
        let pair = try SRTPPair()
        #expect(pair.protect([]) == nil)
        #expect(pair.protect([UInt8](repeating: 0, count: 40)) == nil, "version 0")
        #expect(pair.protect([0x8f] + [UInt8](repeating: 0, count: 20)) == nil, "contributing sources beyond the end")
        #expect(pair.protect([0x90] + [UInt8](repeating: 0, count: 13) + [0, 9]) == nil, "extension beyond the end")
        #expect(pair.protect([0x80, 201, 0, 0], isRTCP: true) == nil)
    }

    @Test("short, empty and random packets fail and never trap")
    func garbage() throws {
        let pair = try SRTPPair()
        var generator = SplitMix(seed: 0x5EED)
        for count in 0..<400 {
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            for isRTCP in [false, true] {
                var headed = bytes
                if count > 0 { headed[0] = 0x80 | headed[0] & 0x3f }
                #expect(throws: SRTPFailure.self) { try pair.unprotect(headed, isRTCP: isRTCP).get() }
            }
        }
    }

    @Test("protect refuses a buffer without room for the tag")
    func noRoom() throws {
        let pair = try SRTPPair()
        var packet = pair.packet(ssrc: 1, number: 1)
        packet.withUnsafeMutableBytes { #expect(pair.sender.protect($0, count: $0.count, isRTCP: false) == nil) }
    }

    @Test("more SSRCs than are kept push out the ones silent for longest, not the live one")
    func manySources() throws {
        let pair = try SRTPPair()
        for ssrc in 100..<1100 {
            #expect(try pair.deliver(pair.packet(ssrc: UInt32(ssrc), number: 1)))
            #expect(try pair.deliver(pair.packet(ssrc: 1, number: UInt16(ssrc))))
        }
        let recorded = try #require(pair.protect(pair.packet(ssrc: 1, number: 2000)))
        #expect(throws: Never.self) { try pair.unprotect(recorded).get() }
        #expect(pair.unprotect(recorded) == .failure(.replay), "the live stream's replay window is still there")
        let pushedOut = try #require(pair.protect(pair.packet(ssrc: 100, number: 1)))
        #expect(throws: Never.self) { try pair.unprotect(pushedOut).get() }
    }
}

/// Two sessions with the same keys; `sender` is the DTLS client.
struct SRTPPair {
    let sender: SRTPSession
    let receiver: SRTPSession

    init(_ profile: SRTPProfile = .aeadAES128GCM) throws {
        let client = SRTPPair.clientKey(profile)
        let server = (0..<client.count).map { UInt8(truncatingIfNeeded: $0 * 5 + 2) }
        sender = try SRTPSession(keys: SRTPKeys(profile: profile, clientKey: client, serverKey: server, isClient: true))
        receiver = try SRTPSession(keys: SRTPKeys(profile: profile, clientKey: client, serverKey: server, isClient: false))
    }

    /// Key and salt of what `sender` sends.
    static func clientKey(_ profile: SRTPProfile) -> [UInt8] {
        (0..<(profile.keyCount + profile.saltCount)).map { UInt8(truncatingIfNeeded: $0 * 7 + 1) }
    }

    func packet(ssrc: UInt32, number: UInt16) -> [UInt8] {
        var bytes: [UInt8] = [0x80, 96, UInt8(number >> 8), UInt8(number & 0xff), 0, 0, 0, 1]
        bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: ssrc >> $0) }
        return bytes + (0..<40).map { UInt8($0) ^ UInt8(number & 0xff) }
    }

    func receiverReport(ssrc: UInt32) -> [UInt8] { [0x80, 201, 0, 1] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: ssrc >> $0) } }

    func protect(_ packet: [UInt8], isRTCP: Bool = false) -> [UInt8]? {
        var buffer = packet + [UInt8](repeating: 0, count: sender.trailerCount(isRTCP: isRTCP))
        let count = buffer.withUnsafeMutableBytes { sender.protect($0, count: packet.count, isRTCP: isRTCP) }
        return count.map { Array(buffer[..<$0]) }
    }

    func unprotect(_ packet: [UInt8], isRTCP: Bool = false) -> Result<[UInt8], SRTPFailure> {
        var buffer = packet
        return buffer.withUnsafeMutableBytes { receiver.unprotect($0, isRTCP: isRTCP) }.map { Array(buffer[..<$0]) }
    }

    /// Protects and unprotects; whether the packet came out as it went in.
    func deliver(_ packet: [UInt8]) throws -> Bool {
        let protected = try #require(protect(packet))
        return (try? unprotect(protected).get()) == packet
    }
}

/// A small seeded generator, so that a failure can be replayed.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Ends a test whose further steps would say nothing.
struct Mismatch: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
