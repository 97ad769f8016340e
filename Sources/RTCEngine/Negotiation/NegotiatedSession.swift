// What an offer and its answer agreed on: the plain values from which transports, receive streams and senders are
// built. `AnswerApplier` or `AnswerBuilder` makes it; nothing here changes afterwards, because a connection is
// negotiated once (wire protocol §4.1). Left out: the SDP text itself and everything offered that was not taken.

package import RTCBase
package import RTCWire

/// The outcome of one offer/answer exchange, in terms of transports and streams (RFC 9429 §5.11).
package struct NegotiatedSession: Sendable {
    /// The peer's ICE credentials; secret, never logged.
    package var usernameFragment: String
    package var password: String
    /// The peer's candidates that came inside the description, `candidate:...` without `a=`.
    package var candidates: [String]
    /// No more candidates will be signalled.
    package var endOfCandidates: Bool
    /// Only SHA-256, SHA-384 and SHA-512; never empty. The peer's certificate must match one of them (RFC 8122 §5).
    package var fingerprints: [Fingerprint]
    /// The one source of truth for the DTLS role: client is whose description says `active` (DTLS-04).
    package var isDTLSClient: Bool
    /// Both descriptions have a data section.
    package var hasDataChannels = false
    /// The peer's SCTP port.
    package var sctpPort: Int
    /// The largest SCTP user message the peer takes; 64 KiB when it did not say (RFC 8841 §6.1).
    package var maxMessageBytes: Int
    /// Both descriptions declared frame trailers (wire protocol §7.2): append ours, cut theirs.
    package var usesFrameMetadata: Bool
    /// The peer's limit for a chunked message when both descriptions declared chunking (wire protocol §5.8); else nil.
    package var chunkingPeerMaxBytes: Int?
    /// One per offered media section, in order; the data section is not among them.
    package var sections: [NegotiatedSection]

    package init(
        usernameFragment: String, password: String, candidates: [String] = [], endOfCandidates: Bool = false,
        fingerprints: [Fingerprint], isDTLSClient: Bool, sctpPort: Int = 5000,
        maxMessageBytes: Int = NegotiatedSession.defaultMaxMessageBytes, usesFrameMetadata: Bool = false,
        chunkingPeerMaxBytes: Int? = nil, sections: [NegotiatedSection] = []
    ) {
        self.usernameFragment = usernameFragment
        self.password = password
        self.candidates = candidates
        self.endOfCandidates = endOfCandidates
        self.fingerprints = fingerprints
        self.isDTLSClient = isDTLSClient
        self.sctpPort = sctpPort
        self.maxMessageBytes = maxMessageBytes
        self.usesFrameMetadata = usesFrameMetadata
        self.chunkingPeerMaxBytes = chunkingPeerMaxBytes
        self.sections = sections
    }

    /// Tracks that will never carry media on this connection, with the reason to tell the app.
    package var rejectedTracks: [RejectedTrack] {
        sections.compactMap { section in
            section.rejection.map { RejectedTrack(trackName: section.trackName, mid: section.mid, reason: $0) }
        }
    }

    /// RFC 8841 §6.1: a missing `max-message-size` means 64 KiB.
    package static let defaultMaxMessageBytes = 65_536
    /// What `max-message-size:0` ("any size") becomes, so that sums with it never overflow.
    package static let unlimitedMessageBytes = 1 << 30
}

