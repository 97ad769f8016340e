package import RTCBase
package import RTCEngine
import RTCWire

/// What two peers agreed on for one direction of media: a video section, and an audio section behind it.
package struct SimulatedCall: Sendable {
    package var codec: VideoCodec = .vp9
    package var hasAudio = true
    package var usesFrameMetadata = false
    package var usesTransportFeedback = true
    package var ssrc: UInt32 = 0x1111_0000

    package init() {}

    package static let video = 0
    package static let audio = 1

    package var sendingSession: NegotiatedSession { session(sends: true) }
    package var receivingSession: NegotiatedSession { session(sends: false) }

    private func session(sends: Bool) -> NegotiatedSession {
        var video = section(mid: "0", kind: .video, sends: sends)
        video.videoCodecs = [98: codec]
        video.preferredPayloadType = 98
        video.rtxPayloadTypes = [99: 98]
        video.usesNACK = true
        video.usesPLI = true
        video.usesFIR = true
        if sends {
            video.localSSRC = ssrc
            video.localRTXSSRC = ssrc + 1
        } else {
            video.announcedSSRCs = [ssrc: ssrc + 1]
        }
        var audio = section(mid: "1", kind: .audio, sends: sends)
        audio.opusPayloadTypes = [111]
        audio.preferredPayloadType = 111
        if sends { audio.localSSRC = ssrc + 2 } else { audio.announcedSSRCs = [ssrc + 2: nil] }
        return NegotiatedSession(
            usernameFragment: "none", password: "none", fingerprints: [], isDTLSClient: sends, usesFrameMetadata: usesFrameMetadata,
            sections: hasAudio ? [video, audio] : [video])
    }

    private func section(mid: String, kind: MediaKind, sends: Bool) -> NegotiatedSection {
        var section = NegotiatedSection(mid: mid, kind: kind, trackName: "main_\(kind.rawValue)", receives: !sends, sends: sends)
        section.extensionIDs.mid = 9
        section.extensionIDs.transportSequenceNumber = 4
        section.extensionIDs.absoluteSendTime = 2
        section.usesTransportFeedback = usesTransportFeedback
        section.usesReducedSizeRTCP = true
        return section
    }
}
