import CLibSRTP
import RTCTransport
import Testing

/// Our SRTP against libsrtp2, with the same keys and the same packets: what both write must be equal byte for byte, and what both
/// say about a packet must be equal as well.
@Suite("SRTP against libsrtp2")
struct SRTPReferenceTests {
    @Test("RTP: random headers and payloads are written alike and read by the other one", arguments: SRTPProfile.allCases)
    func rtp(profile: SRTPProfile) throws {
        let pair = try ReferencePair(profile)
        var generator = SplitMix(seed: 0x5247 + UInt64(profile.rawValue))
        // One stream begins before a wrap, one passes several.
        var numbers: [UInt32: Int] = [1: 65_000, 2: 0, UInt32.max: 40_000]
        for step in 0..<6000 {
            let ssrc = [1, 2, UInt32.max].randomElement(using: &generator)!
            numbers[ssrc, default: 0] += ssrc == 2 ? Int.random(in: 1...900, using: &generator) : 1
            let number = UInt16(truncatingIfNeeded: numbers[ssrc]!)
            let packet = TestPackets.rtp(ssrc: ssrc, number: number, using: &generator)
            guard try pair.exchange(packet, isRTCP: false) else { throw Mismatch("step \(step): \(packet)") }
        }
        #expect(numbers[2]! > 3 * 65_536)
    }

    @Test("RTCP: random packets of every length are written alike and read by the other one", arguments: SRTPProfile.allCases)
    func rtcp(profile: SRTPProfile) throws {
        let pair = try ReferencePair(profile)
        var generator = SplitMix(seed: 0x5247 + UInt64(profile.rawValue))
        for step in 0..<3000 {
            let packet = TestPackets.rtcp(ssrc: UInt32(step % 3), using: &generator)
            guard try pair.exchange(packet, isRTCP: true) else { throw Mismatch("step \(step): \(packet)") }
        }
    }

    @Test("a header without a payload, and one that fills the packet with its extension", arguments: SRTPProfile.allCases)
    func noPayload(profile: SRTPProfile) throws {
        let pair = try ReferencePair(profile)
        let plain: [UInt8] = [0x80, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9]
        let extended: [UInt8] = [0x92, 96, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0xbe, 0xde, 0, 1, 0x10, 1, 0, 0]
        #expect(try pair.exchange(plain, isRTCP: false))
        #expect(try pair.exchange(extended, isRTCP: false))
        #expect(try pair.exchange([0x80, 201, 0, 1, 0, 0, 0, 9], isRTCP: true))
    }

