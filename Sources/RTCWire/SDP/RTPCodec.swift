/// One payload type of a media section: rtpmap, fmtp and rtcp-fb joined by number, whatever the order of the lines.
package struct RTPCodec: Sendable, Hashable {
    package var payloadType: UInt8
    /// As written; encoding names are compared without case (`isNamed`).
    package var name: String
    package var clockRate: Int
    package var channels: Int
    /// The fmtp text behind the payload type.
    package var parameters: String?
    /// `nack`, `nack pli`, ...; what `rtcp-fb:*` says is included.
    package var feedback: [String]

    package init(
        payloadType: UInt8, name: String, clockRate: Int, channels: Int = 1, parameters: String? = nil, feedback: [String] = []
    ) {
        self.payloadType = payloadType
        self.name = name
        self.clockRate = clockRate
        self.channels = channels
        self.parameters = parameters
        self.feedback = feedback
    }

    package func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }

    /// The value of `key=value` in the fmtp text; "" for a key alone, nil when it is absent. Keys have no case.
    package func parameter(_ key: String) -> String? {
        for part in (parameters ?? "").split(separator: ";") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = pair.first?.trimmingSpaces, name.lowercased() == key.lowercased() else { continue }
            return pair.count > 1 ? String(pair[1].trimmingSpaces) : ""
        }
        return nil
    }

    /// Payload types that mean a codec without an rtpmap (RFC 3551 §6), as far as WebRTC peers use them.
    static func staticCodec(_ payloadType: UInt8) -> RTPCodec? {
        switch payloadType {
        case 0: RTPCodec(payloadType: 0, name: "PCMU", clockRate: 8000)
        case 8: RTPCodec(payloadType: 8, name: "PCMA", clockRate: 8000)
        case 9: RTPCodec(payloadType: 9, name: "G722", clockRate: 8000)
        case 13: RTPCodec(payloadType: 13, name: "CN", clockRate: 8000)
        default: nil
        }
    }
}

extension Substring {
    /// Without spaces and tabs at both ends.
    var trimmingSpaces: Substring {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let start = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else { return "" }
        return self[start...last]
    }
}
