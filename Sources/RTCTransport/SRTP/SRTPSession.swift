import RTCBase

// The cryptographic step of the media path: SRTP and SRTCP packets in and out, in place.
//
// In: keys from the DTLS handshake; then single packets in the caller's buffer. Out: the same buffer, shorter or longer.
// RFC 3711 (index and replay, §3.3; SRTCP, §3.4), RFC 7714 (GCM), RFC 5764 (keys). Any SSRC is accepted; each has its own
// rollover counter and replay windows. Nothing is allocated for a packet of a known SSRC. Left out: MKI, header extension
// encryption, re-keying.
//
// What goes beyond the RFC is a way back for a stream whose index got lost. A receiver guesses the 32-bit rollover counter
// from the 16-bit number (RFC 3711 §3.3.1), and that guess holds for gaps below 2^15 packets. After a longer gap (a layer paused
// for minutes, a long outage) every packet is read with the wrong counter and fails authentication, for ever, because only a
// packet that passes moves the counter. The same happens to a stream that is joined after its first wrap. So when an SSRC fails
// several times in a row, the newest packet is tried with the counters that may come next; the first one whose tag is right is
// adopted. Only indexes ahead of the highest authenticated one are tried: a recorded packet has an index at or below it and
// cannot be replayed by provoking failures.

/// Why a packet was not unprotected.
package enum SRTPFailure: Error, Sendable, Hashable {
    /// Seen before, or older than the replay window.
    case replay
    /// Not from the peer, damaged, or read with the wrong index.
    case authentication
    /// Not a packet of the format.
    case other
}

