// The SSRCs and the track id of what we send in one section, and the lines that announce them. RFC 5576 (ssrc, FID groups),
// RFC 8830 (msid). Made once per connection, from the caller's generator.

import RTCBase
import RTCWire

/// What identifies the media of one section that we send.
struct LocalSource: Sendable {
    let ssrc: UInt32
    let rtxSSRC: UInt32
    let trackID: String

    init(avoiding used: inout Set<UInt32>, using generator: inout some RandomNumberGenerator) {
        ssrc = Self.fresh(avoiding: &used, using: &generator)
        rtxSSRC = Self.fresh(avoiding: &used, using: &generator)
        let number = UInt64.random(in: .min ... .max, using: &generator)
        trackID = "track-" + String(number, radix: 16)
    }

    /// Both kinds carry the same stream id and CNAME, so the far end can play them in step (SDP-15).
    func announce(_ kind: MediaKind, _ configuration: OfferConfiguration, in section: inout MediaSection) {
        section.mediaStreamIDs = ["\(configuration.streamID) \(trackID)"]
        section.sources = [SSRCAttribute(ssrc: ssrc, name: "cname", value: configuration.cname)]
        guard kind == .video, section.codecs.contains(where: { $0.isNamed("rtx") }) else { return }
        section.sourceGroups = [SSRCGroup(semantics: "FID", ssrcs: [ssrc, rtxSSRC])]
        section.sources.append(SSRCAttribute(ssrc: rtxSSRC, name: "cname", value: configuration.cname))
    }

    private static func fresh(avoiding used: inout Set<UInt32>, using generator: inout some RandomNumberGenerator) -> UInt32 {
        var candidate: UInt32
        repeat { candidate = UInt32.random(in: 1 ... .max, using: &generator) } while used.contains(candidate)
        used.insert(candidate)
        return candidate
    }
}
