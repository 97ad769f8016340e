// What this engine can do, in the words of a description: VP9 profile 0, VP8, their retransmission, Opus, and the feedback and
// header extensions that go with them. Offers carry all of it, answers the part that the peer offered too. RFC 7587 §6.1
// (stereo), RFC 4588 §8 (rtx), RFC 8285; names and numbers as in the shared wire protocol §4.

import RTCBase
import RTCWire

enum OwnFormats {
    /// A codec and its retransmission format; numbers as the incumbent uses them.
    static func codecs(_ codec: VideoCodec) -> [RTPCodec] {
        let payloadType: UInt8 = codec == .vp9 ? 98 : 96
        return [
            RTPCodec(
                payloadType: payloadType, name: codec.rawValue, clockRate: 90_000, parameters: codec == .vp9 ? "profile-id=0" : nil,
                feedback: ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"]),
            RTPCodec(payloadType: payloadType + 1, name: "rtx", clockRate: 90_000, parameters: "apt=\(payloadType)"),
        ]
    }

    /// Two channels by format rule, whatever is coded (RFC 7587 §7).
    static func opus(channels: Int) -> RTPCodec {
        RTPCodec(
            payloadType: 111, name: "opus", clockRate: 48_000, channels: 2, parameters: opusParameters(channels: channels),
            feedback: ["transport-cc"])
    }

    /// Without `stereo` a sender mixes down, without `sprop-stereo` a receiver does (RFC 7587 §6.1, AUD-03).
    static func opusParameters(channels: Int) -> String {
        "minptime=10;useinbandfec=1" + (channels > 1 ? ";stereo=1;sprop-stereo=1" : "")
    }

    static func headerExtensions(_ kind: MediaKind) -> [SDPHeaderExtension] {
        (kind == .audio ? [SDPHeaderExtension(id: 14, uri: HeaderExtensionURI.audioLevel)] : []) + common
    }

    private static let common = [
        SDPHeaderExtension(id: 2, uri: HeaderExtensionURI.absoluteSendTime),
        SDPHeaderExtension(id: 4, uri: HeaderExtensionURI.transportSequenceNumber),
        SDPHeaderExtension(id: 9, uri: HeaderExtensionURI.mid),
    ]

    /// The largest SCTP message we take; the usual value of libwebrtc peers.
    static let maxMessageBytes = 262_144
}

/// Session-level attributes of our own.
enum SessionAttribute {
    /// Frame trailers (shared wire protocol §7.2).
    static let frameMetadata = "x-reactor-frame-metadata"
    static let frameMetadataVersion = "1"
}
