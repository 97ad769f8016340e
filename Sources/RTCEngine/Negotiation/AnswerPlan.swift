// What becomes of each section of an offer: which track of ours it serves, why it is refused, and which transport counts.
// In go an offer and what we want, out comes one decision per section; `AnswerBuilder` writes it down. RFC 9429 §5.3.1,
// RFC 3264 §6, RFC 9143 §7.3 (bundle). Left out: codecs and directions of a section (`AnswerBuilder`, `SectionNegotiation`).

import RTCBase
import RTCWire

/// The decisions about one offer.
struct AnswerPlan {
    enum Fate: Equatable {
        case media
        case data
        case refused
    }

    struct Section {
        var fate: Fate
        /// The declared track that the section is for; without one it is answered inactive.
        var track: TrackDeclaration?
        /// Why a section that a track could have used is refused.
        var rejection: TrackRejection?
    }

    private(set) var sections: [Section] = []
    /// Declared tracks that no section is for.
    private(set) var unusedTracks: [TrackDeclaration]
    /// The section of the offer whose transport counts for all that we accept.
    private(set) var transportSection: MediaSection
    /// The mids of the accepted sections, in the order of the offer's group; empty when the peer does not bundle.
    private(set) var bundle: [String] = []

    /// - Parameter trackNames: the track of each mid when signalling told; without it tracks and sections of a kind meet in
    ///   order, as far as their directions fit.
    init(
        _ offer: SessionDescription, configuration: OfferConfiguration, trackNames: [String: String]
    ) throws(NegotiationError) {
        unusedTracks = configuration.tracks
        // Set for good below; a plan without a transport is never made.
        transportSection = MediaSection(kind: .application, protocolName: "")
        var mids: Set<String> = []
        for mid in offer.sections.compactMap(\.mid) where !mids.insert(mid).inserted { throw .repeatedMid(mid) }
        var takesData = configuration.offersDataChannels
        for section in offer.sections {
            if section.kind == .application {
                let isUsable = takesData && !section.isRejected && section.isDataChannel
                if isUsable { takesData = false }
                sections.append(Section(fate: isUsable ? .data : .refused))
            } else {
                let rejection = section.problem(configuration)
                sections.append(Section(fate: rejection == nil ? .media : .refused, rejection: rejection))
            }
        }
        assignTracks(offer, trackNames: trackNames, usable: true)
        // Tracks that got no section learn why the ones they might have had are no good.
        assignTracks(offer, trackNames: trackNames, usable: false)
        try chooseTransport(offer)
    }

    private mutating func assignTracks(_ offer: SessionDescription, trackNames: [String: String], usable: Bool) {
        for (index, section) in offer.sections.enumerated() {
            guard let kind = section.mediaKind, sections[index].track == nil, (sections[index].fate == .media) == usable else { continue }
            let name = section.mid.flatMap { trackNames[$0] }
            guard trackNames.isEmpty || name != nil else { continue }
            let match = unusedTracks.firstIndex { track in
                let flows =
                    track.sends && section.direction.receives || track.receives && section.direction.sends
                return track.kind == kind && flows && (name == nil || track.name == name)
            }
            if let match { sections[index].track = unusedTracks.remove(at: match) }
        }
    }

    /// The bundle, or the lone section, in which the first section lies that anything flows in. All others are refused:
    /// never half connected (SDP-04).
    private mutating func chooseTransport(_ offer: SessionDescription) throws(NegotiationError) {
        let live = sections.indices.filter { sections[$0].fate != .refused }
        guard let first = live.first(where: { sections[$0].fate == .data || sections[$0].track != nil }) ?? live.first else {
            throw .nothingUsable
        }
        var chosen = [first]
        if let mid = offer.sections[first].mid, let group = offer.bundleGroups.first(where: { $0.contains(mid) }) {
            let known = group.compactMap { mid in live.first { offer.sections[$0].mid == mid } }
            // A mid that the group repeats counts once.
            chosen = known.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
            bundle = chosen.compactMap { offer.sections[$0].mid }
        }
        for index in live where !chosen.contains(index) {
            sections[index].fate = .refused
            sections[index].rejection = .notBundled
        }
        // A section that lives in a bundle only has no transport of its own (RFC 9143 §6).
        let withTransport = chosen.first { !offer.sections[$0].bundleOnly && offer.sections[$0].iceUsernameFragment != nil }
        transportSection = offer.sections[withTransport ?? chosen[0]]
    }
}

extension MediaSection {
    var mediaKind: MediaKind? {
        switch kind {
        case .audio: .audio
        case .video: .video
        case .application, .other: nil
        }
    }

    /// Why no track could use the section; nil when one could.
    fileprivate func problem(_ configuration: OfferConfiguration) -> TrackRejection? {
        guard let mediaKind, !isRejected else { return .notOffered }
        // With the feedback profile or without, in the spellings that RFC 9429 §5.1.2 wants accepted.
        guard protocolName.hasSuffix("RTP/SAVPF") || protocolName.hasSuffix("RTP/SAVP"), rtcpMux else { return .unusableSection }
        guard codecs.contains(where: { $0.isSupported(for: mediaKind, videoCodecs: configuration.videoCodecs) }) else {
            return .noCommonCodec(answered: codecs.map(\.name))
        }
        return nil
    }
}