/// Both directions of SRTP for one connection. Network thread only.
package final class SRTPSession {
    private let inboundRTP: SRTPTransform
    private let inboundRTCP: SRTPTransform
    private let outboundRTP: SRTPTransform
    private let outboundRTCP: SRTPTransform

    private var inbound = SRTPSources()
    private var failures = SRTPFailures()
    private var outbound: [UInt32: OutboundSource] = [:]
    /// Where a packet is decrypted as long as it may have to be read again with another counter.
    private let scratch: UnsafeMutableRawBufferPointer

    /// How often a stream was taken up again with another rollover counter.
    package private(set) var recoveries: UInt64 = 0

    package init(keys: SRTPKeys) throws(TransportError) {
        func transform(_ master: [UInt8], isRTCP: Bool, isInbound: Bool) throws(TransportError) -> SRTPTransform {
            guard let sessionKeys = SRTPSessionKeys(profile: keys.profile, master: master, isRTCP: isRTCP),
                let transform = SRTPTransform(keys: sessionKeys, isRTCP: isRTCP, isInbound: isInbound)
            else { throw TransportError(.srtpFailed, "SRTP refused the \(isInbound ? "inbound" : "outbound") key for \(keys.profile)") }
            return transform
        }
        let inboundKey = keys.isClient ? keys.serverKey : keys.clientKey
        let outboundKey = keys.isClient ? keys.clientKey : keys.serverKey
        inboundRTP = try transform(inboundKey, isRTCP: false, isInbound: true)
        inboundRTCP = try transform(inboundKey, isRTCP: true, isInbound: true)
        outboundRTP = try transform(outboundKey, isRTCP: false, isInbound: false)
        outboundRTCP = try transform(outboundKey, isRTCP: true, isInbound: false)
        scratch = .allocate(byteCount: SRTPSession.scratchBytes, alignment: 16)
    }

    deinit { scratch.deallocate() }

    /// Spare bytes `protect` needs behind a packet.
    package func trailerCount(isRTCP: Bool) -> Int { (isRTCP ? outboundRTCP : outboundRTP).trailerCount }

    /// Decrypts and checks in place. The new length, or why the packet must be dropped; then the bytes are worthless.
    package func unprotect(_ packet: UnsafeMutableRawBufferPointer, isRTCP: Bool) -> Result<Int, SRTPFailure> {
        isRTCP ? unprotectRTCP(packet) : unprotectRTP(packet)
    }

    /// Encrypts in place. `buffer` is the packet of `count` bytes with `trailerCount` spare bytes behind it. The new length, or
    /// nil when there is no room, the packet is not one, or its number lies more than a replay window behind. The same RTP
    /// number may be protected again (a repeated transmission of the same bytes).
    package func protect(_ buffer: UnsafeMutableRawBufferPointer, count: Int, isRTCP: Bool) -> Int? {
        let transform = isRTCP ? outboundRTCP : outboundRTP
        guard let base = buffer.baseAddress, count >= 0, count <= SRTPSession.longestPacket,
            count <= buffer.count - transform.trailerCount,
            let clearCount = SRTPSession.clearCount(UnsafeRawBufferPointer(rebasing: buffer[..<count]), isRTCP: isRTCP)
        else { return nil }
        let ssrc = UInt32(bigEndian: base.loadUnaligned(fromByteOffset: isRTCP ? 4 : 8, as: UInt32.self))
        let number = UInt16(bigEndian: base.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        guard let index = isRTCP ? nextRTCPIndex(ssrc) : nextRTPIndex(ssrc, number: number),
            transform.seal(base, count: count, clearCount: clearCount, ssrc: ssrc, index: index)
        else { return nil }
        return count + transform.trailerCount
    }

    // MARK: Inbound

    private func unprotectRTP(_ packet: UnsafeMutableRawBufferPointer) -> Result<Int, SRTPFailure> {
        let count = packet.count - inboundRTP.trailerCount
        guard let base = packet.baseAddress, count >= 0, packet.count <= SRTPSession.longestPacket,
            let clearCount = SRTPSession.clearCount(UnsafeRawBufferPointer(rebasing: packet[..<count]), isRTCP: false)
        else { return .failure(.other) }
        let ssrc = UInt32(bigEndian: base.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        let number = UInt16(bigEndian: base.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        let position = inbound.position(of: ssrc)
        let highest = inbound.highestRTP(position)
        let index = SRTPIndex.estimate(number, highest: highest)
        guard index < SRTPIndex.end else { return .failure(.other) }

        let mayRecover = failures.isTimeToTry(ssrc) && packet.count <= scratch.count
        let output = mayRecover ? scratch.baseAddress ?? base : base
        let isFresh = inbound.admitsRTP(index, at: position)
        var found = isFresh && inboundRTP.open(base, count: packet.count, clearCount: clearCount, ssrc: ssrc, index: index, into: output)
        var foundIndex = index
        // After a long gap the guess may also land on an index below the window: it looks like a replay, and goes on.
        if !found, mayRecover {
            for candidate in SRTPSession.candidates(number, after: highest) where candidate != index && candidate < SRTPIndex.end {
                found = inboundRTP.open(base, count: packet.count, clearCount: clearCount, ssrc: ssrc, index: candidate, into: output)
                guard found else { continue }
                foundIndex = candidate
                recoveries += 1
                break
            }
        }
        guard found else {
            failures.note(ssrc)
            return .failure(isFresh ? .authentication : .replay)
        }
        if output != base { (base + clearCount).copyMemory(from: output + clearCount, byteCount: count - clearCount) }
        failures.end(ssrc)
        inbound.accept(foundIndex, ssrc: ssrc, isRTCP: false)
        return .success(count)
    }

    private func unprotectRTCP(_ packet: UnsafeMutableRawBufferPointer) -> Result<Int, SRTPFailure> {
        let count = packet.count - inboundRTCP.trailerCount
        guard let base = packet.baseAddress, count >= 0, packet.count <= SRTPSession.longestPacket,
            let headerCount = SRTPSession.clearCount(UnsafeRawBufferPointer(rebasing: packet[..<count]), isRTCP: true)
        else { return .failure(.other) }
        let ssrc = UInt32(bigEndian: base.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        let (isEncrypted, index) = inboundRTCP.rtcpIndex(base, count: packet.count)
        guard inbound.admitsRTCP(index, at: inbound.position(of: ssrc)) else { return .failure(.replay) }
        // Without the E bit everything is in the clear, and authenticated all the same.
        let clearCount = isEncrypted ? headerCount : count
        guard inboundRTCP.open(base, count: packet.count, clearCount: clearCount, ssrc: ssrc, index: index, into: base) else {
            return .failure(.authentication)
        }
        inbound.accept(index, ssrc: ssrc, isRTCP: true)
        return .success(count)
    }

    /// Indexes of this number ahead of the highest, nearest first.
    private static func candidates(_ number: UInt16, after highest: Int64) -> some Sequence<Int64> {
        let first = max(0, highest) >> 16
        return (first..<(first + countersTried)).lazy.map { $0 << 16 | Int64(number) }.filter { $0 > highest }
    }

    // MARK: Outbound

    private func nextRTPIndex(_ ssrc: UInt32, number: UInt16) -> Int64? {
        var source = outbound[ssrc] ?? OutboundSource()
        let index = SRTPIndex.estimate(number, highest: source.highest)
        guard index < SRTPIndex.end, source.highest - index < ReplayWindow.capacity else { return nil }
        source.highest = max(source.highest, index)
        return keep(source, ssrc) ? index : nil
    }

    private func nextRTCPIndex(_ ssrc: UInt32) -> Int64? {
        var source = outbound[ssrc] ?? OutboundSource()
        source.rtcpIndex += 1
        guard source.rtcpIndex < SRTPIndex.rtcpEnd else { return nil }
        return keep(source, ssrc) ? source.rtcpIndex : nil
    }

    private func keep(_ source: OutboundSource, _ ssrc: UInt32) -> Bool {
        guard outbound.count < SRTPSession.outboundLimit || outbound[ssrc] != nil else { return false }
        outbound[ssrc] = source
        return true
    }

    // MARK: Packets

    /// Bytes at the front that stay in the clear: the header with its contributing sources and extension, or the first eight
    /// bytes of RTCP. Nil when `packet`, without its trailer, is shorter than that or of another version.
    private static func clearCount(_ packet: UnsafeRawBufferPointer, isRTCP: Bool) -> Int? {
        guard packet.count >= (isRTCP ? 8 : 12), packet[0] >> 6 == 2 else { return nil }
        if isRTCP { return 8 }
        var count = 12 + 4 * Int(packet[0] & 0x0f)
        if packet[0] & 0x10 != 0 {
            guard packet.count >= count + 4 else { return nil }
            count += 4 + 4 * (Int(packet[count + 2]) << 8 | Int(packet[count + 3]))
        }
        return count <= packet.count ? count : nil
    }

    /// What we send on one SSRC.
    private struct OutboundSource {
        /// Of RTP; -1 before there is one.
        var highest: Int64 = -1
        /// Of the last RTCP packet. The first one has index 1, as libsrtp does it; to a receiver index 0 is one lost packet.
        var rtcpIndex: Int64 = 0
    }

    /// Our own SSRCs are never forgotten: an index used twice would give two packets the same key stream. A connection has a
    /// handful; more than this is refused.
    private static let outboundLimit = 4096
    /// Wraps that may be missed: 16 are a million packets, an hour of 300 packets a second.
    private static let countersTried: Int64 = 16
    /// Longer than any packet on a path; one that is longer is not recovered.
    private static let scratchBytes = 2048
    private static let longestPacket = 65535
}
