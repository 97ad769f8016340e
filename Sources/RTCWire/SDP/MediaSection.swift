/// One m-section (RFC 8866 §5.14, RFC 9429 §5.2).
package struct MediaSection: Sendable, Equatable {
    package enum Kind: Sendable, Hashable {
        case audio
        case video
        case application
        case other(String)

        package init(_ name: String) {
            switch name {
            case "audio": self = .audio
            case "video": self = .video
            case "application": self = .application
            default: self = .other(name)
            }
        }

        package var name: String {
            switch self {
            case .audio: "audio"
            case .video: "video"
            case .application: "application"
            case .other(let name): name
            }
        }
    }

    package enum Direction: String, Sendable, Hashable, CaseIterable { case sendrecv, sendonly, recvonly, inactive }

    /// DTLS role (RFC 8842 §5.1).
    package enum Setup: String, Sendable, Hashable { case actpass, active, passive, holdconn }

    package var kind: Kind
    package var port: Int
    package var protocolName: String
    /// Payload types for RTP, `webrtc-datachannel` or an SCTP port for data.
    package var formats: [String]
    /// An opaque token (trap SDP-11).
    package var mid: String?
    package var direction: Direction = .sendrecv
    package var iceUsernameFragment: String?
    package var icePassword: String?
    package var iceOptions: [String] = []
    package var fingerprints: [Fingerprint] = []
    package var setup: Setup?
    /// `candidate:...` without `a=`, as received.
    package var candidates: [String] = []
    package var endOfCandidates = false
    package var rtcpMux = false
    package var rtcpReducedSize = false
    package var bundleOnly = false
    package var headerExtensions: [SDPHeaderExtension] = []
    /// In the order of `formats`; a payload type with neither rtpmap nor a static meaning has no entry.
    package var codecs: [RTPCodec] = []
    package var sources: [SSRCAttribute] = []
    package var sourceGroups: [SSRCGroup] = []
    /// Values of `a=msid`: stream id, then a space and a track id if there is one (RFC 8830 §2).
    package var mediaStreamIDs: [String] = []
    package var sctpPort: Int?
    /// Value of the older `a=sctpmap` (trap SDP-01).
    package var sctpMap: String?
    /// Nil when absent, which means 64 KiB; 0 means any size (RFC 8841 §6).
    package var maxMessageSize: Int?
    /// Attributes without a field, in order.
    package var attributes: [SDPAttribute] = []

    package init(kind: Kind, port: Int = 9, protocolName: String, formats: [String] = [], mid: String? = nil) {
        self.kind = kind
        self.port = port
        self.protocolName = protocolName
        self.formats = formats
        self.mid = mid
    }

    /// A section with port 0 is refused, unless it says that it lives in a bundle only (RFC 9143 §6).
    package var isRejected: Bool { port == 0 && !bundleOnly }

    package var isRTP: Bool { protocolName.split(separator: "/").contains("RTP") }

    /// A WebRTC data channel section in either flavour (RFC 8841 §4, or `DTLS/SCTP` with `a=sctpmap`).
    package var isDataChannel: Bool {
        guard kind == .application, protocolName.hasSuffix("DTLS/SCTP") else { return false }
        return formats.contains("webrtc-datachannel") || sctpMap?.split(separator: " ").dropFirst().first == "webrtc-datachannel"
    }

    /// The peer's SCTP port in either flavour; nil when the section names none.
    package var dataChannelPort: Int? {
        if let sctpPort { return sctpPort }
        return sctpMap?.split(separator: " ").first.flatMap { Int($0) }.flatMap { (0...65_535).contains($0) ? $0 : nil }
    }

    package func attribute(_ name: String) -> SDPAttribute? { attributes.first { $0.name == name } }

    package func codec(payloadType: UInt8) -> RTPCodec? { codecs.first { $0.payloadType == payloadType } }

    /// CNAME of a source, or of the first source that has one.
    package func cname(of ssrc: UInt32? = nil) -> String? {
        sources.first { $0.name == "cname" && (ssrc == nil || $0.ssrc == ssrc) }?.value
    }
}