    @Test("loss, reordering, duplicates, wrong tags and changed headers have the same outcome", arguments: SRTPProfile.allCases)
    func outcomes(profile: SRTPProfile) throws {
        let pair = try ReferencePair(profile)
        var generator = SplitMix(seed: 0xD15C + UInt64(profile.rawValue))
        var sent: [[UInt8]] = []
        var seen: [SRTPFailure?: Int] = [:]
        for step in 0..<8000 {
            let number = UInt16(truncatingIfNeeded: 60_000 + step)
            let packet = TestPackets.rtp(ssrc: 7, number: number, using: &generator)
            sent.append(try #require(pair.sender.write(packet)))
            var arriving: [UInt8]
            switch Int.random(in: 0..<10, using: &generator) {
            case 0: continue
            // Late, a duplicate, or too old; the window has 1024 places.
            case 1...2: arriving = sent[max(0, sent.count - Int.random(in: 1...1200, using: &generator))]
            case 3:
                arriving = sent[sent.count - 1]
                // Everything but the version, the extension bit and the counts, which make another format of it.
                let bit = Int.random(in: 8..<(arriving.count * 8), using: &generator)
                // Not the SSRC or the number: those ask for another stream's state, below.
                guard !(16..<32).contains(bit), !(64..<96).contains(bit) else { continue }
                arriving[bit / 8] ^= 1 << UInt8(bit % 8)
            default: arriving = sent[sent.count - 1]
            }
            let ours = pair.receiver.read(arriving)
            let theirs = pair.referenceReceiver.read(arriving)
            switch (ours, theirs) {
            case (.success(let left), .success(let right)): #expect(left == right)
            case (.failure(let left), .failure(let right)): #expect(left == right || theirs == .failure(.other), "step \(step)")
            default: throw Mismatch("step \(step): \(ours) here, \(theirs) there")
            }
            if case .failure(let reason) = ours { seen[reason, default: 0] += 1 } else { seen[nil, default: 0] += 1 }
        }
        #expect(seen[nil, default: 0] > 4000 && seen[.replay, default: 0] > 100 && seen[.authentication, default: 0] > 100)
        #expect(pair.receiver.session.recoveries == 0)
    }

    @Test("SRTCP duplicates, reordering and changed bytes have the same outcome", arguments: SRTPProfile.allCases)
    func rtcpOutcomes(profile: SRTPProfile) throws {
        let pair = try ReferencePair(profile)
        var generator = SplitMix(seed: 0xD15D + UInt64(profile.rawValue))
        var sent: [[UInt8]] = []
        for step in 0..<5000 {
            sent.append(try #require(pair.sender.write(TestPackets.rtcp(ssrc: 7, using: &generator), isRTCP: true)))
            // libsrtp2 has a window of 128 here, ours is longer.
            var arriving = sent[max(0, sent.count - Int.random(in: 1...120, using: &generator))]
            if step % 5 == 0 {
                let bit = Int.random(in: 64..<(arriving.count * 8), using: &generator)
                // Not the E bit and the index: those may make an old packet of it.
                let word = arriving.count - (profile == .aes128CMSHA1_80 ? 14 : 4)
                guard !(word..<(word + 4)).contains(bit / 8) else { continue }
                arriving[bit / 8] ^= 1 << UInt8(bit % 8)
            }
            let ours = pair.receiver.read(arriving, isRTCP: true)
            let theirs = pair.referenceReceiver.read(arriving, isRTCP: true)
            guard ours == theirs else { throw Mismatch("step \(step): \(ours) here, \(theirs) there") }
        }
    }

    @Test(
        "SRTP-04 the same number protected again, and one 1000 places back, are written as libsrtp2 writes them",
        arguments: SRTPProfile.allCases)
    func repeats(profile: SRTPProfile) throws {
        let pair = try ReferencePair(profile)
        var generator = SplitMix(seed: 3)
        let packets = (0..<2000).map { TestPackets.rtp(ssrc: 4, number: UInt16(truncatingIfNeeded: 64_500 + $0), using: &generator) }
        for packet in packets { #expect(pair.sender.write(packet) == pair.reference.write(packet)) }
        for distance in [1, 2, 500, 1000, 1024] {
            let packet = packets[packets.count - distance]
            let again = try #require(pair.sender.write(packet))
            #expect(again == pair.reference.write(packet), "\(distance) back")
        }
        for distance in [1025, 1500, 2000] {
            #expect(pair.sender.write(packets[packets.count - distance]) == nil)
            #expect(pair.reference.write(packets[packets.count - distance]) == nil)
        }
    }

    @Test("SRTP-05 a stream that libsrtp2 sends with a rollover counter far ahead is found", arguments: SRTPProfile.allCases)
    func recovery(profile: SRTPProfile) throws {
        let pair = try ReferencePair(profile)
        var generator = SplitMix(seed: 4)
        #expect(clibsrtp_restart(pair.reference.context, 5, 9) == 1)
        var firstDelivered: Int?
        for step in 0..<40 {
            let packet = TestPackets.rtp(ssrc: 5, number: UInt16(1000 + step), using: &generator)
            let result = pair.receiver.read(try #require(pair.reference.write(packet)))
            if case .success(let plain) = result {
                #expect(plain == packet)
                firstDelivered = firstDelivered ?? step
            } else {
                #expect(firstDelivered == nil, "once found it is followed")
            }
        }
        #expect(firstDelivered == 7)
        #expect(pair.receiver.session.recoveries == 1)
    }

    @Test(
        "truncated and random packets have the same outcome as in libsrtp2 or a stricter one, and never trap",
        arguments: SRTPProfile.allCases)
    func fuzz(profile: SRTPProfile) throws {
        let pair = try ReferencePair(profile)
        var generator = SplitMix(seed: 0xF022 + UInt64(profile.rawValue))
        for step in 0..<10_000 {
            let isRTCP = Bool.random(using: &generator)
            let ssrc = UInt32.random(in: 0..<4, using: &generator)
            let plain =
                isRTCP
                ? TestPackets.rtcp(ssrc: ssrc, using: &generator)
                : TestPackets.rtp(ssrc: ssrc, number: UInt16.random(in: 0...300, using: &generator), using: &generator)
            // Some are refused on the sending side already, as too old.
            guard var packet = pair.sender.write(plain, isRTCP: isRTCP) else { continue }
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: packet.removeLast(Int.random(in: 1...packet.count, using: &generator))
            case 1: packet = (0..<packet.count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            case 2:
                for _ in 0..<3 {
                    packet[Int.random(in: 0..<packet.count, using: &generator)] = UInt8.random(in: .min ... .max, using: &generator)
                }
            default: packet[0] = packet[0] & 0xc0 | UInt8.random(in: 0..<64, using: &generator)
            }
            let ours = pair.receiver.read(packet, isRTCP: isRTCP)
            let theirs = pair.referenceReceiver.read(packet, isRTCP: isRTCP)
            if let left = try? ours.get() {
                #expect(left == (try? theirs.get()), "step \(step)")
            } else if let right = try? theirs.get() {
                #expect(packet[0] >> 6 != 2, "step \(step): only another version is refused here and not there: \(right)")
            }
        }
    }
}

/// Our session and libsrtp2 on both ends, all with the same keys.
private struct ReferencePair {
    let sender: OurEnd
    let receiver: OurEnd
    let reference: ReferenceEnd
    let referenceReceiver: ReferenceEnd

    init(_ profile: SRTPProfile) throws {
        let count = profile.keyCount + profile.saltCount
        var generator = SplitMix(seed: UInt64(profile.rawValue))
        let client = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let server = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        sender = OurEnd(try SRTPSession(keys: SRTPKeys(profile: profile, clientKey: client, serverKey: server, isClient: true)))
        receiver = OurEnd(try SRTPSession(keys: SRTPKeys(profile: profile, clientKey: client, serverKey: server, isClient: false)))
        reference = try #require(ReferenceEnd(profile, key: client, isInbound: false))
        referenceReceiver = try #require(ReferenceEnd(profile, key: client, isInbound: true))
    }

    /// Whether both write the same, and each reads what the other one has written.
    func exchange(_ packet: [UInt8], isRTCP: Bool) throws -> Bool {
        let ours = try #require(sender.write(packet, isRTCP: isRTCP))
        let theirs = try #require(reference.write(packet, isRTCP: isRTCP))
        #expect(ours == theirs)
        #expect(receiver.read(theirs, isRTCP: isRTCP) == .success(packet))
        #expect(referenceReceiver.read(ours, isRTCP: isRTCP) == .success(packet))
        #expect(receiver.read(theirs, isRTCP: isRTCP) == .failure(.replay))
        #expect(referenceReceiver.read(ours, isRTCP: isRTCP) == .failure(.replay))
        return ours == theirs
    }
}

private struct OurEnd {
    let session: SRTPSession

    init(_ session: SRTPSession) { self.session = session }

    func write(_ packet: [UInt8], isRTCP: Bool = false) -> [UInt8]? {
        var buffer = packet + [UInt8](repeating: 0, count: session.trailerCount(isRTCP: isRTCP))
        let count = buffer.withUnsafeMutableBytes { session.protect($0, count: packet.count, isRTCP: isRTCP) }
        return count.map { Array(buffer[..<$0]) }
    }

    func read(_ packet: [UInt8], isRTCP: Bool = false) -> Result<[UInt8], SRTPFailure> {
        var buffer = packet
        return buffer.withUnsafeMutableBytes { session.unprotect($0, isRTCP: isRTCP) }.map { Array(buffer[..<$0]) }
    }
}

private final class ReferenceEnd {
    let context: OpaquePointer

    init?(_ profile: SRTPProfile, key: [UInt8], isInbound: Bool) {
        guard let context = clibsrtp_context_create(UInt32(profile.rawValue), key, key.count, isInbound ? 1 : 0, 1024) else { return nil }
        self.context = context
    }

    deinit { clibsrtp_context_free(context) }

    func write(_ packet: [UInt8], isRTCP: Bool = false) -> [UInt8]? {
        var buffer = packet + [UInt8](repeating: 0, count: clibsrtp_trailer_count(context, isRTCP ? 1 : 0))
        var count = packet.count
        let status = buffer.withUnsafeMutableBytes { clibsrtp_protect(context, $0.baseAddress, &count, isRTCP ? 1 : 0) }
        return status == CLIBSRTP_OK ? Array(buffer[..<count]) : nil
    }

    func read(_ packet: [UInt8], isRTCP: Bool = false) -> Result<[UInt8], SRTPFailure> {
        // The library reads header fields before it compares lengths.
        var buffer = packet + [UInt8](repeating: 0, count: 64)
        var count = packet.count
        switch buffer.withUnsafeMutableBytes({ clibsrtp_unprotect(context, $0.baseAddress, &count, isRTCP ? 1 : 0) }) {
        case CLIBSRTP_OK: return .success(Array(buffer[..<count]))
        case CLIBSRTP_REPLAY: return .failure(.replay)
        case CLIBSRTP_AUTHENTICATION: return .failure(.authentication)
        default: return .failure(.other)
        }
    }
}

/// Well-formed packets with everything that may be in them.
private enum TestPackets {
    /// Contributing sources, an extension of either kind or of another profile, padding, payloads down to nothing.
    static func rtp(ssrc: UInt32, number: UInt16, using generator: inout SplitMix) -> [UInt8] {
        let sources = Bool.random(using: &generator) ? 0 : Int.random(in: 1...15, using: &generator)
        let profile = [0, 0xbede, 0x1000, 0x1234].randomElement(using: &generator)!
        let padding = Int.random(in: 0..<4, using: &generator) == 0 ? Int.random(in: 1...20, using: &generator) : 0
        var packet: [UInt8] = [UInt8(0x80 | (padding > 0 ? 0x20 : 0) | (profile > 0 ? 0x10 : 0) | sources)]
        packet += random(1, using: &generator) + big(UInt32(number), count: 2) + random(4, using: &generator) + big(ssrc, count: 4)
        packet += random(4 * sources, using: &generator)
        if profile > 0 {
            let words = Int.random(in: 0...6, using: &generator)
            packet += big(UInt32(profile), count: 2) + big(UInt32(words), count: 2) + random(4 * words, using: &generator)
        }
        packet += random([0, 1, 15, 16, 17, 100, 1100].randomElement(using: &generator)!, using: &generator)
        if padding > 0 { packet += [UInt8](repeating: 0, count: padding - 1) + [UInt8(padding)] }
        return packet
    }

    /// A report with a body of any number of words.
    static func rtcp(ssrc: UInt32, using generator: inout SplitMix) -> [UInt8] {
        let words = Int.random(in: 0...100, using: &generator)
        return [0x81, 201] + big(UInt32(1 + words), count: 2) + big(ssrc, count: 4) + random(4 * words, using: &generator)
    }

    private static func random(_ count: Int, using generator: inout SplitMix) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            let word = generator.next()
            for shift in 0..<8 as Range<UInt64> { bytes.append(UInt8(truncatingIfNeeded: word >> (8 * shift))) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    private static func big(_ value: UInt32, count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> UInt32(8 * $0)) }
    }
}
