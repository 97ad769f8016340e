internal import ReactorCore

/// What a session answers to `request_clip` and `request_recording` (wire-protocol 3.4, 5.4).
enum ClipAnswer: Hashable, Sendable {
    case ready(ClipReady)
    /// The reason of `ClipFailed`.
    case failed(String)

    /// A session that is not recorded.
    static let disabled = ClipAnswer.failed("recorder disabled or encoder crashed")
    static let noMedia = ClipAnswer.failed("no media generated yet")
    static let badDuration = ClipAnswer.failed("duration_seconds must be positive")
    static let stepped = ClipAnswer.failed("a stepped session is not recorded, so it has no clips")
}

/// The text of markers and ids in URLs.
enum ClipMarker {
    /// Three decimals: `3.400`.
    static func text(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds > 0, seconds < 1e12 else { return "0.000" }
        let thousandths = Int((seconds * 1000).rounded())
        let decimals = String(thousandths % 1000)
        return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - decimals.count) + decimals
    }

    static func playlistURL(id: String, start: Double, end: Double) -> String {
        "/clips?session_id=\(urlPart(id))&start=\(text(start))&end=\(text(end))"
    }

    /// Percent-encoded, except for what may stand anywhere in a URL (RFC 3986 §2.3).
    static func urlPart(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return result
    }
}
