// Why the peer's description cannot be used at all. A problem of one track is no error: see `NegotiatedSession.rejectedTracks`.

/// An answer that does not fit its offer, or a description that leaves no usable transport (RFC 9429 §5.10, §5.11). No
/// state changes.
package enum NegotiationError: Error, Hashable, Sendable {
    /// The answer has another number of media sections than the offer.
    case sectionCountMismatch(offered: Int, answered: Int)
    /// A section changed its kind or transport protocol.
    case sectionKindMismatch(index: Int, offered: String, answered: String)
    /// A section changed its mid.
    case midMismatch(index: Int, offered: String, answered: String)
    /// The peer's bundle groups leave out an accepted section, or name one that does not exist (SDP-04).
    case notBundled(mid: String)
    case missingMultiplexing(mid: String)
    case invalidDirection(mid: String, offered: String, answered: String)
    case missingICECredentials
    case invalidICECredentials
    case missingFingerprint
    /// The answer carries only hashes that are not safe any more, or unknown ones; their names.
    case unsupportedFingerprint(algorithms: [String])
    /// `actpass`, `holdconn` or nothing in an answer, `holdconn` or nothing in an offer (RFC 8842 §5).
    case invalidSetup(String)
    case dataChannelsRefused
    case invalidSCTPPort
    /// Every section was refused: there is nothing to connect.
    case nothingAccepted
    /// No section of an offer can be served.
    case nothingUsable
    /// Two sections of an offer have the same name.
    case repeatedMid(String)

    /// A stable word for logs and tests.
    package var code: String {
        switch self {
        case .sectionCountMismatch: "section-count"
        case .sectionKindMismatch: "section-kind"
        case .midMismatch: "mid"
        case .notBundled: "not-bundled"
        case .missingMultiplexing: "no-rtcp-mux"
        case .invalidDirection: "direction"
        case .missingICECredentials: "no-ice-credentials"
        case .invalidICECredentials: "ice-credentials"
        case .missingFingerprint: "no-fingerprint"
        case .unsupportedFingerprint: "fingerprint-algorithm"
        case .invalidSetup: "setup"
        case .dataChannelsRefused: "no-data-channels"
        case .invalidSCTPPort: "sctp-port"
        case .nothingAccepted: "nothing-accepted"
        case .nothingUsable: "nothing-usable"
        case .repeatedMid: "repeated-mid"
        }
    }

    /// What is wrong and what would help; no credentials in it.
    package var message: String {
        switch self {
        case .sectionCountMismatch(let offered, let answered):
            "the answer has \(answered) media sections where \(offered) were offered; the server must answer each of them, in order"
        case .sectionKindMismatch(let index, let offered, let answered):
            "section \(index) of the answer is \(answered), the offer had \(offered); the server must keep the order of sections"
        case .midMismatch(let index, let offered, let answered):
            "section \(index) of the answer is named \"\(answered)\", the offer called it \"\(offered)\"; the server must keep mids"
        case .notBundled(let mid):
            "section \"\(mid)\" is not part of the answer's bundle; only one transport for all sections is supported, the server must bundle"
        case .missingMultiplexing(let mid):
            "section \"\(mid)\" was answered without rtcp-mux; the server must multiplex RTP and RTCP"
        case .invalidDirection(let mid, let offered, let answered):
            "section \"\(mid)\" was offered \(offered) and answered \(answered), which do not fit together"
        case .missingICECredentials: "the description has no ice-ufrag or ice-pwd"
        case .invalidICECredentials: "the description's ice-ufrag or ice-pwd has an invalid length (4...256 and 22...256 characters)"
        case .missingFingerprint: "the description has no certificate fingerprint; media without encryption is not supported"
        case .unsupportedFingerprint(let algorithms):
            "the description's fingerprints use \(algorithms.joined(separator: ", ")); sha-256, sha-384 or sha-512 is needed"
        case .invalidSetup(let value):
            "the description's DTLS setup is \"\(value)\"; it must be active or passive, in an offer also actpass"
        case .dataChannelsRefused: "the server refused the data channel section, which every session needs"
        case .invalidSCTPPort: "the description's data section has no usable sctp-port"
        case .nothingAccepted: "the server refused every section of the offer"
        case .nothingUsable:
            "no section of the offer can be served; VP8 or VP9, Opus, or data channels are needed, bundled and with rtcp-mux"
        case .repeatedMid(let mid): "two sections of the offer are named \"\(mid)\""
        }
    }
}

extension NegotiationError: CustomStringConvertible {
    package var description: String { "\(code): \(message)" }
}
