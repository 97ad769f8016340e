// Answers an offer: decides what to take (`AnswerPlan`), writes the answer, and says what both agreed on. In goes a session
// description, out come another and a `NegotiatedSession`, or one error; no state. Rejected sections, sections that nothing
// is wanted from, unknown kinds and both data-channel flavours (SDP-01) may stand in any order. RFC 9429 §5.3, RFC 3264 §6,
// RFC 9143 §7.3 (bundle), RFC 8842 §5.3 (DTLS role), RFC 8841 (data channels). Left out: renegotiation, simulcast.

import RTCBase
package import RTCWire

package struct AnswerBuilder {
    /// The answer to `offer`, and what the two agreed on.
    ///
    /// A track that finds no section, or none that can be served, is no error: see `NegotiatedSession.rejectedTracks`.
    /// - Parameters:
    ///   - trackNames: the track of each mid when signalling told; without it tracks and sections of a kind meet in order.
    ///   - sessionID: decimal digits, a random number of up to 63 bits (RFC 9429 §5.2.1).
    ///   - generator: for SSRCs and track ids.
    package static func answer(
        _ offer: SessionDescription, configuration: OfferConfiguration, trackNames: [String: String] = [:],
        transport: LocalTransportParameters, sessionID: String, using generator: inout some RandomNumberGenerator
    ) throws(NegotiationError) -> (answer: SessionDescription, session: NegotiatedSession) {
        let plan = try AnswerPlan(offer, configuration: configuration, trackNames: trackNames)
        let setup = try role(against: plan.transportSection.setup)
        var session = try NegotiatedSession(transport: plan.transportSection, of: offer, isDTLSClient: setup == .active)

        var answer = SessionDescription(sessionID: sessionID, bundleGroups: plan.bundle.isEmpty ? [] : [plan.bundle])
        // The peer's SSRCs are taken: one number must not mean two sources.
        var used = Set(offer.sections.flatMap { $0.sources.map(\.ssrc) })
        for (offered, decision) in zip(offer.sections, plan.sections) {
            var section: MediaSection
            switch decision.fate {
            case .refused: section = refusal(of: offered)
            case .data: section = dataSection(offered)
            case .media:
                section = mediaSection(offered, for: decision.track, configuration)
                if let track = decision.track, section.direction.sends {
                    LocalSource(avoiding: &used, using: &generator).announce(track.kind, configuration, in: &section)
                }
            }
            if decision.fate != .refused { section.apply(transport, setup: setup) }
            answer.sections.append(section)
        }
        // Candidates stand once, in the section that tags the bundle (RFC 9143 §7.3.1).
        let tagged = plan.bundle.first.flatMap { mid in answer.sections.firstIndex { $0.mid == mid } }
        if let index = tagged ?? plan.sections.firstIndex(where: { $0.fate != .refused }) {
            answer.sections[index].candidates = transport.candidates
            answer.sections[index].endOfCandidates = transport.gatheringComplete
        }
        answer.attributes = sessionAttributes(offer, answer, configuration)

        session.takeExtensions(own: answer, peer: offer, configuration)
        for (index, decision) in plan.sections.enumerated() {
            if decision.fate == .data { try session.takeDataSection(offer.sections[index]) }
            guard let kind = offer.sections[index].mediaKind else { continue }
            let mid = offer.sections[index].mid ?? String(index)
            let track = decision.track ?? TrackDeclaration(name: "", kind: kind, direction: .recvonly)
            guard decision.fate == .media else {
                let rejection = decision.track == nil ? nil : decision.rejection
                session.sections.append(
                    NegotiatedSection(mid: mid, kind: kind, trackName: track.name, accepted: false, rejection: rejection))
                continue
            }
            session.sections.append(
                try SectionNegotiation(
                    own: answer.sections[index], peer: offer.sections[index], answered: answer.sections[index], mid: mid,
                    track: track, videoCodecs: configuration.videoCodecs
                ).negotiate())
        }
        for track in plan.unusedTracks {
            session.sections.append(
                NegotiatedSection(mid: "", kind: track.kind, trackName: track.name, accepted: false, rejection: .notOffered))
        }
        return (answer, session)
    }

    /// Ours, from what the offer leaves us: client when there is a choice, so that the handshake starts half a round trip
    /// earlier (RFC 8842 §5.3). The session's role is read from it and nowhere else (DTLS-04).
    private static func role(against offered: MediaSection.Setup?) throws(NegotiationError) -> MediaSection.Setup {
        switch offered {
        case .actpass, .passive: return .active
        case .active: return .passive
        case .holdconn, nil: throw .invalidSetup(offered?.rawValue ?? "missing")
        }
    }

    private static func sessionAttributes(
        _ offer: SessionDescription, _ answer: SessionDescription, _ configuration: OfferConfiguration
    ) -> [SDPAttribute] {
        var attributes: [SDPAttribute] = []
        if offer.attribute("extmap-allow-mixed") != nil { attributes.append(SDPAttribute(name: "extmap-allow-mixed")) }
        if answer.sections.contains(where: { !$0.mediaStreamIDs.isEmpty }) {
            attributes.append(SDPAttribute(name: "msid-semantic", value: "WMS \(configuration.streamID)"))
        }
        let metadata = SDPAttribute(name: SessionAttribute.frameMetadata, value: SessionAttribute.frameMetadataVersion)
        if configuration.offersFrameMetadata, offer.attribute(metadata.name) == metadata { attributes.append(metadata) }
        if let limit = configuration.chunkingMaxMessageBytes, offer.chunking != nil {
            let value = ChunkFraming.Declaration(maxMessageBytes: limit).attributeValue
            attributes.append(SDPAttribute(name: ChunkFraming.attributeName, value: value))
        }
        return attributes
    }

    /// Port 0, and the formats as they came, of which there must be one.
    private static func refusal(of offered: MediaSection) -> MediaSection {
        var section = MediaSection(
            kind: offered.kind, port: 0, protocolName: offered.protocolName,
            formats: offered.formats.isEmpty ? ["0"] : offered.formats, mid: offered.mid)
        section.direction = .inactive
        return section
    }

    /// In the flavour of the offer (SDP-01).
    private static func dataSection(_ offered: MediaSection) -> MediaSection {
        var section = MediaSection(
            kind: .application, protocolName: offered.protocolName, formats: ["webrtc-datachannel"], mid: offered.mid)
        section.maxMessageSize = OwnFormats.maxMessageBytes
        if offered.formats.contains("webrtc-datachannel") {
            section.sctpPort = 5000
        } else {
            section.formats = ["5000"]
            section.sctpMap = "5000 webrtc-datachannel 1024"
        }
        return section
    }

    private static func mediaSection(
        _ offered: MediaSection, for track: TrackDeclaration?, _ configuration: OfferConfiguration
    ) -> MediaSection {
        var section = MediaSection(kind: offered.kind, protocolName: offered.protocolName, mid: offered.mid)
        section.direction = MediaSection.Direction(
            sends: track?.sends == true && offered.direction.receives, receives: track?.receives == true && offered.direction.sends)
        section.rtcpMux = true
        section.rtcpReducedSize = offered.rtcpReducedSize
        section.attributes = [SDPAttribute(name: "rtcp", value: "9 IN IP4 0.0.0.0")]
        let kind: MediaKind
        if offered.kind == .video {
            kind = .video
            section.codecs = configuration.videoCodecs.flatMap { videoFormats($0, offered) }
        } else {
            kind = .audio
            section.codecs = audioFormats(offered, channels: track?.channels ?? 1)
        }
        section.formats = section.codecs.map { String($0.payloadType) }
        let ours = Set(OwnFormats.headerExtensions(kind).map(\.uri))
        // One-byte ids only, because that is how we write them; an extension of one direction is not worth the trouble.
        section.headerExtensions = offered.headerExtensions.filter {
            ours.contains($0.uri) && $0.id < 15 && ($0.direction ?? "sendrecv") == "sendrecv"
        }
        return section
    }

    /// The offered formats of one codec of ours, each with its retransmission, under the numbers of the offer.
    private static func videoFormats(_ codec: VideoCodec, _ offered: MediaSection) -> [RTPCodec] {
        var formats: [RTPCodec] = []
        for theirs in offered.codecs where VideoCodec(theirs) == codec && theirs.isSupported(for: .video, videoCodecs: [codec]) {
            let ours = OwnFormats.codecs(codec)[0]
            formats.append(
                RTPCodec(
                    payloadType: theirs.payloadType, name: ours.name, clockRate: ours.clockRate,
                    parameters: theirs.parameter("profile-id") == nil ? nil : ours.parameters,
                    feedback: ours.feedback.filter(theirs.feedback.contains)))
            let repair = offered.codecs.first {
                $0.isNamed("rtx") && $0.parameter("apt") == String(theirs.payloadType) && !(64...95).contains($0.payloadType)
            }
            if let repair {
                formats.append(
                    RTPCodec(
                        payloadType: repair.payloadType, name: "rtx", clockRate: 90_000, parameters: "apt=\(theirs.payloadType)"))
            }
        }
        return formats
    }

    private static func audioFormats(_ offered: MediaSection, channels: Int) -> [RTPCodec] {
        offered.codecs.filter { $0.isSupported(for: .audio, videoCodecs: []) }.map { theirs in
            var format = OwnFormats.opus(channels: channels)
            format.payloadType = theirs.payloadType
            format.feedback = format.feedback.filter(theirs.feedback.contains)
            return format
        }
    }
}

extension MediaSection {
    /// Credentials and certificate stand in each section that is taken.
    fileprivate mutating func apply(_ transport: LocalTransportParameters, setup: Setup) {
        iceUsernameFragment = transport.usernameFragment
        icePassword = transport.password
        iceOptions = ["trickle"]
        fingerprints = [transport.fingerprint]
        self.setup = setup
    }
}