/// What was agreed for one media section.
package struct NegotiatedSection: Sendable {
    /// An opaque token (SDP-11).
    package var mid: String
    package var kind: MediaKind
    package var trackName: String
    /// The peer took the section and a codec of ours is among its formats. An accepted section may be inactive.
    package var accepted: Bool
    /// Why it was not accepted.
    package var rejection: TrackRejection?
    /// Media flows from the peer to us / from us to the peer once it is resumed or published.
    package var receives: Bool
    package var sends: Bool
    /// Payload type to codec, only those we can decode.
    package var videoCodecs: [UInt8: VideoCodec]
    /// The payload type to send with: the answer's first codec of ours (RFC 3264 §6.1).
    package var preferredPayloadType: UInt8?
    package var opusPayloadTypes: Set<UInt8>
    /// How many audio channels to send: two when the track has two and the peer said `stereo=1` (RFC 7587 §6.1). What is
    /// received decodes to as many channels as are wanted, whatever comes (AUD-03).
    package var audioChannels = 1
    /// Retransmission payload type to the payload type it repairs (RFC 4588 §8.6).
    package var rtxPayloadTypes: [UInt8: UInt8]
    /// SSRCs the peer announced, each with its RTX SSRC if a FID group named one (RFC 5576); often empty.
    package var announcedSSRCs: [UInt32: UInt32?]
    /// Our own SSRCs when `sends`, as written into the offer.
    package var localSSRC: UInt32?
    package var localRTXSSRC: UInt32?
    package var extensionIDs: HeaderExtensionIDs
    package var usesNACK: Bool
    package var usesPLI: Bool
    package var usesFIR: Bool
    package var usesTransportFeedback: Bool
    package var usesReducedSizeRTCP: Bool
    /// The peer's canonical name, when its description carries one.
    package var cname: String?

    package init(
        mid: String, kind: MediaKind, trackName: String, accepted: Bool = true, rejection: TrackRejection? = nil,
        receives: Bool = false, sends: Bool = false, videoCodecs: [UInt8: VideoCodec] = [:],
        preferredPayloadType: UInt8? = nil, opusPayloadTypes: Set<UInt8> = [], rtxPayloadTypes: [UInt8: UInt8] = [:],
        announcedSSRCs: [UInt32: UInt32?] = [:], localSSRC: UInt32? = nil, localRTXSSRC: UInt32? = nil,
        extensionIDs: HeaderExtensionIDs = HeaderExtensionIDs(), usesNACK: Bool = false, usesPLI: Bool = false,
        usesFIR: Bool = false, usesTransportFeedback: Bool = false, usesReducedSizeRTCP: Bool = false,
        cname: String? = nil
    ) {
        self.mid = mid
        self.kind = kind
        self.trackName = trackName
        self.accepted = accepted
        self.rejection = rejection
        self.receives = receives
        self.sends = sends
        self.videoCodecs = videoCodecs
        self.preferredPayloadType = preferredPayloadType
        self.opusPayloadTypes = opusPayloadTypes
        self.rtxPayloadTypes = rtxPayloadTypes
        self.announcedSSRCs = announcedSSRCs
        self.localSSRC = localSSRC
        self.localRTXSSRC = localRTXSSRC
        self.extensionIDs = extensionIDs
        self.usesNACK = usesNACK
        self.usesPLI = usesPLI
        self.usesFIR = usesFIR
        self.usesTransportFeedback = usesTransportFeedback
        self.usesReducedSizeRTCP = usesReducedSizeRTCP
        self.cname = cname
    }
}

/// Why one track of an otherwise good session carries no media.
package enum TrackRejection: Hashable, Sendable {
    /// The peer answered with port 0.
    case refusedByPeer
    /// The peer's offer has no section that the track could use.
    case notOffered
    /// The peer does not bundle: its section has a transport of its own, and we use one (SDP-04).
    case notBundled
    /// The section lacks `rtcp-mux`, or is not secure RTP.
    case unusableSection
    /// None of the peer's formats of the section is ours; their names.
    case noCommonCodec(answered: [String])
}

/// A track that was offered and will carry nothing.
package struct RejectedTrack: Hashable, Sendable {
    package var trackName: String
    package var mid: String
    package var reason: TrackRejection

    package init(trackName: String, mid: String, reason: TrackRejection) {
        self.trackName = trackName
        self.mid = mid
        self.reason = reason
    }
}

extension RejectedTrack: CustomStringConvertible {
    package var description: String {
        switch reason {
        case .refusedByPeer:
            "the server refused track \"\(trackName)\"; it may lack every codec offered for it"
        case .notOffered:
            "the offer has no section for track \"\(trackName)\""
        case .notBundled:
            "the offer does not bundle track \"\(trackName)\" with the others; only one transport for all sections is supported"
        case .unusableSection:
            "the section offered for track \"\(trackName)\" is not secure RTP with rtcp-mux"
        case .noCommonCodec(let answered):
            "no common codec for track \"\(trackName)\": the server has \(answered.isEmpty ? "none" : answered.joined(separator: ", "))"
        }
    }
}
