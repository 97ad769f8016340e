// Which media section a packet belongs to. In: SSRC, payload type and MID extension of a packet. Out: the index of a
// section, or nothing. The order is RFC 9143 §9.2's: what the SSRC was used for before, unless a MID says otherwise; the
// MID; an SSRC announced in the description; a payload type that only one section uses. The very packet that makes an
// association is delivered by it (RTP-15). Left out: which of a section's payload types is what (`PeerEngine` has a
// table), RID (no simulcast towards us).

import RTCBase
package import RTCWire

/// Learns which SSRC belongs to which section.
package struct ReceiveRouter: Sendable {
    private var mids: [(bytes: [UInt8], section: Int)] = []
    private var announced: [UInt32: Int] = [:]
    /// By payload type: the only section that uses it, `none`, or `ambiguous`.
    private var sectionOfPayloadType: [Int] = Array(repeating: Self.none, count: 128)
    /// Associations made by packets.
    private var learned: [UInt32: Int] = [:]
    /// The previous packet's, because packets come in runs.
    private var last: (ssrc: UInt32, section: Int)?

    package init(sections: [NegotiatedSection]) {
        learned.reserveCapacity(Self.maxLearned)
        for (index, section) in sections.enumerated() where section.accepted && section.receives {
            mids.append((Array(section.mid.utf8), index))
            for (ssrc, retransmission) in section.announcedSSRCs {
                announced[ssrc] = index
                if let retransmission { announced[retransmission] = index }
            }
            for payloadType in section.receivedPayloadTypes where payloadType < 128 {
                let place = Int(payloadType)
                sectionOfPayloadType[place] = sectionOfPayloadType[place] == Self.none ? index : Self.ambiguous
            }
        }
    }

    package mutating func route(_ header: RTPHeader, mid: Range<Int>?, packet: RawSpan) -> Int? {
        if let mid, let section = section(named: packet.extracting(mid)) { return learn(header.ssrc, section) }
        if let last, last.ssrc == header.ssrc { return last.section }
        if let section = learned[header.ssrc] { return learn(header.ssrc, section) }
        if let section = announced[header.ssrc] { return learn(header.ssrc, section) }
        let section = sectionOfPayloadType[Int(header.payloadType & 0x7F)]
        return section >= 0 ? learn(header.ssrc, section) : nil
    }

    /// The section an SSRC is known to belong to.
    package func section(of ssrc: UInt32) -> Int? { learned[ssrc] ?? announced[ssrc] }

    private mutating func learn(_ ssrc: UInt32, _ section: Int) -> Int {
        if let last, last.ssrc == ssrc, last.section == section { return section }
        last = (ssrc, section)
        if learned[ssrc] != section {
            if learned.count >= Self.maxLearned { learned.removeAll(keepingCapacity: true) }
            learned[ssrc] = section
        }
        return section
    }

    private func section(named mid: RawSpan) -> Int? {
        for entry in mids where entry.bytes.count == mid.byteCount {
            if entry.bytes.indices.allSatisfy({ entry.bytes[$0] == mid.uint8(at: $0) }) { return entry.section }
        }
        return nil
    }

    private static let none = -1
    private static let ambiguous = -2
    /// A peer needs two per section; more are somebody playing with us.
    private static let maxLearned = 128
}

extension NegotiatedSection {
    /// Every payload type that may come in this section.
    var receivedPayloadTypes: [UInt8] { Array(videoCodecs.keys) + Array(opusPayloadTypes) + Array(rtxPayloadTypes.keys) }
}
