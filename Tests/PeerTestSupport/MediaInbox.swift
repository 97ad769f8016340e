// What the far end of a test receives: the receive half of an engine behind SRTP, with decoders behind it. In: RTP and
// RTCP of the sections that the offer sends on, time. Out: pictures and samples to look at, and RTCP to send back.

package import RTCBase
import RTCCodec
import RTCEngine
import RTCWire

/// Receives and decodes what the near end publishes. Network thread only.
package final class MediaInbox {
    /// One decoded frame.
    package struct Picture: Sendable {
        package var mid: String
        package var width: Int
        package var height: Int
        package var isKeyFrame: Bool
        package var codec: VideoCodec
        package var metadata: FrameMetadata?
        package var rtpTimestamp: UInt32
        /// Y, U and V of the picture's middle.
        package var middle: [Int]
    }

    /// The last thousand, oldest first.
    package private(set) var pictures: [Picture] = []
    package private(set) var pictureCount = 0
    package private(set) var decodeErrors = 0
    /// RTP packets by mid, retransmissions and padding included.
    package private(set) var packetCounts: [String: Int] = [:]
    /// 48 kHz mono by mid, at most the last ten seconds.
    package private(set) var samples: [String: [Int16]] = [:]

    private let session: NegotiatedSession
    private var engine: PeerEngine
    private var outputs = EngineOutputs()
    private let pool = FrameBufferPool()
    private var videoDecoders: [Int: (codec: VideoCodec, decoder: VPXDecoder)] = [:]
    private var audioDecoders: [Int: OpusDecoder] = [:]
    private let midsBySSRC: [UInt32: String]

    init(offer: SessionDescription, usesFrameMetadata: Bool) {
        session = Self.session(offer, usesFrameMetadata: usesFrameMetadata)
        var mids: [UInt32: String] = [:]
        for section in offer.sections { for source in section.sources { mids[source.ssrc] = section.mid } }
        midsBySSRC = mids
        engine = PeerEngine(session: session, localSSRC: UInt32.random(in: 1...UInt32.max), cname: "test", pool: pool)
    }

    /// What was answered, seen from here: the sections that the offer sends on are received.
    private static func session(_ offer: SessionDescription, usesFrameMetadata: Bool) -> NegotiatedSession {
        var session = NegotiatedSession(
            usernameFragment: "", password: "", fingerprints: [], isDTLSClient: true, usesFrameMetadata: usesFrameMetadata)
        for offered in offer.sections where offered.isRTP {
            var section = NegotiatedSection(
                mid: offered.mid ?? "", kind: offered.kind == .video ? .video : .audio, trackName: offered.mid ?? "")
            section.receives = offered.direction == .sendonly || offered.direction == .sendrecv
            for format in offered.codecs {
                if format.isNamed("VP8") { section.videoCodecs[format.payloadType] = .vp8 }
                if format.isNamed("VP9") { section.videoCodecs[format.payloadType] = .vp9 }
                if format.isNamed("opus") { section.opusPayloadTypes.insert(format.payloadType) }
                if format.isNamed("rtx"), let repaired = format.parameter("apt").flatMap(UInt8.init) {
                    section.rtxPayloadTypes[format.payloadType] = repaired
                }
            }
            for source in offered.sources { section.announcedSSRCs[source.ssrc] = .some(nil) }
            for group in offered.sourceGroups where group.semantics == "FID" && group.ssrcs.count == 2 {
                section.announcedSSRCs[group.ssrcs[0]] = .some(group.ssrcs[1])
                section.announcedSSRCs[group.ssrcs[1]] = nil
            }
            section.extensionIDs = HeaderExtensionIDs(offered.headerExtensions)
            section.usesNACK = section.kind == .video
            section.usesPLI = section.kind == .video
            section.usesTransportFeedback = section.extensionIDs.transportSequenceNumber != 0
            section.usesReducedSizeRTCP = true
            session.sections.append(section)
        }
        return session
    }

    // MARK: In

    func handleRTP(_ packet: RawSpan, now: MonotonicTime) {
        count(packet)
        engine.handleRTP(packet, now: now, into: &outputs)
        for arrival in outputs.audio { hear(packet.extracting(arrival.payload), section: arrival.section) }
        drain()
    }

    func handleRTCP(_ packet: RawSpan, now: MonotonicTime) {
        engine.handleRTCP(packet, now: now, into: &outputs)
        drain()
    }

    func handleTimeout(now: MonotonicTime) {
        guard let deadline = engine.nextDeadline(), deadline <= now else { return }
        engine.handleTimeout(now: now, into: &outputs)
        drain()
    }

    var nextDeadline: MonotonicTime? { engine.nextDeadline() }

    /// Asks the near end for a key frame of the section.
    func requestKeyFrame(mid: String, now: MonotonicTime) {
        guard let section = session.sections.firstIndex(where: { $0.mid == mid }) else { return }
        engine.requestKeyFrame(section: section, now: now, into: &outputs)
        drain()
    }

    /// RTCP to protect and send.
    private(set) var pendingRTCP: [[UInt8]] = []
    func takeRTCP() -> [[UInt8]] {
        defer { pendingRTCP = [] }
        return pendingRTCP
    }

    // MARK: Looking

    private func count(_ packet: RawSpan) {
        guard let header = try? RTPHeader(parsing: packet) else { return }
        packetCounts[midsBySSRC[header.ssrc] ?? "?", default: 0] += 1
    }

    private func drain() {
        for range in outputs.rtcpPackets { pendingRTCP.append(Array(outputs.rtcpBytes[range])) }
        let frames = outputs.frames
        outputs.removeAll()
        for (section, frame) in frames { see(frame, section: section) }
    }

    private func see(_ frame: EncodedFrame, section: Int) {
        do {
            let known = videoDecoders[section].flatMap { $0.codec == frame.codec ? $0.decoder : nil }
            let decoder = try known ?? VPXDecoder(codec: frame.codec)
            videoDecoders[section] = (frame.codec, decoder)
            guard let picture = try decoder.decode(frame, pool: pool) else { return }
            let row = picture.height / 2
            let column = picture.width / 2
            if pictures.count == 1000 { pictures.removeFirst(500) }
            pictures.append(
                Picture(
                    mid: session.sections[section].mid, width: picture.width, height: picture.height, isKeyFrame: frame.isKeyFrame,
                    codec: frame.codec, metadata: frame.metadata, rtpTimestamp: frame.rtpTimestamp,
                    middle: [
                        Int(picture.planeY[row * picture.strideY + column]),
                        Int(picture.planeU[row / 2 * picture.strideU + column / 2]),
                        Int(picture.planeV[row / 2 * picture.strideV + column / 2]),
                    ]))
            pictureCount += 1
        } catch {
            decodeErrors += 1
        }
    }

    private func hear(_ payload: RawSpan, section: Int) {
        guard let decoder = try? audioDecoders[section] ?? OpusDecoder() else { return }
        audioDecoders[section] = decoder
        var block = [Int16](repeating: 0, count: decoder.maxSamplesPerChannel)
        let count = block.withUnsafeMutableBufferPointer { try? decoder.decode(payload, into: $0) } ?? 0
        let mid = session.sections[section].mid
        samples[mid, default: []] += block[..<count]
        if samples[mid, default: []].count > 480_000 { samples[mid, default: []].removeFirst(48_000) }
    }
}
