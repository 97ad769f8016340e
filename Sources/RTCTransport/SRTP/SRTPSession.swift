import CSRTP
import RTCBase

// The cryptographic step of the media path: SRTP and SRTCP packets in and out, in place, over libsrtp2.
//
// In: keys from the DTLS handshake; then single packets in the caller's buffer. Out: the same buffer, shorter or longer.
// RFC 3711 (index and replay, §3.3), RFC 7714 (GCM), RFC 5764 (keys). One inbound and one outbound context accept any SSRC; the
// library keeps rollover counter and replay window of each SSRC apart. Left out: MKI, header extension encryption, re-keying.
//
// What is added to the library is a way back for a stream whose index got lost. A receiver guesses the 32-bit rollover counter
// from the 16-bit number (RFC 3711 §3.3.1), and that guess holds for gaps below 2^15 packets. After a longer gap (a layer paused
// for minutes, a long outage) every packet is read with the wrong counter and fails authentication, for ever, because only a
// packet that passes moves the counter. The same happens to a stream that is joined after its first wrap. So when an SSRC fails
// several times in a row, the newest packet is tried, on a copy, with the counters that may come next; the first one that
// authenticates is adopted. Only indexes ahead of the highest authenticated one are tried: a recorded packet has an index at or
// below it and cannot be replayed by provoking failures. Tries become rarer as failures go on, so that a flood of forged packets
// costs a bounded amount of work.

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
    private let inbound: OpaquePointer
    private let outbound: OpaquePointer
    /// A second inbound context in which other rollover counters are tried; made when first needed.
    private var probe: OpaquePointer?
    private let profile: SRTPProfile
    private let inboundKey: [UInt8]

    /// SSRCs that have authenticated, each with the time (in packets) of its last packet. Bounded: the library searches its
    /// streams one by one and would keep as many as the peer makes up.
    private var known: [KnownSource] = []
    /// Position in `known` of the last packet's SSRC.
    private var lastKnown = 0
    private var packetClock: UInt64 = 0

    /// SSRCs failing now. Small: more than a few at once is an attack, not a loss of index.
    private var failing: [FailingSource] = []
    private let scratch: UnsafeMutableRawBufferPointer

    /// How often a stream was taken up again with another rollover counter.
    package private(set) var recoveries: UInt64 = 0

    package init(keys: SRTPKeys) throws(TransportError) {
        profile = keys.profile
        inboundKey = keys.isClient ? keys.serverKey : keys.clientKey
        let outboundKey = keys.isClient ? keys.clientKey : keys.serverKey
        guard let inbound = SRTPSession.makeContext(keys.profile, inboundKey, isInbound: true) else {
            throw TransportError(.srtpFailed, "SRTP refused the inbound key for \(keys.profile)")
        }
        guard let outbound = SRTPSession.makeContext(keys.profile, outboundKey, isInbound: false) else {
            csrtp_context_free(inbound)
            throw TransportError(.srtpFailed, "SRTP refused the outbound key for \(keys.profile)")
        }
        self.inbound = inbound
        self.outbound = outbound
        scratch = .allocate(byteCount: SRTPSession.scratchBytes, alignment: 16)
        known.reserveCapacity(SRTPSession.knownLimit)
        failing.reserveCapacity(SRTPSession.failingLimit)
    }

    deinit {
        csrtp_context_free(inbound)
        csrtp_context_free(outbound)
        csrtp_context_free(probe)
        scratch.deallocate()
    }

    /// Spare bytes `protect` needs behind a packet.
    package func trailerCount(isRTCP: Bool) -> Int { csrtp_trailer_count(outbound, isRTCP ? 1 : 0) }

    /// Decrypts and checks in place. The new length, or why the packet must be dropped; then the bytes are worthless.
    package func unprotect(_ packet: UnsafeMutableRawBufferPointer, isRTCP: Bool) -> Result<Int, SRTPFailure> {
        let ssrcOffset = isRTCP ? 4 : 8
        guard let base = packet.baseAddress, packet.count >= 12 else { return .failure(.other) }
        let ssrc = UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: ssrcOffset, as: UInt32.self))
        let mayRecover = !isRTCP && shouldTryRecovery(ssrc) && packet.count <= scratch.count
        if mayRecover { scratch.copyMemory(from: UnsafeRawBufferPointer(packet)) }

        var count = packet.count
        switch csrtp_unprotect(inbound, base, &count, isRTCP ? 1 : 0) {
        case CSRTP_OK:
            if isRTCP {
                remember(ssrc, number: nil)
            } else {
                stopFailing(ssrc)
                remember(ssrc, number: packet.loadUnaligned(fromByteOffset: 2, as: UInt16.self).bigEndian)
            }
            return .success(count)
        case CSRTP_REPLAY:
            // After a long gap the guess may also land on an index below the window: it looks like a replay, and goes on.
            if mayRecover, let recovered = recover(packet, ssrc) { return .success(recovered) }
            if !isRTCP { noteFailure(ssrc) }
            return .failure(.replay)
        case CSRTP_AUTHENTICATION:
            if mayRecover, let recovered = recover(packet, ssrc) { return .success(recovered) }
            if !isRTCP { noteFailure(ssrc) }
            return .failure(.authentication)
        default:
            return .failure(.other)
        }
    }

    /// Encrypts in place. `buffer` is the packet of `count` bytes with `trailerCount` spare bytes behind it. The new length, or
    /// nil when there is no room or the packet is not one. The same RTP number may be protected again (a repeated transmission
    /// of the same bytes).
    package func protect(_ buffer: UnsafeMutableRawBufferPointer, count: Int, isRTCP: Bool) -> Int? {
        guard let base = buffer.baseAddress, count >= (isRTCP ? 8 : 12), count <= buffer.count - trailerCount(isRTCP: isRTCP) else {
            return nil
        }
        var length = count
        return csrtp_protect(outbound, base, &length, isRTCP ? 1 : 0) == CSRTP_OK ? length : nil
    }

    // MARK: Known sources

    private func remember(_ ssrc: UInt32, number: UInt16?) {
        packetClock &+= 1
        let index = position(of: ssrc)
        known[index].lastPacket = packetClock
        if let number { known[index].follow(number) }
    }

    /// Where `known` has the SSRC; a new one takes the place of the one silent for longest when all are taken.
    private func position(of ssrc: UInt32) -> Int {
        if lastKnown < known.count, known[lastKnown].ssrc == ssrc { return lastKnown }
        if let index = known.firstIndex(where: { $0.ssrc == ssrc }) {
            lastKnown = index
        } else if known.count < SRTPSession.knownLimit {
            lastKnown = known.count
            known.append(KnownSource(ssrc: ssrc))
        } else {
            lastKnown = known.indices.min { known[$0].lastPacket < known[$1].lastPacket } ?? 0
            csrtp_forget(inbound, known[lastKnown].ssrc)
            known[lastKnown] = KnownSource(ssrc: ssrc)
        }
        return lastKnown
    }

    // MARK: Recovery of a lost index

    private func shouldTryRecovery(_ ssrc: UInt32) -> Bool {
        guard !failing.isEmpty, let source = failing.first(where: { $0.ssrc == ssrc }) else { return false }
        return source.failures + 1 >= source.nextTry
    }

    private func noteFailure(_ ssrc: UInt32) {
        if let index = failing.firstIndex(where: { $0.ssrc == ssrc }) {
            failing[index].failures += 1
            if failing[index].failures >= failing[index].nextTry {
                // This failure was a try as well.
                let step = min(failing[index].nextTry, SRTPSession.longestTryDistance)
                failing[index].nextTry = failing[index].failures + step
            }
            return
        }
        let source = FailingSource(ssrc: ssrc, failures: 1, nextTry: SRTPSession.failuresBeforeTry)
        if failing.count < SRTPSession.failingLimit {
            failing.append(source)
        } else {
            // Made-up SSRCs push out each other; a real one comes back with its next packets.
            failing[Int(ssrc % UInt32(SRTPSession.failingLimit))] = source
        }
    }

    private func stopFailing(_ ssrc: UInt32) {
        guard !failing.isEmpty, let index = failing.firstIndex(where: { $0.ssrc == ssrc }) else { return }
        failing.swapAt(index, failing.count - 1)
        failing.removeLast()
    }

    /// Tries the rollover counters that may come next. `scratch` holds the packet as it came. The packet's new length.
    private func recover(_ packet: UnsafeMutableRawBufferPointer, _ ssrc: UInt32) -> Int? {
        if probe == nil { probe = SRTPSession.makeContext(profile, inboundKey, isInbound: true) }
        guard let probe, let base = packet.baseAddress, let copy = scratch.baseAddress else { return nil }
        defer { csrtp_forget(probe, ssrc) }
        let number = UInt16(bigEndian: scratch.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        let highest = known.first { $0.ssrc == ssrc }?.highestIndex ?? -1
        var rollover = highest < 0 ? 0 : UInt32(truncatingIfNeeded: highest >> 16)
        for _ in 0..<SRTPSession.countersTried {
            defer { rollover &+= 1 }
            let index = Int64(rollover) << 16 | Int64(number)
            guard index > highest else { continue }
            guard unprotectAgain(with: probe, base, from: copy, count: packet.count, ssrc, rollover) != nil else { continue }
            guard let count = unprotectAgain(with: inbound, base, from: copy, count: packet.count, ssrc, rollover) else { return nil }
            stopFailing(ssrc)
            known[position(of: ssrc)].highestIndex = index
            remember(ssrc, number: number)
            recoveries += 1
            return count
        }
        return nil
    }

    private func unprotectAgain(
        with context: OpaquePointer, _ packet: UnsafeMutableRawPointer, from copy: UnsafeMutableRawPointer, count: Int,
        _ ssrc: UInt32, _ rollover: UInt32
    ) -> Int? {
        packet.copyMemory(from: copy, byteCount: count)
        guard csrtp_restart(context, ssrc, rollover) == 1 else { return nil }
        var length = count
        return csrtp_unprotect(context, packet, &length, 0) == CSRTP_OK ? length : nil
    }

    private static func makeContext(_ profile: SRTPProfile, _ key: [UInt8], isInbound: Bool) -> OpaquePointer? {
        csrtp_context_create(UInt32(profile.rawValue), key, key.count, isInbound ? 1 : 0, replayWindowPackets)
    }

    private struct KnownSource {
        var ssrc: UInt32
        var lastPacket: UInt64 = 0
        /// Rollover counter and number of the newest RTP packet that authenticated (RFC 3711 §3.3.1); -1 before there is one.
        var highestIndex: Int64 = -1

        init(ssrc: UInt32) { self.ssrc = ssrc }

        mutating func follow(_ number: UInt16) {
            guard highestIndex >= 0 else { return highestIndex = Int64(number) }
            let distance = Int16(bitPattern: number &- UInt16(truncatingIfNeeded: highestIndex))
            if distance > 0 { highestIndex &+= Int64(distance) }
        }
    }

    private struct FailingSource {
        var ssrc: UInt32
        /// Failures in a row.
        var failures: Int
        /// The count of failures at which other counters are tried next.
        var nextTry: Int
    }

    /// A retransmission on the same SSRC may come hundreds of packets late (SRTP-04); RFC 3711 §3.3.2 asks for 64.
    private static let replayWindowPackets: UInt32 = 1024
    private static let knownLimit = 64
    private static let failingLimit = 8
    /// A few damaged packets in a row are no lost index.
    private static let failuresBeforeTry = 8
    private static let longestTryDistance = 256
    /// Wraps that may be missed: 16 are a million packets, an hour of 300 packets a second.
    private static let countersTried = 16
    /// Longer than any packet on a path; one that is longer is not recovered.
    private static let scratchBytes = 2048
}
