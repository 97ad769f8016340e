/// `SessionDescription` to text (RFC 8866 §5): v, o, s, t, session attributes, then the sections; every line ends with
/// CRLF, and every section, also a refused one, has a `c=` line (trap SDP-06).
struct SDPWriter {
    private var text = ""

    static func write(_ description: SessionDescription) -> String {
        var writer = SDPWriter()
        writer.line("v=0")
        writer.line("o=- \(description.sessionID) \(description.sessionVersion) IN IP4 127.0.0.1")
        writer.line("s=-")
        writer.line("t=0 0")
        for group in description.bundleGroups { writer.line((["a=group:BUNDLE"] + group).joined(separator: " ")) }
        writer.attributes(description.attributes)
        for section in description.sections { writer.section(section) }
        return writer.text
    }

    /// A line break inside a value would let it write lines of its own, so none gets through.
    private mutating func line(_ content: String) {
        if content.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) {
            text += String(decoding: content.utf8.filter { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
        } else {
            text += content
        }
        text += "\r\n"
    }

    private mutating func attributes(_ list: [SDPAttribute]) {
        for attribute in list { line(attribute.value.map { "a=\(attribute.name):\($0)" } ?? "a=\(attribute.name)") }
    }

    private mutating func flag(_ name: String, _ isSet: Bool) {
        if isSet { line("a=\(name)") }
    }

    private mutating func value(_ name: String, _ value: String?) {
        if let value { line("a=\(name):\(value)") }
    }

    private mutating func section(_ media: MediaSection) {
        line((["m=\(media.kind.name)", "\(media.port)", media.protocolName] + media.formats).joined(separator: " "))
        line("c=IN IP4 0.0.0.0")
        transport(media)
        value("mid", media.mid)
        for element in media.headerExtensions {
            line("a=extmap:\(element.id)\(element.direction.map { "/" + $0 } ?? "") \(element.uri)")
        }
        // The direction of a data section says nothing, but one that was there is kept.
        flag(media.direction.rawValue, media.isRTP || media.direction != .sendrecv)
        for stream in media.mediaStreamIDs { value("msid", stream) }
        flag("rtcp-mux", media.rtcpMux)
        flag("rtcp-rsize", media.rtcpReducedSize)
        flag("bundle-only", media.bundleOnly)
        for codec in media.codecs { self.codec(codec) }
        for group in media.sourceGroups {
            line((["a=ssrc-group:\(group.semantics)"] + group.ssrcs.map { "\($0)" }).joined(separator: " "))
        }
        for source in media.sources { line("a=ssrc:\(source.ssrc) \(source.name)\(source.value.map { ":" + $0 } ?? "")") }
        value("sctp-port", media.sctpPort.map { "\($0)" })
        value("sctpmap", media.sctpMap)
        value("max-message-size", media.maxMessageSize.map { "\($0)" })
        attributes(media.attributes)
        for candidate in media.candidates { line("a=\(candidate)") }
        flag("end-of-candidates", media.endOfCandidates)
    }

    private mutating func transport(_ media: MediaSection) {
        value("ice-ufrag", media.iceUsernameFragment)
        value("ice-pwd", media.icePassword)
        if !media.iceOptions.isEmpty { value("ice-options", media.iceOptions.joined(separator: " ")) }
        for fingerprint in media.fingerprints { value("fingerprint", "\(fingerprint.algorithm) \(fingerprint.value)") }
        value("setup", media.setup?.rawValue)
    }

    private mutating func codec(_ codec: RTPCodec) {
        line("a=rtpmap:\(codec.payloadType) \(codec.name)/\(codec.clockRate)\(codec.channels > 1 ? "/\(codec.channels)" : "")")
        for feedback in codec.feedback { line("a=rtcp-fb:\(codec.payloadType) \(feedback)") }
        if let parameters = codec.parameters { line("a=fmtp:\(codec.payloadType) \(parameters)") }
    }
}
