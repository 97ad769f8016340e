// What goes into an offer or an answer: the tracks and codecs wanted, and this end's transport parameters. Values only;
// the text is written by `OfferBuilder` and `AnswerBuilder`.

package import RTCBase
package import RTCWire

/// This end's half of the transport, as the ICE agent and the DTLS identity give it.
package struct LocalTransportParameters: Sendable {
    /// ICE credentials; secret, never logged.
    package var usernameFragment: String
    package var password: String
    package var fingerprint: Fingerprint
    /// Candidates known already, `candidate:...` without `a=`; the others follow by trickle.
    package var candidates: [String]
    package var gatheringComplete: Bool

    package init(
        usernameFragment: String, password: String, fingerprint: Fingerprint, candidates: [String] = [],
        gatheringComplete: Bool = false
    ) {
        self.usernameFragment = usernameFragment
        self.password = password
        self.fingerprint = fingerprint
        self.candidates = candidates
        self.gatheringComplete = gatheringComplete
    }
}

/// What we want from a connection, in either role.
package struct OfferConfiguration: Sendable {
    /// Offering: one media section each, in this order (wire protocol §4.1). Answering: each takes a section that fits.
    package var tracks: [TrackDeclaration]
    /// In order of preference.
    package var videoCodecs: [VideoCodec]
    /// Declare frame trailers (wire protocol §7.2).
    package var offersFrameMetadata: Bool
    /// Declare chunked messages up to this size (wire protocol §5.8); nil offers none.
    package var chunkingMaxMessageBytes: Int?
    /// Offering: write a data section, which the peer must accept. Answering: accept one.
    package var offersDataChannels: Bool
    /// The media stream id shared by audio and video of this end, never `-` (SDP-15).
    package var streamID: String
    /// The RTCP canonical name shared by all streams of this end.
    package var cname: String

    package init(
        tracks: [TrackDeclaration], videoCodecs: [VideoCodec] = [.vp9, .vp8], offersFrameMetadata: Bool = true,
        chunkingMaxMessageBytes: Int? = 67_108_864, offersDataChannels: Bool = true, streamID: String = "reactor-stream", cname: String
    ) {
        self.tracks = tracks
        self.videoCodecs = videoCodecs
        self.offersFrameMetadata = offersFrameMetadata
        self.chunkingMaxMessageBytes = chunkingMaxMessageBytes
        self.offersDataChannels = offersDataChannels
        self.streamID = streamID
        self.cname = cname
    }
}
