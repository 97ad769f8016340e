import RTCBase
import RTCEngine
import RTCWire

/// Makes an answer that accepts everything in an offer, in the shape of the vendor's runtime (shared wire protocol §4.5).
enum AnswerWriter {
    static func write(
        _ offer: SessionDescription, options: AnsweringCore.Options, transport: LocalTransportParameters
    ) -> String {
        let sections = offer.sections.map { section($0, options: options, transport: transport) }
        var attributes: [SDPAttribute] = []
        if options.mirrorsFrameMetadata, offer.attribute("x-reactor-frame-metadata") != nil {
            attributes.append(SDPAttribute(name: "x-reactor-frame-metadata", value: "1"))
        }
        if let limit = options.chunkingMaxBytes, offer.attribute(ChunkFraming.attributeName) != nil {
            attributes.append(
                SDPAttribute(
                    name: ChunkFraming.attributeName, value: ChunkFraming.Declaration(maxMessageBytes: limit).attributeValue))
        }
        let bundled = sections.filter { !$0.isRejected }.compactMap(\.mid)
        return SessionDescription(
            sessionID: "4611686018427387904", sessionVersion: 1, bundleGroups: [bundled], attributes: attributes,
            sections: sections
        ).write()
    }

    private static func section(
        _ offered: MediaSection, options: AnsweringCore.Options, transport: LocalTransportParameters
    ) -> MediaSection {
        var section = MediaSection(
            kind: offered.kind, protocolName: offered.protocolName, formats: offered.formats, mid: offered.mid)
        if let mid = offered.mid, options.rejectedMids.contains(mid) {
            section.port = 0
            return section
        }
        section.iceUsernameFragment = transport.usernameFragment
        section.icePassword = transport.password
        section.fingerprints = [transport.fingerprint]
        section.setup = options.setup
        section.candidates = transport.candidates
        section.endOfCandidates = true
        guard offered.isRTP else {
            section.sctpPort = 5000
            section.maxMessageSize = options.maxMessageSize
            return section
        }
        section.direction = offered.direction == .sendonly ? .recvonly : .sendonly
        section.rtcpMux = true
        section.rtcpReducedSize = true
        section.headerExtensions = offered.headerExtensions
        // The preferred codec first; retransmission formats follow their codecs.
        let preferred = offered.codecs.filter { $0.isNamed(options.videoCodec.rawValue) }
        let others = offered.codecs.filter { codec in !preferred.contains { $0.payloadType == codec.payloadType } }
        section.codecs = preferred + others
        section.formats = section.codecs.map { String($0.payloadType) }
        return section
    }
}
