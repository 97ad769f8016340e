// Writes the offer of a connection: one media section per declared track, then the data section, all in one bundle.
// Only what this engine implements is offered (`OwnFormats`). RFC 9429 §5.2 (initial offers), RFC 9143 (bundle), RFC 8842 §5 (DTLS role), RFC 8841 (data
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
        if configuration.offersDataChannels { sections.append(dataSection()) }
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
        section.direction = MediaSection.Direction(sends: track.sends, receives: track.receives)
        section.rtcpMux = true
        section.rtcpReducedSize = true
        section.attributes = [SDPAttribute(name: "rtcp", value: "9 IN IP4 0.0.0.0")]
        switch track.kind {
        case .video:
            section.codecs = configuration.videoCodecs.flatMap(OwnFormats.codecs)
            section.headerExtensions = OwnFormats.headerExtensions(.video)
        case .audio:
            section.codecs = [OwnFormats.opus(channels: track.channels)]
            section.headerExtensions = OwnFormats.headerExtensions(.audio)
        }
        section.formats = section.codecs.map { String($0.payloadType) }
        if track.sends { source.announce(track.kind, configuration, in: &section) }
        return section
    }

    private func dataSection() -> MediaSection {
        var section = MediaSection(kind: .application, protocolName: "UDP/DTLS/SCTP", formats: ["webrtc-datachannel"])
        section.sctpPort = 5000
        section.maxMessageSize = OwnFormats.maxMessageBytes
        return section
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
