// Reads an answer against its offer: checks that the two fit, and turns them into a `NegotiatedSession`. In go two
// session descriptions, out come values or one error; no state, so an error leaves everything as it was. RFC 9429
// §5.11, RFC 3264 §6, RFC 9143 §7.3 (bundle), RFC 8842 §5.3 (DTLS role). Left out: answering an offer (`AnswerBuilder`), renegotiation.

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
        let isClient: Bool
        switch transport.setup {
        case .active: isClient = false
        case .passive: isClient = true
        default: throw .invalidSetup(transport.setup?.rawValue ?? "missing")
        }
        var session = try NegotiatedSession(transport: transport, of: answer, isDTLSClient: isClient)
        if configuration.offersDataChannels {
            guard let data = answer.sections.first(where: { $0.kind == .application }), !data.isRejected, data.isDataChannel else {
                throw .dataChannelsRefused
            }
            try session.takeDataSection(data)
        }
        session.takeExtensions(own: offer, peer: answer, configuration)

        var tracks = configuration.tracks.makeIterator()
        for (index, offered) in offer.sections.enumerated() where offered.kind != .application {
            guard let track = tracks.next() else { break }
            session.sections.append(
                try SectionNegotiation(
                    own: offered, peer: answer.sections[index], answered: answer.sections[index],
                    mid: offered.mid ?? String(index), track: track, videoCodecs: configuration.videoCodecs
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
}
