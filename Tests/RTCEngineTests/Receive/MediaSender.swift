import RTCBase
import RTCEngine
import RTCWire

/// The sending end of one video section as libwebrtc behaves: numbering, a history for retransmission over RTX that
/// ignores a repeat within its round trip, counts of what it was asked for.
struct MediaSender {
    static let ssrc: UInt32 = 0x1111_1111
    static let rtxSSRC: UInt32 = 0x2222_2222
    static let vp8: UInt8 = 96
    static let vp9: UInt8 = 98
    static let opus: UInt8 = 111
    static let midID: UInt8 = 1
    static let transportID: UInt8 = 3

    let codec: VideoCodec
    var ssrc = MediaSender.ssrc
    var sequence: UInt16
    var rtxSequence: UInt16 = 500
    var transportSequence: UInt16 = 0
    var mid: String?
    /// libwebrtc rtp_packet_history.cc ignores a request that comes within this time after the last transmission.
    var roundTripNanoseconds: Int64 = 0
    private(set) var history: [UInt16: (packet: [UInt8], sentAt: MonotonicTime)] = [:]
    private(set) var pliCount = 0
    private(set) var firCount = 0
    private(set) var requested: [UInt16] = []
    private(set) var nackPacketCount = 0
    private(set) var feedbackCount = 0
    private(set) var reports: [ReceiverReport] = []

    private var packetizer8 = VP8Packetizer(firstPictureID: 0x7FF0)
    private var packetizer9 = VP9Packetizer(firstPictureID: 0x7FF0)
    private var cut = PacketizedFrame()

    init(codec: VideoCodec, firstSequence: UInt16 = 65_500) {
        self.codec = codec
        sequence = firstSequence
    }

    var payloadType: UInt8 { codec == .vp8 ? Self.vp8 : Self.vp9 }

    /// One video section and one for audio, as the answer of the vendor's server makes them.
    static func session(
        usesFrameMetadata: Bool = false, announced: Bool = false, nack: Bool = true, pli: Bool = true, fir: Bool = true,
        videoSections: Int = 1
    ) -> NegotiatedSession {
        var ids = HeaderExtensionIDs()
        ids.mid = midID
        ids.transportSequenceNumber = transportID
        var sections = (0..<videoSections).map { index in
            NegotiatedSection(
                mid: "v\(index)", kind: .video, trackName: "video\(index)", receives: true, videoCodecs: [vp8: .vp8, vp9: .vp9],
                rtxPayloadTypes: [vp8 + 1: vp8, vp9 + 1: vp9], announcedSSRCs: announced && index == 0 ? [ssrc: rtxSSRC] : [:],
                extensionIDs: ids, usesNACK: nack, usesPLI: pli, usesFIR: fir, usesTransportFeedback: true)
        }
        sections.append(
            NegotiatedSection(
                mid: "a", kind: .audio, trackName: "audio", receives: true, opusPayloadTypes: [opus], extensionIDs: ids,
                usesTransportFeedback: true))
        return NegotiatedSession(
            usernameFragment: "abcd", password: "abcdefghijklmnopqrstuv", fingerprints: [], isDTLSClient: true,
            usesFrameMetadata: usesFrameMetadata, sections: sections)
    }

    static func engine(_ session: NegotiatedSession = session()) -> PeerEngine {
        PeerEngine(session: session, localSSRC: 7, cname: "c", pool: FrameBufferPool())
    }

    /// The packets of one frame, numbered and remembered.
    mutating func packets(
        _ frame: [UInt8], isKeyFrame: Bool, timestamp: UInt32, isNonReference: Bool = false, now: MonotonicTime
    ) -> [[UInt8]] {
        switch codec {
        case .vp8: packetizer8.packetize(frame.span.bytes, isNonReference: isNonReference, into: &cut)
        case .vp9: packetizer9.packetize(frame.span.bytes, isKeyFrame: isKeyFrame, size: (320, 240), into: &cut)
        }
        let last = cut.payloads.count - 1
        let payloads = cut.payloads.map { cut.withPayload($0) { $0.copy() } }
        return payloads.enumerated().map { packet($1, marker: $0 == last, timestamp: timestamp, now: now) }
    }

