/// Gathers the attributes of one m-section and joins them when it ends: rtpmap, fmtp and rtcp-fb belong together by
/// payload type, in whatever order the lines come (trap SDP-12).
struct SectionBuilder {
    private var media: MediaSection
    private var own = SharedAttributes()
    private var rtpmaps: [UInt8: RTPCodec] = [:]
    private var parameters: [UInt8: String] = [:]
    private var feedback: [(payloadType: UInt8?, text: String)] = []  // nil: for all

    /// Per codec. Wildcard lines times payload types would else grow far beyond the text.
    private static let maxFeedback = 32

    init(_ media: MediaSection) { self.media = media }

    mutating func take(_ attribute: SDPAttribute) throws(SDPValueError) {
        if try own.take(attribute) { return }
        if try takeCodecAttribute(attribute) { return }
        let value = attribute.value
        switch attribute.name {
        case "mid": media.mid = try SDPValue.words(value, atLeast: 1)[0]
        case "candidate":
            guard let value, !value.isEmpty else { throw SDPValueError() }
            media.candidates.append("candidate:" + value)
        case "rtcp-mux": media.rtcpMux = true
        case "rtcp-rsize": media.rtcpReducedSize = true
        case "bundle-only": media.bundleOnly = true
        case "msid":
            guard let value, !value.isEmpty else { throw SDPValueError() }
            media.mediaStreamIDs.append(value)
        case "ssrc": media.sources.append(try Self.source(value))
        case "ssrc-group": media.sourceGroups.append(try Self.group(value))
        case "sctp-port":
            guard let port = UInt16(exactly: try SDPValue.number(value)) else { throw SDPValueError() }
            media.sctpPort = Int(port)
        case "sctpmap":
            guard let value, !value.isEmpty else { throw SDPValueError() }
            media.sctpMap = value
        case "max-message-size": media.maxMessageSize = try SDPValue.number(value)
        default: media.attributes.append(attribute)
        }
    }

    func finish(_ session: SharedAttributes) -> MediaSection {
        var media = media
        let shared = session.inherited(own)
        media.direction = shared.direction ?? .sendrecv
        media.iceUsernameFragment = shared.iceUsernameFragment
        media.icePassword = shared.icePassword
        media.iceOptions = shared.iceOptions
        media.fingerprints = shared.fingerprints
        media.setup = shared.setup
        media.endOfCandidates = shared.endOfCandidates
        media.headerExtensions = media.isRTP ? shared.headerExtensions : own.headerExtensions
        if media.isRTP { media.codecs = joinedCodecs() }
        return media
    }

    private func joinedCodecs() -> [RTPCodec] {
        var codecs: [RTPCodec] = []
        var seen: Set<UInt8> = []
        for format in media.formats {
            guard let payloadType = UInt8(format), seen.insert(payloadType).inserted else { continue }
            guard var codec = rtpmaps[payloadType] ?? RTPCodec.staticCodec(payloadType) else { continue }
            codec.parameters = parameters[payloadType]
            for (target, text) in feedback where target == nil || target == payloadType {
                guard codec.feedback.count < Self.maxFeedback else { break }
                if !codec.feedback.contains(text) { codec.feedback.append(text) }
            }
            codecs.append(codec)
        }
        return codecs
    }

    /// False when the attribute is not about a payload type of an RTP section.
    private mutating func takeCodecAttribute(_ attribute: SDPAttribute) throws(SDPValueError) -> Bool {
        guard media.isRTP, ["rtpmap", "fmtp", "rtcp-fb"].contains(attribute.name) else { return false }
        let words = (attribute.value ?? "").split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { throw SDPValueError() }
        let rest = String(words[1].trimmingSpaces)
        guard !rest.isEmpty else { throw SDPValueError() }
        if attribute.name == "rtcp-fb", words[0] == "*" {
            feedback.append((nil, rest))
            return true
        }
        guard let payloadType = UInt8(words[0]), payloadType < 128 else { throw SDPValueError() }
        switch attribute.name {
        case "rtpmap": rtpmaps[payloadType] = try Self.codec(payloadType, rest)
        case "fmtp": parameters[payloadType] = rest
        default: feedback.append((payloadType, rest))
        }
        return true
    }

    private static func codec(_ payloadType: UInt8, _ text: String) throws(SDPValueError) -> RTPCodec {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 2, !parts[0].isEmpty, let clockRate = UInt32(parts[1]), clockRate > 0 else { throw SDPValueError() }
        // For video the third part is a parameter that nobody uses; what is not a number means one channel.
        let channels = parts.count > 2 ? UInt8(parts[2]).map(Int.init) ?? 1 : 1
        return RTPCodec(payloadType: payloadType, name: String(parts[0]), clockRate: Int(clockRate), channels: max(1, channels))
    }

    private static func source(_ value: String?) throws(SDPValueError) -> SSRCAttribute {
        let words = (value ?? "").split(separator: " ", maxSplits: 1)
        guard words.count == 2, let ssrc = UInt32(words[0]) else { throw SDPValueError() }
        let pair = words[1].trimmingSpaces.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = pair.first, !name.isEmpty else { throw SDPValueError() }
        return SSRCAttribute(ssrc: ssrc, name: String(name), value: pair.count > 1 ? String(pair[1].trimmingSpaces) : nil)
    }

    private static func group(_ value: String?) throws(SDPValueError) -> SSRCGroup {
        let words = try SDPValue.words(value, atLeast: 1)
        let ssrcs = words.dropFirst().compactMap { UInt32($0) }
        guard ssrcs.count == words.count - 1 else { throw SDPValueError() }
        return SSRCGroup(semantics: words[0], ssrcs: ssrcs)
    }
}
