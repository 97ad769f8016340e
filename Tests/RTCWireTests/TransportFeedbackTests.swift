import RTCBase
import Testing

@testable import RTCWire

@Suite struct TransportFeedbackTests {
    private static func feedback(_ packets: [PacketStatus], base: UInt16 = 65_000, reference: Int32 = 5) -> TransportFeedback {
        TransportFeedback(
            senderSSRC: 1, mediaSSRC: 2, baseSequenceNumber: base, referenceTime64ms: reference, feedbackCount: 254, packets: packets)
    }

    private static func arrivals(_ feedback: TransportFeedback) -> [Int?] {
        var time = Int(feedback.referenceTime64ms) * 256
        return feedback.packets.map { status in
            guard case .received(let delta) = status else { return nil }
            time += Int(delta)
            return time
        }
    }

    private static func parse(_ bytes: [UInt8]) throws -> TransportFeedback? {
        guard case .transportFeedback(let feedback) = try parseRTCP(bytes).first else { return nil }
        return feedback
    }

    @Test("transport-wide-cc §3.1.3: a run-length chunk, small and large deltas")
    func runLength() throws {
        let small = try Self.parse(hex("8fcd 0005 00000001 00000002 000a 0002 000005 03  2002 0102"))
        #expect(small?.packets == [.received(delta250us: 1), .received(delta250us: 2)])
        #expect(small?.referenceTime64ms == 5 && small?.feedbackCount == 3 && small?.baseSequenceNumber == 10)
        let large = try Self.parse(hex("afcd 0006 00000001 00000002 000a 0002 ffffff 03  4002 fffe 0100 0002"))
        #expect(large?.packets == [.received(delta250us: -2), .received(delta250us: 256)])
        #expect(large?.referenceTime64ms == -1)
    }

    @Test("transport-wide-cc §3.1.4: vectors of 14 bits and of 7 pairs; a last chunk may hold more than are left")
    func vectors() throws {
        let bits = try Self.parse(hex("afcd 0006 00000001 00000002 0000 000e 000000 00  a001 0809 0000 0003"))
        #expect(bits?.packets.count == 14)
        #expect(bits?.packets.first == .received(delta250us: 8) || bits?.packets[0] == .notReceived)
        #expect(bits?.packets[13] == .received(delta250us: 9))
        let pairs = try Self.parse(hex("8fcd 0006 00000001 00000002 0000 0003 000000 00  d9ff 01ff ff02 0000"))
        #expect(pairs?.packets == [.received(delta250us: 1), .received(delta250us: -1), .received(delta250us: 2)])
    }

    @Test("a reserved symbol, missing chunks and missing deltas are refused")
    func refused() {
        #expect(throws: WireError.badValue) { try parseRTCP(hex("8fcd 0005 00000001 00000002 0000 0001 000000 00 6001 0000")) }
        #expect(throws: WireError.badValue) { try parseRTCP(hex("8fcd 0005 00000001 00000002 0000 0001 000000 00 f000 0000")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("8fcd 0005 00000001 00000002 0000 0003 000000 00 2003 0000")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("8fcd 0004 00000001 00000002 0000 0003 000000 00")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("8fcd 0003 00000001 00000002 0000 0003")) }
    }

    @Test("what one datagram unfolds to is bounded")
    func bounded() throws {
        let nothing = Self.feedback(Array(repeating: .notReceived, count: 65_535))
        let bytes = writeRTCP(.transportFeedback(nothing))
        #expect(bytes.count < 64)
        #expect(try Self.parse(bytes) == nothing)
        #expect(throws: WireError.tooLarge) { try parseRTCP(bytes + bytes) }
    }

    /// Patterns that walk through every kind of chunk and every way to end one.
    static let patterns: [[PacketStatus]] = {
        let kinds: [PacketStatus] = [.notReceived, .received(delta250us: 3), .received(delta250us: -7)]
        var patterns: [[PacketStatus]] = [[], [.notReceived]]
        for first in kinds {
            for second in kinds {
                for lead in [1, 6, 7, 8, 13, 14, 15, 30, 8191, 8192] {
                    for tail in [0, 1, 7, 14, 20] {
                        var pattern = Array(repeating: first, count: lead)
                        pattern += Array(repeating: second, count: tail)
                        pattern += [kinds[1], first]
                        patterns.append(pattern)
                    }
                }
            }
        }
        return patterns
    }()

    @Test("every pattern of statuses reads back as written")
    func roundTrip() throws {
        for (index, pattern) in Self.patterns.enumerated() {
            let feedback = Self.feedback(pattern)
            let bytes = writeRTCP(.transportFeedback(feedback))
            #expect(bytes.count % 4 == 0)
            #expect(try Self.parse(bytes) == feedback, "pattern \(index)")
        }
    }

    @Test("CC-03 5000 packets between two feedbacks are split at 1200 bytes and keep their times")
    func split() throws {
        let packets: [PacketStatus] = (0..<5000).map { index in
            let delta: Int16 = index % 11 == 0 ? 400 : Int16(index % 5)
            return index % 7 == 3 ? .notReceived : .received(delta250us: delta)
        }
        let whole = Self.feedback(packets)
        let parts = whole.split()
        #expect(parts.count > 1)
        var expectedBase = whole.baseSequenceNumber
        var expectedCount = whole.feedbackCount
        var read: [Int?] = []
        for part in parts {
            let bytes = writeRTCP(.transportFeedback(part))
            #expect(bytes.count <= 1200)
            let again = try #require(try Self.parse(bytes))
            #expect(again == part && again.baseSequenceNumber == expectedBase && again.feedbackCount == expectedCount)
            expectedBase &+= UInt16(part.packets.count)
            expectedCount &+= 1
            read += Self.arrivals(again)
        }
        #expect(read == Self.arrivals(whole))
        #expect(parts.count <= 7, "parts are filled, not merely small: \(parts.count)")
    }

    @Test("CC-03 one that fits stays whole; a long gap costs no extra packet")
    func splitNothing() {
        let gap = Self.feedback([.received(delta250us: 1)] + Array(repeating: .notReceived, count: 30_000) + [.received(delta250us: 2)])
        #expect(gap.split() == [gap])
        let empty = Self.feedback([])
        #expect(empty.split() == [empty])
        let negative = Self.feedback(Array(repeating: .received(delta250us: -300), count: 900), reference: 0)
        let parts = negative.split()
        #expect(parts.count == 2 && parts.flatMap(Self.arrivals) == Self.arrivals(negative))
    }
}