    /// One packet around a payload that has its descriptor.
    mutating func packet(
        _ payload: [UInt8], marker: Bool, timestamp: UInt32, padding: Int = 0, now: MonotonicTime = MonotonicTime(milliseconds: 0)
    ) -> [UInt8] {
        let header = RTPHeader(
            marker: marker, payloadType: payloadType, sequenceNumber: sequence, timestamp: timestamp, ssrc: ssrc)
        let bytes = write(header, payload, padding: padding)
        history[sequence] = (bytes, now)
        history[sequence &- 600] = nil
        sequence &+= 1
        return bytes
    }

    /// The answers to an RTCP datagram.
    mutating func handleRTCP(_ datagram: [UInt8], now: MonotonicTime) -> [[UInt8]] {
        guard let parts = try? RTCPPacket.parseCompound(datagram.span.bytes) else { return [] }
        var answers: [[UInt8]] = []
        for part in parts {
            switch part {
            case .pictureLossIndication(let request): if request.mediaSSRC == ssrc { pliCount += 1 }
            case .fullIntraRequest: firCount += 1
            case .receiverReport(let report): reports.append(report)
            case .transportFeedback: feedbackCount += 1
            case .genericNACK(let request):
                nackPacketCount += 1
                requested += request.sequenceNumbers
                for number in request.sequenceNumbers {
                    guard let entry = history[number], now.nanoseconds(since: entry.sentAt) >= roundTripNanoseconds else { continue }
                    history[number] = (entry.packet, now)
                    answers.append(retransmission(of: entry.packet))
                }
            default: break
            }
        }
        return answers
    }

    mutating func retransmission(of packet: [UInt8]) -> [UInt8] {
        guard let header = try? RTPHeader(parsing: packet.span.bytes) else { return [] }
        var writer = ByteWriter()
        _ = Retransmission.write(
            original: packet.span.bytes, header: header, payloadType: payloadType + 1, ssrc: Self.rtxSSRC,
            sequenceNumber: rtxSequence, into: &writer)
        rtxSequence &+= 1
        return writer.bytes
    }

    mutating func write(_ header: RTPHeader, _ payload: [UInt8], padding: Int = 0) -> [UInt8] {
        var writer = ByteWriter()
        var extensions: [HeaderExtension] = [.transportSequenceNumber(transportSequence, id: Self.transportID)]
        if let mid { extensions.append(.mid(mid, id: Self.midID)) }
        transportSequence &+= 1
        header.write(into: &writer, extensions: extensions, hasPadding: padding > 0)
        writer.write(payload)
        if padding > 0 {
            for _ in 1..<padding { writer.write(0 as UInt8) }
            writer.write(UInt8(padding))
        }
        return writer.bytes
    }
}

extension PeerEngine {
    mutating func handleRTP(_ packet: [UInt8], now: MonotonicTime, into out: inout EngineOutputs) {
        handleRTP(packet.span.bytes, now: now, into: &out)
    }

    /// Runs every timeout up to `time`.
    mutating func run(until time: MonotonicTime, into out: inout EngineOutputs) {
        while let deadline = nextDeadline(), deadline <= time { handleTimeout(now: deadline, into: &out) }
    }
}

extension EngineOutputs {
    /// All RTCP packets so far.
    var feedback: [RTCPPacket] {
        rtcpPackets.flatMap { (try? RTCPPacket.parseCompound(Array(rtcpBytes[$0]).span.bytes)) ?? [] }
    }
    var requestedNumbers: [UInt16] {
        feedback.flatMap { packet -> [UInt16] in if case .genericNACK(let nack) = packet { nack.sequenceNumbers } else { [] } }
    }
    var pliCount: Int {
        feedback.count { if case .pictureLossIndication = $0 { true } else { false } }
    }
    var frameBytes: [[UInt8]] { frames.map { $0.frame.bytes.withBytes { $0.copy() } } }
}

/// Bytes of a frame that looks like VP8's to the descriptor: the lowest bit of the first byte tells key frames.
func testFrame(_ index: Int, isKeyFrame: Bool, count: Int) -> [UInt8] {
    var bytes = (0..<max(1, count)).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ index &* 13) }
    bytes[0] = isKeyFrame ? 0x10 : 0x11
    return bytes
}

let start = MonotonicTime(milliseconds: 5_000)
