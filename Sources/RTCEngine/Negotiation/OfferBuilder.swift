// Writes the offer of a connection: one media section per declared track, then the data section, all in one bundle.
// Only what this engine implements is offered: VP9 profile 0, VP8, RTX, Opus, and the feedback and header extensions
// that go with them. RFC 9429 §5.2 (initial offers), RFC 9143 (bundle), RFC 8842 §5 (DTLS role), RFC 8841 (data
// channels); names and numbers as in the shared wire protocol §4. Left out: sending (`AnswerApplier` reads the
// answer), simulcast, FEC.

import RTCBase
package import RTCWire

/// Makes offers of one connection; each is a new version of the same session with the same SSRCs (RFC 3264 §8).
package struct OfferBuilder: Sendable {
    private let configuration: OfferConfiguration
    private let sessionID: String
    /// Of the last offer made; the first gets 1.
    private var version: UInt64 = 0
    /// What identifies the media we send, one for each track.
    private let sources: [LocalSource]

    /// - Parameters:
    ///   - sessionID: decimal digits, a random number of up to 63 bits (RFC 9429 §5.2.1).
    ///   - generator: for SSRCs and track ids.
    package init(configuration: OfferConfiguration, sessionID: String, using generator: inout some RandomNumberGenerator) {
        self.configuration = configuration
        self.sessionID = sessionID
        var used: Set<UInt32> = []
        sources = configuration.tracks.map { _ in LocalSource(avoiding: &used, using: &generator) }
    }

    package mutating func offer(_ transport: LocalTransportParameters) -> SessionDescription {
        version += 1
        var sections = zip(configuration.tracks, sources).map { mediaSection($0, source: $1) }
        sections.append(dataSection())
        for index in sections.indices {
            sections[index].mid = String(index)
            sections[index].apply(transport, isFirst: index == 0)
        }
        return SessionDescription(
            sessionID: sessionID, sessionVersion: version, bundleGroups: [sections.compactMap(\.mid)],
            attributes: sessionAttributes(), sections: sections)
    }

    /// Before the first media section; a peer looks for the last two there (shared wire protocol §4.1).
    private func sessionAttributes() -> [SDPAttribute] {
        var attributes = [
            SDPAttribute(name: "extmap-allow-mixed"),
            SDPAttribute(name: "msid-semantic", value: "WMS \(configuration.streamID)"),
        ]
        if configuration.offersFrameMetadata {
            attributes.append(SDPAttribute(name: SessionAttribute.frameMetadata, value: SessionAttribute.frameMetadataVersion))
        }
        if let limit = configuration.chunkingMaxMessageBytes {
            let value = ChunkFraming.Declaration(maxMessageBytes: limit).attributeValue
            attributes.append(SDPAttribute(name: ChunkFraming.attributeName, value: value))
        }
        return attributes
    }

    private func mediaSection(_ track: TrackDeclaration, source: LocalSource) -> MediaSection {
        var section = MediaSection(kind: track.kind == .video ? .video : .audio, protocolName: "UDP/TLS/RTP/SAVPF")
        section.direction = track.direction == .sendonly ? .sendonly : .recvonly
        section.rtcpMux = true
        section.rtcpReducedSize = true
        section.attributes = [SDPAttribute(name: "rtcp", value: "9 IN IP4 0.0.0.0")]
        switch track.kind {
        case .video:
            section.codecs = configuration.videoCodecs.flatMap(Self.codecs)
            section.headerExtensions = Self.commonExtensions
        case .audio:
            section.codecs = [Self.opus]
            section.headerExtensions = [SDPHeaderExtension(id: 14, uri: HeaderExtensionURI.audioLevel)] + Self.commonExtensions
        }
        section.formats = section.codecs.map { String($0.payloadType) }
        if track.direction == .sendonly { announce(source, kind: track.kind, in: &section) }
        return section
    }

    /// Both kinds carry the same stream id and CNAME, so the far end can play them in step (SDP-15).
    private func announce(_ source: LocalSource, kind: MediaKind, in section: inout MediaSection) {
        section.mediaStreamIDs = ["\(configuration.streamID) \(source.trackID)"]
        section.sources = [SSRCAttribute(ssrc: source.ssrc, name: "cname", value: configuration.cname)]
        guard kind == .video else { return }
        section.sourceGroups = [SSRCGroup(semantics: "FID", ssrcs: [source.ssrc, source.rtxSSRC])]
        section.sources.append(SSRCAttribute(ssrc: source.rtxSSRC, name: "cname", value: configuration.cname))
    }

    private func dataSection() -> MediaSection {
        var section = MediaSection(kind: .application, protocolName: "UDP/DTLS/SCTP", formats: ["webrtc-datachannel"])
        section.sctpPort = 5000
        section.maxMessageSize = Self.maxMessageBytes
        return section
    }

    /// A codec and its retransmission format; numbers as the incumbent uses them.
    private static func codecs(_ codec: VideoCodec) -> [RTPCodec] {
        let payloadType: UInt8 = codec == .vp9 ? 98 : 96
        return [
            RTPCodec(
                payloadType: payloadType, name: codec.rawValue, clockRate: 90_000, parameters: codec == .vp9 ? "profile-id=0" : nil,
                feedback: ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"]),
            RTPCodec(payloadType: payloadType + 1, name: "rtx", clockRate: 90_000, parameters: "apt=\(payloadType)"),
        ]
    }

    /// Two channels by format rule; what is coded is mono (RFC 7587 §7).
    private static let opus = RTPCodec(
        payloadType: 111, name: "opus", clockRate: 48_000, channels: 2, parameters: "minptime=10;useinbandfec=1",
        feedback: ["transport-cc"])

    private static let commonExtensions = [
        SDPHeaderExtension(id: 2, uri: HeaderExtensionURI.absoluteSendTime),
        SDPHeaderExtension(id: 4, uri: HeaderExtensionURI.transportSequenceNumber),
        SDPHeaderExtension(id: 9, uri: HeaderExtensionURI.mid),
    ]

    /// The largest SCTP message we take; the usual value of libwebrtc peers.
    package static let maxMessageBytes = 262_144
}

/// Session-level attributes of our own.
enum SessionAttribute {
    /// Frame trailers (shared wire protocol §7.2).
    static let frameMetadata = "x-reactor-frame-metadata"
    static let frameMetadataVersion = "1"
}

private struct LocalSource: Sendable {
    let ssrc: UInt32
    let rtxSSRC: UInt32
    let trackID: String

    init(avoiding used: inout Set<UInt32>, using generator: inout some RandomNumberGenerator) {
        ssrc = Self.fresh(avoiding: &used, using: &generator)
        rtxSSRC = Self.fresh(avoiding: &used, using: &generator)
        let number = UInt64.random(in: .min ... .max, using: &generator)
        trackID = "track-" + String(number, radix: 16)
    }

    private static func fresh(avoiding used: inout Set<UInt32>, using generator: inout some RandomNumberGenerator) -> UInt32 {
        var candidate: UInt32
        repeat { candidate = UInt32.random(in: 1 ... .max, using: &generator) } while used.contains(candidate)
        used.insert(candidate)
        return candidate
    }
}

extension MediaSection {
    /// Credentials and certificate stand in each section; candidates once, in the section that tags the bundle.
    fileprivate mutating func apply(_ transport: LocalTransportParameters, isFirst: Bool) {
        iceUsernameFragment = transport.usernameFragment
        icePassword = transport.password
        iceOptions = ["trickle"]
        fingerprints = [transport.fingerprint]
        setup = .actpass
        if isFirst {
            candidates = transport.candidates
            endOfCandidates = transport.gatheringComplete
        }
    }
}
