// One media section as two descriptions have it, ours and the peer's, in terms of a stream: codecs by payload type,
// directions, feedback, header extensions, sources. In go two sections of which one answers the other, out comes a
// `NegotiatedSection`. RFC 3264 §6.1, RFC 4588 §8.6 (retransmission), RFC 5576 (sources), RFC 8285 §6 (extensions).
// Left out: whether a section is in the bundle, and which track it is for.

import RTCBase
import RTCWire

/// One media section that was not rejected by us.
struct SectionNegotiation {
    let own: MediaSection
    let peer: MediaSection
    /// The one of the two that is the answer: its formats are those of both, in order of preference.
    let answered: MediaSection
    let mid: String
    let track: TrackDeclaration
    let videoCodecs: [VideoCodec]

    func negotiate() throws(NegotiationError) -> NegotiatedSection {
        var section = NegotiatedSection(mid: mid, kind: track.kind, trackName: track.name)
        guard !peer.isRejected else {
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
        guard peer.rtcpMux else { throw .missingMultiplexing(mid: mid) }
        try negotiateDirection(&section)
        negotiateCodecs(common, &section)
        negotiateSources(&section)
        return section
    }

    /// RFC 3264 §6.1: what one side sends the other must receive; `inactive` is always allowed.
    private func negotiateDirection(_ section: inout NegotiatedSection) throws(NegotiationError) {
        section.receives = own.direction.receives && peer.direction.sends
        section.sends = own.direction.sends && peer.direction.receives
        // A missing line reads as `sendrecv` and fits everything that was offered.
        guard section.receives || section.sends || answered.direction == .inactive else {
            throw .invalidDirection(mid: mid, offered: own.direction.rawValue, answered: answered.direction.rawValue)
        }
    }

    private func negotiateCodecs(_ common: [RTPCodec], _ section: inout NegotiatedSection) {
        section.preferredPayloadType = common.first?.payloadType
        // The peer sends with our numbers, normally the same ones (RFC 3264 §6.1); both are understood.
        let ownToo = own.codecs.filter { codec in isOurs(codec) && common.contains { $0.isNamed(codec.name) } }
        for codec in common + ownToo {
            if let video = VideoCodec(codec) {
                if section.videoCodecs[codec.payloadType] == nil { section.videoCodecs[codec.payloadType] = video }
            } else {
                section.opusPayloadTypes.insert(codec.payloadType)
            }
        }
        for codec in answered.codecs + own.codecs where codec.isNamed("rtx") && answered.codecs.contains(where: { $0.isNamed("rtx") }) {
            guard let repaired = codec.parameter("apt").flatMap(UInt8.init), section.videoCodecs[repaired] != nil,
                section.videoCodecs[codec.payloadType] == nil, section.rtxPayloadTypes[codec.payloadType] == nil
            else { continue }
            section.rtxPayloadTypes[codec.payloadType] = repaired
        }
        let feedback = Set(own.codecs.filter(isOurs).flatMap(\.feedback)).intersection(peer.codecs.filter(isOurs).flatMap(\.feedback))
        section.usesNACK = feedback.contains("nack")
        section.usesPLI = feedback.contains("nack pli")
        section.usesFIR = feedback.contains("ccm fir")
        let ownURIs = Set(own.headerExtensions.map(\.uri))
        section.extensionIDs = HeaderExtensionIDs(answered.headerExtensions.filter { ownURIs.contains($0.uri) })
        section.usesTransportFeedback = feedback.contains("transport-cc") && section.extensionIDs.transportSequenceNumber != 0
        section.usesReducedSizeRTCP = own.rtcpReducedSize && peer.rtcpReducedSize
        let wantsStereo = peer.codecs.contains { $0.isNamed("opus") && $0.parameter("stereo") == "1" }
        section.audioChannels = wantsStereo ? min(max(track.channels, 1), 2) : 1
    }

    /// RFC 5576; nothing is announced by many peers, and nothing may depend on it (RTP-15).
    private func negotiateSources(_ section: inout NegotiatedSection) {
        section.cname = peer.cname()
        let pairs = Self.pairs(peer)
        let repairing = Set(pairs.values)
        for source in peer.sources where !repairing.contains(source.ssrc) {
            section.announcedSSRCs[source.ssrc] = .some(pairs[source.ssrc])
        }
        if section.sends {
            section.localSSRC = own.sources.first?.ssrc
            section.localRTXSSRC = section.localSSRC.flatMap { Self.pairs(own)[$0] }
        }
    }

    private static func pairs(_ section: MediaSection) -> [UInt32: UInt32] {
        var pairs: [UInt32: UInt32] = [:]
        for group in section.sourceGroups where group.semantics == "FID" && group.ssrcs.count == 2 {
            pairs[group.ssrcs[0]] = group.ssrcs[1]
        }
        return pairs
    }

    private func isOurs(_ codec: RTPCodec) -> Bool { codec.isSupported(for: track.kind, videoCodecs: videoCodecs) }
}

extension RTPCodec {
    /// We can decode and encode it. With rtcp-mux, 64 to 95 would read as RTCP (RFC 5761 §4, SDP-12).
    func isSupported(for kind: MediaKind, videoCodecs: [VideoCodec]) -> Bool {
        guard !(64...95).contains(payloadType) else { return false }
        return switch kind {
        case .video: VideoCodec(self).map(videoCodecs.contains) ?? false
        case .audio: isNamed("opus") && clockRate == OpusPacket.clockRate
        }
    }
}

extension MediaSection.Direction {
    init(sends: Bool, receives: Bool) {
        self = sends ? (receives ? .sendrecv : .sendonly) : (receives ? .recvonly : .inactive)
    }

    var sends: Bool { self == .sendonly || self == .sendrecv }
    var receives: Bool { self == .recvonly || self == .sendrecv }
}

extension VideoCodec {
    /// Nil for codecs we lack; of VP9 only profile 0, which is also meant when no profile is named (RFC 9628 §6.1).
    init?(_ codec: RTPCodec) {
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
