import RTCBase
import Testing

@testable import RTCWire

/// Packets, corpora and captures that other projects made (the shared folder's vectors).
@Suite(.enabled(if: SharedData.isPresent, "needs the shared folder"))
struct SharedVectorTests {
    private static let packets = "vectors/rtp-rtcp-sctp-packets/"

    private static func rtcp(_ name: String) throws -> RTCPPacket {
        let packets = try parseRTCP(try SharedData.bytes(packets + "rtcp_\(name).bin"))
        #expect(packets.count == 1)
        return try #require(packets.first)
    }

    @Test("packet files: RTCP good ones have the expected fields")
    func goodRTCP() throws {
        #expect(try Self.rtcp("bye") == .goodbye(Goodbye(ssrcs: [2_924_645_187])))
        #expect(try Self.rtcp("bye_no_sources") == .goodbye(Goodbye(ssrcs: [])))
        #expect(try Self.rtcp("bye_padding") == .goodbye(Goodbye(ssrcs: [])))
        #expect(
            try Self.rtcp("psfb_pli") == .pictureLossIndication(PictureLossIndication(senderSSRC: 1_414_554_213, mediaSSRC: 587_284_409)))
        let block = ReportBlock(
            ssrc: 1_200_895_919, fractionLost: 0, cumulativeLost: 0, highestSequence: 630, jitter: 1906, lastSR: 0, delaySinceLastSR: 0)
        #expect(try Self.rtcp("rr") == .receiverReport(ReceiverReport(ssrc: 817_267_719, reports: [block])))
        #expect(
            try Self.rtcp("sdes")
                == .sourceDescription(SourceDescription(ssrc: 1_831_097_322, cname: "{63f459ea-41fe-4474-9d33-9707c9ee79d1}")))
        let senderBlock = ReportBlock(
            ssrc: 2_398_654_957, fractionLost: 0, cumulativeLost: 0, highestSequence: 246, jitter: 127, lastSR: 0, delaySinceLastSR: 0)
        #expect(
            try Self.rtcp("sr")
                == .senderReport(
                    SenderReport(
                        ssrc: 1_831_097_322, ntp: NTPTimestamp(rawValue: 16_016_567_581_311_369_308), rtpTimestamp: 1_722_342_718,
                        packetCount: 269, octetCount: 13_557, reports: [senderBlock])))
        #expect(
            try Self.rtcp("rtpfb")
                == .genericNACK(
                    GenericNACK(
                        senderSSRC: 2_336_520_123, mediaSSRC: 4_145_934_052,
                        sequenceNumbers: [12, 32, 39, 54, 76, 110, 123, 142, 183, 187, 223, 236, 271, 292])))
    }

    @Test("packet files: RTCP invalid and truncated ones are refused")
    func badRTCP() throws {
        let names = try SharedData.names(in: Self.packets).filter {
            $0.hasPrefix("rtcp_") && ($0.contains("invalid") || $0.contains("truncated"))
        }
        #expect(names.count == 7)
        for name in names {
            #expect(throws: WireError.self, "\(name)") { try parseRTCP(try SharedData.bytes(Self.packets + name)) }
        }
    }

    @Test("packet files: RTP ones have the expected fields")
    func rtp() throws {
        func header(_ name: String) throws -> (RTPHeader, [UInt8]) {
            let bytes = try SharedData.bytes(Self.packets + name + ".bin")
            return (try RTPHeader(bytes: bytes), bytes)
        }
        let (plain, _) = try header("rtp")
        #expect(!plain.marker && plain.payloadType == 0 && plain.sequenceNumber == 15_743 && plain.timestamp == 3_937_035_252)
        #expect(plain.ssrc == 4_028_317_929 && plain.payloadCount == 160 && plain.csrcCount == 0)
        let (dtmf, dtmfBytes) = try header("rtp_dtmf")
        #expect(dtmf.marker && dtmf.payloadType == 101 && dtmf.sequenceNumber == 24_152 && dtmf.timestamp == 4_021_352_124)
        #expect(Array(dtmfBytes[dtmf.payloadRange]) == [1, 0x8A, 3, 0xC0])
        let (csrc, _) = try header("rtp_with_csrc")
        #expect(csrc.csrcCount == 2 && csrc.sequenceNumber == 16_082 && csrc.payloadCount == 160)
        let (padding, _) = try header("rtp_only_padding")
        #expect(padding.payloadType == 120 && padding.sequenceNumber == 27_759 && padding.payloadCount == 0 && padding.paddingCount == 224)
        let (extended, extendedBytes) = try header("rtp_only_padding_with_header_extensions")
        #expect(extended.payloadType == 98 && extended.payloadCount == 0 && extended.paddingCount == 224)
        var ids = HeaderExtensionIDs()
        ids.absoluteSendTime = 2
        #expect(
            HeaderExtensionValues(parsing: extendedBytes.span.bytes, header: extended, ids: ids).absoluteSendTime == 15_846_540)
        let (mid, midBytes) = try header("rtp_with_sdes_mid")
        ids.mid = 9
        let range = try #require(HeaderExtensionValues(parsing: midBytes.span.bytes, header: mid, ids: ids).mid)
        #expect(String(decoding: midBytes[range], as: UTF8.self) == "0" && mid.payloadCount == 54 && mid.payloadType == 111)
    }

    @Test(
        "corpora: every SDP, RTP and RTCP file is read or refused; what is read reads back as written", arguments: ["sdp", "rtp", "rtcp"])
    func corpora(_ kind: String) throws {
        let folder = "vectors/corpora/\(kind)/"
        var readable = 0
        for name in try SharedData.names(in: folder) {
            let bytes = try SharedData.bytes(folder + name)
            for entry in WireFuzz.all { #expect(entry.run(bytes), "\(name) in \(entry.name)") }
            switch kind {
            case "sdp": readable += (try? SessionDescription(parsing: String(decoding: bytes, as: UTF8.self))) == nil ? 0 : 1
            case "rtp": readable += (try? RTPHeader(bytes: bytes)) == nil ? 0 : 1
            default: readable += (try? parseRTCP(bytes)) == nil ? 0 : 1
            }
        }
        // Fragments without a head among the SDP files, and broken packets, are refused; the rest must be read.
        let expected = ["sdp": 42, "rtp": 5, "rtcp": 42]
        #expect(readable == expected[kind])
    }

    @Test("corpora: named RTCP files have the expected content")
    func namedRTCP() throws {
        func read(_ name: String) throws -> [RTCPPacket] { try parseRTCP(try SharedData.bytes("vectors/corpora/rtcp/\(name).rtcp")) }
        #expect(
            try read("fir") == [
                .fullIntraRequest(FullIntraRequest(senderSSRC: 0x8C08_A05D, entries: [.init(ssrc: 0xF310_A866, sequence: 10)]))
            ])
        #expect(
            try read("remb")
                == [
                    .receiverEstimatedMaxBitrate(
                        ReceiverEstimatedMaxBitrate(senderSSRC: 0x8C08_A05D, bitrate: 128_000, ssrcs: [0xF310_A866]))
                ])
        #expect(
            try read("rr-sdes-bye")
                == [
                    .receiverReport(ReceiverReport(ssrc: 0x1CA5_7379)),
                    .sourceDescription(SourceDescription(ssrc: 0x1CA5_7379, cname: "j1okRle4gSEIMwMO")),
                    .goodbye(Goodbye(ssrcs: [0x1CA5_7379])),
                ])
        guard case .transportFeedback(let feedback) = try read("twcc-feedback").first else {
            Issue.record("not a transport feedback")
            return
        }
        #expect(
            feedback.baseSequenceNumber == 2676 && feedback.packets.count == 10 && feedback.feedbackCount == 187
                && feedback.referenceTime64ms == 0x53F58)
        #expect(feedback.packets.filter { $0 != .notReceived }.count == 10)
    }
}
