// Reads an answer against its offer: checks that the two fit, and turns them into a `NegotiatedSession`. In go two
// session descriptions, out come values or one error; no state, so an error leaves everything as it was. RFC 9429
// §5.11, RFC 3264 §6, RFC 9143 §7.3 (bundle), RFC 8842 §5.3 (DTLS role), RFC 8122 §5 (fingerprints), RFC 8841
// (data channels), shared wire protocol §4, §5.8, §7.2. Left out: answering an offer, renegotiation.

import RTCBase
package import RTCWire

package struct AnswerApplier {
    /// What the two agreed on.
    ///
    /// A refused or unusable track is no error: its section is not `accepted` and says why. An error means that there
    /// is no transport, or that the answer belongs to something else.
    package static func apply(
        _ answer: SessionDescription, to offer: SessionDescription, configuration: OfferConfiguration
    ) throws(NegotiationError) -> NegotiatedSession {
        try checkShape(answer, offer)
        guard let transport = try transportSection(answer) else { throw .nothingAccepted }
        var session = try negotiateTransport(transport, answer)
        try negotiateData(answer, into: &session)
        negotiateExtras(answer, offer, configuration, into: &session)

        var tracks = configuration.tracks.makeIterator()
        for (index, offered) in offer.sections.enumerated() where offered.kind != .application {
            guard let track = tracks.next() else { break }
            session.sections.append(
                try SectionNegotiation(
                    offered: offered, answered: answer.sections[index], mid: offered.mid ?? String(index), track: track,
                    videoCodecs: configuration.videoCodecs
                ).negotiate())
        }
        return session
    }

    /// Same number of sections, same kinds and mids, in the same order (RFC 3264 §6, RFC 9429 §5.11).
    private static func checkShape(_ answer: SessionDescription, _ offer: SessionDescription) throws(NegotiationError) {
        guard answer.sections.count == offer.sections.count else {
            throw .sectionCountMismatch(offered: offer.sections.count, answered: answer.sections.count)
        }
        for (index, (offered, answered)) in zip(offer.sections, answer.sections).enumerated() {
            guard answered.kind == offered.kind, answered.isRejected || answered.isRTP == offered.isRTP else {
                throw .sectionKindMismatch(
                    index: index, offered: "\(offered.kind.name) \(offered.protocolName)",
                    answered: "\(answered.kind.name) \(answered.protocolName)")
            }
            // A peer without mids can only be meant in order; the bundle check decides about it.
            if let offeredMid = offered.mid, let answeredMid = answered.mid, offeredMid != answeredMid {
                throw .midMismatch(index: index, offered: offeredMid, answered: answeredMid)
            }
        }
    }

    /// The section whose transport counts for all: the first accepted one in the bundle (RFC 9143 §7.3.1). Nil when
    /// everything was refused. Half-connected sections are an error, never a silent loss (SDP-04).
    private static func transportSection(_ answer: SessionDescription) throws(NegotiationError) -> MediaSection? {
        let accepted = answer.sections.filter { !$0.isRejected }
        guard accepted.count > 1 else { return accepted.first }
        let known = Set(answer.sections.compactMap(\.mid))
        for mid in answer.bundleGroups.joined() where !known.contains(mid) { throw .notBundled(mid: mid) }
        let firstMid = accepted[0].mid ?? ""
        guard let group = answer.bundleGroups.first(where: { $0.contains(firstMid) }) else { throw .notBundled(mid: firstMid) }
        for section in accepted where !group.contains(section.mid ?? "") { throw .notBundled(mid: section.mid ?? "") }
        return group.lazy.compactMap { mid in accepted.first { $0.mid == mid } }.first
    }

    private static func negotiateTransport(
        _ section: MediaSection, _ answer: SessionDescription
    ) throws(NegotiationError) -> NegotiatedSession {
        guard let usernameFragment = section.iceUsernameFragment, let password = section.icePassword else {
            throw .missingICECredentials
        }
        // RFC 8839 §5.4.
        guard (4...256).contains(usernameFragment.utf8.count), (22...256).contains(password.utf8.count) else {
            throw .invalidICECredentials
        }
        guard !section.fingerprints.isEmpty else { throw .missingFingerprint }
        let usable = section.fingerprints.filter { $0.isSupported && $0.bytes?.count == $0.hashBytes }
        guard !usable.isEmpty else { throw .unsupportedFingerprint(algorithms: section.fingerprints.map(\.algorithm)) }
        let isClient: Bool
        switch section.setup {
        case .active: isClient = false
        case .passive: isClient = true
        default: throw .invalidSetup(section.setup?.rawValue ?? "missing")
        }
        // Candidates stand in the section that tags the bundle; some peers repeat them, a few put them elsewhere.
        let alive = answer.sections.filter { !$0.isRejected }
        let candidates = section.candidates.isEmpty ? alive.flatMap(\.candidates) : section.candidates
        return NegotiatedSession(
            usernameFragment: usernameFragment, password: password, candidates: candidates,
            endOfCandidates: section.endOfCandidates, fingerprints: usable, isDTLSClient: isClient)
    }

    private static func negotiateData(_ answer: SessionDescription, into session: inout NegotiatedSession) throws(NegotiationError) {
        guard let section = answer.sections.first(where: { $0.kind == .application }), !section.isRejected, section.isDataChannel
        else { throw .dataChannelsRefused }
        let port = section.dataChannelPort ?? 5000
        guard (1...65_535).contains(port) else { throw .invalidSCTPPort }
        session.sctpPort = port
        switch section.maxMessageSize {
        case nil: session.maxMessageBytes = NegotiatedSession.defaultMaxMessageBytes
        case 0: session.maxMessageBytes = NegotiatedSession.unlimitedMessageBytes
        case let size?: session.maxMessageBytes = min(max(size, 1), NegotiatedSession.unlimitedMessageBytes)
        }
    }

    /// Trailers and chunking are on only when both descriptions declare a version we speak.
    private static func negotiateExtras(
        _ answer: SessionDescription, _ offer: SessionDescription, _ configuration: OfferConfiguration,
        into session: inout NegotiatedSession
    ) {
        session.usesFrameMetadata =
            configuration.offersFrameMetadata
            && [offer, answer].allSatisfy {
                $0.attribute(SessionAttribute.frameMetadata)?.value == SessionAttribute.frameMetadataVersion
            }
        if let ownLimit = configuration.chunkingMaxMessageBytes, declaration(offer) != nil, let theirs = declaration(answer) {
            session.chunkingPeerMaxBytes = theirs.maxMessageBytes.map { $0 > 0 ? $0 : ownLimit } ?? ownLimit
        }
    }

    private static func declaration(_ description: SessionDescription) -> ChunkFraming.Declaration? {
        description.attribute(ChunkFraming.attributeName).flatMap { ChunkFraming.Declaration(attributeValue: $0.value) }
    }
}

