import CAllocationCounter
import RTCTransport
import Testing

/// What generic code does before it is specialised says nothing about a release; the benchmarks count the same in CI.
private let optimizedOnly = ConditionTrait.enabled(if: !isDebug, "a debug build allocates in unspecialised code; use -c release")
private var isDebug: Bool {
    #if DEBUG
        true
    #else
        false
    #endif
}

/// Counts with the process's own malloc; not available under a sanitizer or without glibc.
@Suite("SRTP allocations", .enabled(if: callocation_is_available() == 1, "allocations cannot be counted here"))
struct SRTPAllocationTests {
    @Test("a packet of a known SSRC allocates nothing: sent, received, repeated, or forged", optimizedOnly, arguments: SRTPProfile.allCases)
    func steadyState(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1500, alignment: 16)
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: 1500, alignment: 16)
        defer {
            buffer.deallocate()
            copy.deallocate()
        }
        var counts: [callocation_counts] = []
        counts.reserveCapacity(4)
        // The first round makes room for the SSRCs; the second one, across a wrap, is counted.
        for round in 0..<2 {
            counts.append(callocation_counts_now())
            for step in 0..<2000 {
                let number = UInt16(truncatingIfNeeded: 64_000 + round * 2000 + step)
                for ssrc in 1...3 as ClosedRange<UInt32> {
                    let isRTCP = step % 50 == 49
                    fill(buffer, ssrc: ssrc, number: number, isRTCP: isRTCP)
                    guard let count = pair.sender.protect(buffer, count: 1200, isRTCP: isRTCP) else {
                        throw Mismatch("not protected")
                    }
                    let packet = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                    let other = UnsafeMutableRawBufferPointer(rebasing: copy[..<count])
                    other.copyMemory(from: UnsafeRawBufferPointer(packet))
                    let isDelivered = pair.receiver.unprotect(packet, isRTCP: isRTCP) == .success(1200)
                    let isReplay = step % 7 != 0 || pair.receiver.unprotect(other, isRTCP: isRTCP) == .failure(.replay)
                    guard isDelivered, isReplay else {
                        throw Mismatch("delivered \(isDelivered), replay \(isReplay)")
                    }
                    guard step % 11 == 0, !isRTCP else { continue }
                    // A number ahead with a tag that cannot be right; twenty of them, so that other counters are tried as well.
                    fill(buffer, ssrc: ssrc, number: number &+ 100, isRTCP: false)
                    for _ in 0..<20 {
                        guard pair.receiver.unprotect(packet, isRTCP: false) == .failure(.authentication) else {
                            throw Mismatch("a forged packet was delivered")
                        }
                    }
                }
            }
        }
        counts.append(callocation_counts_now())
        #expect(counts[2].allocations == counts[1].allocations)
        #expect(counts[2].frees == counts[1].frees)
        #expect(pair.receiver.recoveries == 0)
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer, ssrc: UInt32, number: UInt16, isRTCP: Bool) {
        for position in buffer.indices { buffer[position] = UInt8(truncatingIfNeeded: position) }
        buffer[0] = 0x80
        buffer.storeBytes(of: number.bigEndian, toByteOffset: 2, as: UInt16.self)
        buffer.storeBytes(of: ssrc.bigEndian, toByteOffset: isRTCP ? 4 : 8, as: UInt32.self)
    }
}
