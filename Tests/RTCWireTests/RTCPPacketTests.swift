import RTCBase
import Testing

@testable import RTCWire

func parseRTCP(_ bytes: [UInt8]) throws(WireError) -> [RTCPPacket] { try RTCPPacket.parseCompound(bytes.span.bytes) }

func writeRTCP(_ packets: RTCPPacket...) -> [UInt8] {
    var writer = ByteWriter()
    for packet in packets { packet.write(into: &writer) }
    return writer.bytes
}

@Suite struct RTCPPacketTests {
    @Test("RTP-11 SR + SDES(CNAME, TOOL) + BYE: the length word advances, BYE is seen")
    func compoundAdvancesByLength() throws {
        var bytes = writeRTCP(
            .senderReport(SenderReport(ssrc: 1, ntp: NTPTimestamp(rawValue: 2), rtpTimestamp: 3, packetCount: 4, octetCount: 5)))
        // CNAME "ab", TOOL "xyz", end, then four more zeros than needed.
        bytes += hex("81ca 0005 00000001 01026162 0603 7879 7a00 0000 00000000")
        bytes += writeRTCP(.goodbye(Goodbye(ssrcs: [1])))
        let packets = try parseRTCP(bytes)
        #expect(packets.count == 3)
        #expect(packets[1] == .sourceDescription(SourceDescription(ssrc: 1, cname: "ab")))
        #expect(packets.last == .goodbye(Goodbye(ssrcs: [1])))
    }

    @Test("RTP-14 a compound with padding on its last packet is read")
    func paddingOnLast() throws {
        var bytes = writeRTCP(.receiverReport(ReceiverReport(ssrc: 1)))
        bytes += hex("a1ca 0004 00000001 01026162 00000000 00000004")
        #expect(
            try parseRTCP(bytes) == [.receiverReport(ReceiverReport(ssrc: 1)), .sourceDescription(SourceDescription(ssrc: 1, cname: "ab"))])
    }

    @Test("RTP-14 padding of zero or more than the content is refused", arguments: ["00", "0d", "ff"])
    func badPadding(_ count: String) {
        #expect(throws: WireError.badLength) { try parseRTCP(hex("a0cb 0003 00000000 00000000 000000\(count)")) }
        #expect(throws: WireError.badLength) { try parseRTCP(hex("a0cb 0000")) }
    }

    @Test("RFC 3550 A.2: version and length are checked for each packet")
    func heads() {
        #expect(throws: WireError.truncated) { try parseRTCP([]) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("80cb 00")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("81cb 0002 00000001")) }
        #expect(throws: WireError.badVersion) { try parseRTCP(hex("80cb 0000 40cb 0000")) }
        #expect(throws: WireError.truncated) { try parseRTCP(hex("80cb 0000 80cb")) }
    }

    @Test("RFC 4585 §6, RFC 3550 §6.1: unknown types and formats are skipped by their length")
    func unknown() throws {
        let bytes = hex("80cc 0002 00000001 6e616d65") + hex("9fcd 0002 00000001 00000002") + hex("8fce 0003 00000001 00000002 41424344")
        let packets = try parseRTCP(bytes + writeRTCP(.goodbye(Goodbye(ssrcs: []))))
        #expect(
            packets == [
                .unknown(payloadType: 204, format: 0), .unknown(payloadType: 205, format: 31), .unknown(payloadType: 206, format: 15),
                .goodbye(Goodbye(ssrcs: [])),
            ])
    }

    @Test("a datagram holds a bounded number of packets")
    func bounded() throws {
        let one = hex("80cb 0000")
        #expect(try parseRTCP(Array(repeatElement(one, count: 128).joined())).count == 128)
        #expect(throws: WireError.tooLarge) { try parseRTCP(Array(repeatElement(one, count: 129).joined())) }
    }

    @Test("every kind of packet reads back as written")
    func roundTrip() throws {
        let block = ReportBlock(
            ssrc: 7, fractionLost: 255, cumulativeLost: -3, highestSequence: 0x1_0002, jitter: 9, lastSR: 10, delaySinceLastSR: 11)
        let packets: [RTCPPacket] = [
            .senderReport(
                SenderReport(
                    ssrc: 1, ntp: NTPTimestamp(rawValue: 0x0102_0304_0506_0708), rtpTimestamp: 3, packetCount: 4, octetCount: 5,
                    reports: [block, block])),
            .receiverReport(ReceiverReport(ssrc: 1, reports: [block])),
            .sourceDescription(
                SourceDescription(chunks: [.init(ssrc: 1, cname: "a"), .init(ssrc: 2, cname: nil), .init(ssrc: 3, cname: "")])),
            .goodbye(Goodbye(ssrcs: [1, 2], reason: "done")),
            .genericNACK(GenericNACK(senderSSRC: 1, mediaSSRC: 2, sequenceNumbers: [1, 2, 40])),
            .pictureLossIndication(PictureLossIndication(senderSSRC: 1, mediaSSRC: 2)),
            .fullIntraRequest(FullIntraRequest(senderSSRC: 1, entries: [.init(ssrc: 2, sequence: 255)])),
            .receiverEstimatedMaxBitrate(ReceiverEstimatedMaxBitrate(senderSSRC: 1, bitrate: 300_000, ssrcs: [2, 3])),
            .transportFeedback(
                TransportFeedback(
                    senderSSRC: 1, mediaSSRC: 2, baseSequenceNumber: 65_535, referenceTime64ms: -1, feedbackCount: 255,
                    packets: [.received(delta250us: 4), .notReceived, .received(delta250us: -1)])),
        ]
        var writer = ByteWriter()
        for packet in packets { packet.write(into: &writer) }
        #expect(try parseRTCP(writer.bytes) == packets)
    }
}
