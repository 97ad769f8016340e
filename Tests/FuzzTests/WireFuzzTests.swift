import PeerTestSupport
import RTCBase
import RTCWire
import Testing

/// Drives the parsers' fuzz entries with truncations and mutations of valid packets and with random bytes. A failure
/// prints the seed of its input; see `FuzzBudget` for replaying it, and for longer runs.
@Suite struct WireFuzzTests {
    @Test("mutated, cut and random bytes never trap and keep every promise", arguments: WireFuzz.all.map(\.name))
    func fuzz(_ name: String) throws {
        let entry = try #require(WireFuzz.all.first { $0.name == name })
        let seeds = Self.validInputs(name)
        for seed in FuzzBudget(rounds: 3000, name: name) {
            var random = SeededGenerator(seed: seed)
            let bytes = Self.input(from: seeds, using: &random)
            guard entry.run(bytes) else {
                Issue.record("\(name): broken promise, seed \(seed), \(bytes.count) bytes: \(bytes.prefix(200))")
                return
            }
        }
    }

    @Test("every valid input keeps its promises, whole and cut at every place", arguments: WireFuzz.all.map(\.name))
    func truncations(_ name: String) throws {
        let entry = try #require(WireFuzz.all.first { $0.name == name })
        for (index, bytes) in Self.validInputs(name).enumerated() {
            // Long texts are cut in larger steps; the step is odd, so that lines are cut at different places.
            for count in stride(from: bytes.count, through: 0, by: bytes.count > 600 ? -7 : -1) {
                #expect(entry.run(Array(bytes.prefix(count))), "\(name): input \(index) cut to \(count)")
            }
        }
    }

