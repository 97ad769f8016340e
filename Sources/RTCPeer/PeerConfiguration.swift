package import RTCBase

/// Settings of one peer connection; plain values, fixed at the start.
package struct PeerConfiguration: Sendable {
    /// A STUN or TURN server, with the credentials that belong to it.
    package struct Server: Sendable, Hashable {
        package var url: String
        package var username: String?
        package var credential: String?
        package init(url: String, username: String? = nil, credential: String? = nil) {
            self.url = url
            self.username = username
            self.credential = credential
        }
    }

    package var iceServers: [Server] = []
    package var relayOnly = false
    /// In order of preference; what is not listed is not offered.
    package var videoCodecs: [VideoCodec] = [.vp9, .vp8]
    package var offersFrameMetadata = true
    /// What we are willing to reassemble from chunked messages; nil offers no chunking (wire protocol §5.8).
    package var chunkingMaxMessageBytes: Int? = 67_108_864
    /// Have a data section in the offer, take one into the answer.
    package var offersDataChannels = true
    /// The peer closing the last channel ends the connection, as it ends a session of the vendor's runtime.
    package var endsWithLastChannel = true
    /// Data channels to open, in this order, ordered and reliable; those that the peer opens come besides.
    package var channels: [String] = ["data", "control"]
    /// Sent on a channel right behind its OPEN, before the peer can have sent anything (wire protocol §5.2).
    package var firstMessages: [(channel: String, bytes: [UInt8])] = []
    /// The largest message accepted from the peer on a channel without chunking.
    package var maxIncomingMessageBytes = 16 << 20
    /// Nothing from the peer besides connectivity checks for this long ends the connection. While nothing comes the peer is
    /// asked for a heartbeat twice a second, so three seconds of outage pass below it also when the connection is idle.
    /// Our own socket refusing everything for as long ends it as well, and so does, 2 s later, a peer that shows no sign of
    /// hearing us.
    package var silenceLimitMilliseconds = 4_000
    /// RFC 7675 §5.1; only tests shorten the two.
    package var consentIntervalMilliseconds: ClosedRange<Int64> = 4_000...6_000
    package var consentExpiryMilliseconds: Int64 = 30_000
    package var portRange: ClosedRange<UInt16>?
    /// What loses and delays this connection's datagrams on purpose.
    package var impairment: (any DatagramImpairment)?

    package init() {}
}

/// Why a connection ended by itself.
package struct PeerLoss: Sendable, Hashable {
    package enum Cause: String, Sendable {
        /// The far end said goodbye: close_notify, SCTP abort or shutdown, both channels closed.
        case closedByPeer
        /// The far end's host refuses our datagrams (ICMP).
        case refused
        /// Nothing was heard for the silence limit.
        case silence
        /// ICE, DTLS, SRTP or SCTP failed, or the far end no longer consents to what we send.
        case transport
    }
    package var cause: Cause
    package var message: String
    package init(_ cause: Cause, _ message: String) {
        self.cause = cause
        self.message = message
    }
}

/// What a peer connection reports, on the network thread, in order.
package enum PeerEvent: Sendable {
    /// A local candidate (`candidate:...`) found after the offer or answer was made.
    case localCandidate(String)
    case gatheringDone
    case iceConnected
    case dtlsConnected
    case channelOpened(String)
    case channelClosed(String)
    case message(channel: String, isText: Bool, bytes: [UInt8])
    /// The first media packet of a remote track arrived.
    case mediaStarted(track: String)
    case lost(PeerLoss)
    /// For logs: something was skipped or is unusual; never contains secrets.
    case warning(String)
}

/// The offer as it leaves: text, and which section each track got.
package struct LocalOffer: Sendable {
    package struct Section: Sendable {
        package var track: TrackDeclaration
        package var mid: String
        package init(track: TrackDeclaration, mid: String) {
            self.track = track
            self.mid = mid
        }
    }
    package var sdp: String
    package var sections: [Section]
    /// No further candidate will follow.
    package var gatheringComplete: Bool
}

/// What applying the answer yielded.
package struct AppliedAnswer: Sendable {
    /// Mids of the recvonly tracks the peer accepted.
    package var receivedTracks: [(track: String, mid: String)]
    /// Tracks that will carry nothing, with a sentence why.
    package var rejectedTracks: [(track: String, reason: String)]
}

/// The answer as it leaves, and what was agreed.
package struct LocalAnswer: Sendable {
    package var sdp: String
    /// Tracks that come, and tracks that go once they are published, each with the mid of its section.
    package var receivedTracks: [(track: String, mid: String)]
    package var sentTracks: [(track: String, mid: String)]
    /// Tracks that will carry nothing, with a sentence why.
    package var rejectedTracks: [(track: String, reason: String)]
    /// No further candidate will follow.
    package var gatheringComplete: Bool
}