/// One media section, offered and answered.
private struct SectionNegotiation {
    let offered: MediaSection
    let answered: MediaSection
    let mid: String
    let track: TrackDeclaration
    let videoCodecs: [VideoCodec]

    func negotiate() throws(NegotiationError) -> NegotiatedSection {
        var section = NegotiatedSection(mid: mid, kind: track.kind, trackName: track.name)
        guard !answered.isRejected else {
            section.accepted = false
            section.rejection = .refusedByPeer
            return section
        }
        let common = answered.codecs.filter(isOurs)
        guard !common.isEmpty else {
            section.accepted = false
            section.rejection = .noCommonCodec(answered: answered.codecs.map(\.name))
            return section
        }
        guard answered.rtcpMux else { throw .missingMultiplexing(mid: mid) }
        try negotiateDirection(&section)
        negotiateCodecs(common, &section)
        negotiateSources(&section)
        return section
    }

    /// RFC 3264 §6.1: what one side sends the other must receive; `inactive` is always allowed.
    private func negotiateDirection(_ section: inout NegotiatedSection) throws(NegotiationError) {
        let offersSending = offered.direction == .sendonly || offered.direction == .sendrecv
        let offersReceiving = offered.direction == .recvonly || offered.direction == .sendrecv
        let answersSending = answered.direction == .sendonly || answered.direction == .sendrecv
        let answersReceiving = answered.direction == .recvonly || answered.direction == .sendrecv
        section.receives = offersReceiving && answersSending
        section.sends = offersSending && answersReceiving
        // A missing line reads as `sendrecv` and fits everything that was offered.
        guard section.receives || section.sends || answered.direction == .inactive else {
            throw .invalidDirection(mid: mid, offered: offered.direction.rawValue, answered: answered.direction.rawValue)
        }
    }