    private static func input(from seeds: [[UInt8]], using random: inout SeededGenerator) -> [UInt8] {
        if seeds.isEmpty || random.next(below: 8) == 0 {
            return (0..<random.next(below: 80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
        var bytes = seeds[random.next(below: seeds.count)]
        for _ in 0...random.next(below: 4) where !bytes.isEmpty {
            let place = random.next(below: bytes.count)
            switch random.next(below: 6) {
            case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
            case 1: bytes[place] ^= 1 << UInt8(random.next(below: 8))
            case 2: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF][random.next(below: 5)]
            case 3: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
            case 4: bytes.remove(at: place)
            default: bytes.insert(contentsOf: bytes[place..<min(place + 1 + random.next(below: 20), bytes.count)], at: place)
            }
        }
        if random.next(below: 4) == 0 { bytes.removeLast(random.next(below: bytes.count + 1)) }
        return bytes
    }

    /// Well-formed inputs of a parser, made by its writer.
    private static func validInputs(_ name: String) -> [[UInt8]] {
        switch name {
        case "rtp", "headerExtensions", "demux": rtpPackets()
        case "rtcp", "transportFeedback": rtcpPackets()
        case "vp8": payloads().vp8
        case "vp9": payloads().vp9
        case "frameTrailer": payloads().trailers
        case "sdp": descriptions()
        case "dcep": [DCEPMessage.open(label: "data", protocolName: "x", isOrdered: false, reliability: .maxRetransmits(3)).bytes]
        case "stun": stunMessages()
        default: [[3, 1, 7, 7, 1, 0, 2, 0, 9, 2, 3, 65], [200] + Array(repeating: 1, count: 200) + [3, 0, 5, 5]]
        }
    }

    private static func stunMessages() -> [[UInt8]] {
        let transaction = STUNTransaction(high: 1, low: 2)
        var request = STUNMessage(.request, transaction: transaction)
        (request.username, request.priority, request.role) = ("peer:us", 7, .controlling(tieBreaker: 9))
        var response = STUNMessage(.success, transaction: transaction)
        response.mappedAddress = STUNAddress(address: [192, 0, 2, 1], port: 5)
        var refusal = STUNMessage(.failure, transaction: transaction)
        refusal.errorCode = 487
        let sign: ([UInt8]) -> [UInt8]? = { _ in Array(repeating: 3, count: 20) }
        // Changed bytes rarely have a right checksum: most of the reading is reached without one.
        let bare = request.bytes(sign: sign).map { [UInt8]($0[..<3]) + [$0[3] - 8] + $0[4...].dropLast(8) }
        return [request.bytes(sign: sign), response.bytes(sign: sign), refusal.bytes(), bare].compactMap(\.self)
    }

    private static func rtpPackets() -> [[UInt8]] {
        let header = RTPHeader(marker: true, payloadType: 96, sequenceNumber: 65_535, timestamp: 1, ssrc: 2)
        let extensions: [[HeaderExtension]] = [
            [],
            [.mid("0", id: 9), .transportSequenceNumber(7, id: 4), .absoluteSendTime(9, id: 2), .audioLevel(1, hasVoice: true, id: 14)],
            [.mid("a-long-identification-tag", id: 9), HeaderExtension(id: 10, bytes: [1]), HeaderExtension(id: 11, bytes: [2])],
        ]
        return extensions.map { list in
            var writer = ByteWriter()
            header.write(into: &writer, extensions: list, csrcs: [3], hasPadding: true)
            writer.write([1, 2, 3, 4, 5, 0, 0, 3])
            return writer.bytes
        }
    }

    private static func rtcpPackets() -> [[UInt8]] {
        let block = ReportBlock(
            ssrc: 7, fractionLost: 1, cumulativeLost: -3, highestSequence: 2, jitter: 9, lastSR: 10, delaySinceLastSR: 11)
        let statuses: [PacketStatus] = (0..<60).map { $0 % 5 == 0 ? .notReceived : .received(delta250us: $0 % 9 == 0 ? -40 : 12) }
        let feedback = TransportFeedback(
            senderSSRC: 1, mediaSSRC: 2, baseSequenceNumber: 65_530, referenceTime64ms: 77, feedbackCount: 1,
            packets: statuses + Array(repeating: .notReceived, count: 300) + statuses)
        let compounds: [[RTCPPacket]] = [
            [
                .senderReport(
                    SenderReport(
                        ssrc: 1, ntp: NTPTimestamp(rawValue: 2), rtpTimestamp: 3, packetCount: 4, octetCount: 5, reports: [block])),
                .sourceDescription(SourceDescription(ssrc: 1, cname: "name")), .goodbye(Goodbye(ssrcs: [1], reason: "done")),
            ],
            [
                .receiverReport(ReceiverReport(ssrc: 1, reports: [block, block])),
                .genericNACK(GenericNACK(senderSSRC: 1, mediaSSRC: 2, sequenceNumbers: [1, 2, 18, 65_535])),
            ],
            [
                .pictureLossIndication(PictureLossIndication(senderSSRC: 1, mediaSSRC: 2)),
                .fullIntraRequest(FullIntraRequest(senderSSRC: 1, entries: [.init(ssrc: 2, sequence: 3)])),
                .receiverEstimatedMaxBitrate(ReceiverEstimatedMaxBitrate(senderSSRC: 1, bitrate: 9_999_999, ssrcs: [2])),
            ],
            [.transportFeedback(feedback)], [.transportFeedback(feedback)],
        ]
        return compounds.map { packets in
            var writer = ByteWriter()
            for packet in packets { packet.write(into: &writer) }
            return writer.bytes
        }
    }

    private static func payloads() -> (vp8: [[UInt8]], vp9: [[UInt8]], trailers: [[UInt8]]) {
        func bytes(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
            var writer = ByteWriter()
            write(&writer)
            writer.write([0x30, 0x0C, 0, 0x9D, 1, 0x2A, 0xF0, 0, 0xB4, 0])
            return writer.bytes
        }
        let vp8 = VP8Descriptor(isStartOfPartition: true, pictureID: 300, tl0PictureIndex: 4, temporalID: 1, keyIndex: 3)
        let vp9 = VP9Descriptor(
            isStartOfFrame: true, isEndOfFrame: true, isInterPredicted: false, pictureID: 300, tl0PictureIndex: 4,
            scalabilityStructure: .init(width: 640, height: 360))
        let flexible: [UInt8] = [0xF2, 0x81, 0x05, 0x20, 0x03, 0x05, 0x02, 0x38, 5, 0, 2, 0xD0, 5, 0, 2, 0xD0, 2, 0x04, 1, 0x08, 1, 2]
        var trailer = ByteWriter()
        trailer.write([1, 2, 3])
        FrameTrailer.write(FrameMetadata(frameID: 500, captureTimeMicros: 1 << 40, userData: FrameUserData([9, 9, 9])), into: &trailer)
        return (
            [bytes { vp8.write(into: &$0) }, bytes { VP8Descriptor(isStartOfPartition: false).write(into: &$0) }],
            [bytes { vp9.write(into: &$0) }, flexible], [trailer.bytes]
        )
    }

    private static func descriptions() -> [[UInt8]] {
        var session = SessionDescription(sessionID: "1", sessionVersion: 2, bundleGroups: [["0", "1"]])
        session.attributes = [SDPAttribute(name: "extmap-allow-mixed"), SDPAttribute(name: "x", value: "1 y=2")]
        var video = MediaSection(kind: .video, protocolName: "UDP/TLS/RTP/SAVPF", formats: ["98", "99"], mid: "0")
        (video.iceUsernameFragment, video.icePassword) = ("abcd", "abcdefghijklmnopqrstuv")
        video.fingerprints = [Fingerprint(algorithm: "sha-256", value: "AA:BB:CC")]
        video.setup = .actpass
        video.headerExtensions = [SDPHeaderExtension(id: 9, uri: HeaderExtensionURI.mid, direction: "sendonly")]
        video.codecs = [
            RTPCodec(payloadType: 98, name: "VP9", clockRate: 90_000, parameters: "profile-id=0", feedback: ["nack", "nack pli"]),
            RTPCodec(payloadType: 99, name: "rtx", clockRate: 90_000, parameters: "apt=98"),
        ]
        video.sources = [SSRCAttribute(ssrc: 1, name: "cname", value: "c")]
        video.sourceGroups = [SSRCGroup(semantics: "FID", ssrcs: [1, 2])]
        video.candidates = ["candidate:1 1 udp 1 192.0.2.1 5 typ host"]
        video.endOfCandidates = true
        var data = MediaSection(kind: .application, protocolName: "UDP/DTLS/SCTP", formats: ["webrtc-datachannel"], mid: "1")
        (data.sctpPort, data.maxMessageSize) = (5000, 262_144)
        session.sections = [video, data]
        let shared = "v=0\no=- 1 1 IN IP4 x\na=ice-ufrag:u\na=ice-pwd:p\na=setup:active\na=sendonly\na=extmap:3 u\na=fingerprint:SHA-1 AA\n"
        let old =
            "m=audio 0 RTP/AVP 0 8\na=rtcp-fb:* nack\na=fmtp:0 x\nm=application 9 DTLS/SCTP 5000\na=sctpmap:5000 webrtc-datachannel 9\n"
        return [Array(session.write().utf8), Array((shared + old).utf8)]
    }
}

/// SplitMix64: small, seeded, the same on every machine.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func next(below bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }
}
