// What both roles read from the peer's description alike: its half of the transport, its data section, and the session
// attributes of ours. In goes the peer's description, out come fields of `NegotiatedSession` or one error. RFC 8839
// §5.4 (credentials), RFC 8122 §5 (fingerprints), RFC 8841 (data channels), shared wire protocol §5.8, §7.2. Left out:
// which section's transport counts and who is DTLS client (`AnswerApplier`, `AnswerBuilder`), media sections.

import RTCBase
import RTCWire

extension NegotiatedSession {
    /// The peer's half of the transport, as `section` of `description` gives it for the whole bundle.
    init(transport section: MediaSection, of description: SessionDescription, isDTLSClient: Bool) throws(NegotiationError) {
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
        // Candidates stand in the section that tags the bundle; some peers repeat them, a few put them elsewhere.
        let alive = description.sections.filter { !$0.isRejected }
        let candidates = section.candidates.isEmpty ? alive.flatMap(\.candidates) : section.candidates
        self.init(
            usernameFragment: usernameFragment, password: password, candidates: candidates,
            endOfCandidates: section.endOfCandidates, fingerprints: usable, isDTLSClient: isDTLSClient)
    }

    /// The peer's data section, in either flavour (SDP-01).
    mutating func takeDataSection(_ section: MediaSection) throws(NegotiationError) {
        let port = section.dataChannelPort ?? 5000
        guard (1...65_535).contains(port) else { throw .invalidSCTPPort }
        hasDataChannels = true
        sctpPort = port
        switch section.maxMessageSize {
        case nil: maxMessageBytes = Self.defaultMaxMessageBytes
        case 0: maxMessageBytes = Self.unlimitedMessageBytes
        case let size?: maxMessageBytes = min(max(size, 1), Self.unlimitedMessageBytes)
        }
    }

    /// Trailers and chunking are on only when both descriptions declare a version we speak.
    mutating func takeExtensions(own: SessionDescription, peer: SessionDescription, _ configuration: OfferConfiguration) {
        usesFrameMetadata =
            configuration.offersFrameMetadata
            && [own, peer].allSatisfy {
                $0.attribute(SessionAttribute.frameMetadata)?.value == SessionAttribute.frameMetadataVersion
            }
        if let ownLimit = configuration.chunkingMaxMessageBytes, own.chunking != nil, let theirs = peer.chunking {
            chunkingPeerMaxBytes = theirs.maxMessageBytes.map { $0 > 0 ? $0 : ownLimit } ?? ownLimit
        }
    }
}

extension SessionDescription {
    /// The declaration of chunked messages, when there is one in a version we speak.
    var chunking: ChunkFraming.Declaration? {
        attribute(ChunkFraming.attributeName).flatMap { ChunkFraming.Declaration(attributeValue: $0.value) }
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