    private func negotiateCodecs(_ common: [RTPCodec], _ section: inout NegotiatedSection) {
        section.preferredPayloadType = common.first?.payloadType
        // The peer sends with our numbers, normally the same ones (RFC 3264 §6.1); both are understood.
        let offeredToo = offered.codecs.filter { codec in isOurs(codec) && common.contains { $0.isNamed(codec.name) } }
        for codec in common + offeredToo {
            if let video = VideoCodec(codec) {
                if section.videoCodecs[codec.payloadType] == nil { section.videoCodecs[codec.payloadType] = video }
            } else {
                section.opusPayloadTypes.insert(codec.payloadType)
            }
        }
        for codec in answered.codecs + offered.codecs where codec.isNamed("rtx") && answered.codecs.contains(where: { $0.isNamed("rtx") }) {
            guard let repaired = codec.parameter("apt").flatMap(UInt8.init), section.videoCodecs[repaired] != nil,
                section.videoCodecs[codec.payloadType] == nil, section.rtxPayloadTypes[codec.payloadType] == nil
            else { continue }
            section.rtxPayloadTypes[codec.payloadType] = repaired
        }
        let feedback = Set(common.flatMap(\.feedback)).intersection(offered.codecs.filter(isOurs).flatMap(\.feedback))
        section.usesNACK = feedback.contains("nack")
        section.usesPLI = feedback.contains("nack pli")
        section.usesFIR = feedback.contains("ccm fir")
        let offeredURIs = Set(offered.headerExtensions.map(\.uri))
        section.extensionIDs = HeaderExtensionIDs(answered.headerExtensions.filter { offeredURIs.contains($0.uri) })
        section.usesTransportFeedback = feedback.contains("transport-cc") && section.extensionIDs.transportSequenceNumber != 0
        section.usesReducedSizeRTCP = offered.rtcpReducedSize && answered.rtcpReducedSize
    }

    /// RFC 5576; nothing is announced by many peers, and nothing may depend on it (RTP-15).
    private func negotiateSources(_ section: inout NegotiatedSection) {
        section.cname = answered.cname()
        let pairs = Self.pairs(answered)
        let repairing = Set(pairs.values)
        for source in answered.sources where !repairing.contains(source.ssrc) {
            section.announcedSSRCs[source.ssrc] = .some(pairs[source.ssrc])
        }
        if section.sends {
            section.localSSRC = offered.sources.first?.ssrc
            section.localRTXSSRC = section.localSSRC.flatMap { Self.pairs(offered)[$0] }
        }
    }

    private static func pairs(_ section: MediaSection) -> [UInt32: UInt32] {
        var pairs: [UInt32: UInt32] = [:]
        for group in section.sourceGroups where group.semantics == "FID" && group.ssrcs.count == 2 {
            pairs[group.ssrcs[0]] = group.ssrcs[1]
        }
        return pairs
    }

    private func isOurs(_ codec: RTPCodec) -> Bool {
        switch track.kind {
        case .video: VideoCodec(codec).map(videoCodecs.contains) ?? false
        case .audio: codec.isNamed("opus") && codec.clockRate == OpusPacket.clockRate
        }
    }
}

extension VideoCodec {
    /// Nil for codecs we lack; of VP9 only profile 0, which is also meant when no profile is named (RFC 9628 §6.1).
    fileprivate init?(_ codec: RTPCodec) {
        guard codec.clockRate == 90_000 else { return nil }
        if codec.isNamed(VideoCodec.vp8.rawValue) {
            self = .vp8
        } else if codec.isNamed(VideoCodec.vp9.rawValue), codec.parameter("profile-id") ?? "0" == "0" {
            self = .vp9
        } else {
            return nil
        }
    }
}

extension Fingerprint {
    /// The length that a hash of this name has.
    fileprivate var hashBytes: Int {
        switch algorithm {
        case "sha-256": 32
        case "sha-384": 48
        default: 64
        }
    }
}
