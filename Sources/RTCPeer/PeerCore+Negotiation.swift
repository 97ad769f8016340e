internal import RTCBase
internal import RTCEngine
internal import RTCTransport
internal import RTCWire

// Offer and answer, in either role; both end with a `NegotiatedSession` and the connection coming up by itself.
extension PeerCore {
    /// Starts gathering and writes the offer with every candidate that is known at once (the host addresses).
    func makeOffer() throws(TransportError) -> LocalOffer {
        let description = offerBuilder.offer(try startTransport(isControlling: true))
        offer = description
        return LocalOffer(
            sdp: description.write(),
            sections: zip(tracks, description.sections).map { LocalOffer.Section(track: $0, mid: $1.mid ?? "") },
            gatheringComplete: gatheringComplete)
    }

    /// Applies the peer's answer and starts connecting.
    func apply(answer text: String) throws(PeerError) -> AppliedAnswer {
        guard !isClosed, let offer, session == nil else {
            throw PeerError(.invalidState, "the connection is closed, or was negotiated before")
        }
        let negotiated: NegotiatedSession
        do {
            let answer = try SessionDescription(parsing: text)
            negotiated = try AnswerApplier.apply(answer, to: offer, configuration: offerConfiguration)
        } catch let error as SDPError {
            throw PeerError(.malformedDescription, "the server's SDP answer cannot be read: \(error)")
        } catch let error as NegotiationError {
            throw PeerError(.negotiation, error.message)
        } catch {
            throw PeerError(.negotiation, "\(error)")
        }
        try connect(negotiated)
        return AppliedAnswer(
            receivedTracks: negotiated.receivedTracks,
            rejectedTracks: negotiated.rejectedTracks.map { ($0.trackName, $0.description) })
    }

    /// Answers the peer's offer and starts connecting, as the controlled side of ICE unless the peer is a lite agent
    /// (RFC 8445 §6.1.1).
    func makeAnswer(to text: String, trackNames: [String: String]) throws(PeerError) -> LocalAnswer {
        guard !isClosed, ice == nil else { throw PeerError(.invalidState, "the connection is closed, or was negotiated before") }
        let remote: SessionDescription
        do {
            remote = try SessionDescription(parsing: text)
        } catch {
            throw PeerError(.malformedDescription, "the SDP offer cannot be read: \(error)")
        }
        let transport: LocalTransportParameters
        do {
            transport = try startTransport(isControlling: remote.attribute("ice-lite") != nil)
        } catch {
            throw PeerError(error.kind == .iceConfiguration ? .configuration : .transport, error.message)
        }
        var generator = SystemRandomNumberGenerator()
        let answer: SessionDescription
        let negotiated: NegotiatedSession
        do {
            (answer, negotiated) = try AnswerBuilder.answer(
                remote, configuration: offerConfiguration, trackNames: trackNames, transport: transport,
                sessionID: RandomToken.decimal(), using: &generator)
        } catch {
            throw PeerError(.negotiation, error.message)
        }
        try connect(negotiated)
        return LocalAnswer(
            sdp: answer.write(), receivedTracks: negotiated.receivedTracks, sentTracks: negotiated.sentTracks,
            rejectedTracks: negotiated.rejectedTracks.map { ($0.trackName, $0.description) },
            gatheringComplete: gatheringComplete)
    }

    /// Candidates that the peer signals one by one, also ahead of its description (ICE-12).
    func addRemoteCandidates(_ lines: [String], isLast: Bool) {
        guard !isClosed else { return }
        isRemoteGatheringDone = isRemoteGatheringDone || isLast
        guard let ice else {
            for line in lines where !earlyCandidates.append(line) { drops.count(.unusableCandidate) }
            return
        }
        ice.addRemoteCandidates(lines)
        if isLast { ice.setRemoteGatheringDone() }
    }

    /// Builds everything above ICE and lets it check.
    private func connect(_ negotiated: NegotiatedSession) throws(PeerError) {
        guard let ice else { throw PeerError(.invalidState, "the connection is closed") }
        session = negotiated
        startMedia(negotiated)
        try startSecurity(negotiated, now: executor.now)
        guard ice.setRemote(usernameFragment: negotiated.usernameFragment, password: negotiated.password) else {
            throw PeerError(.negotiation, "the peer's ICE credentials in its SDP are malformed")
        }
        ice.addRemoteCandidates(negotiated.candidates)
        while let candidate = earlyCandidates.popFirst() { ice.addRemoteCandidates([candidate]) }
        if negotiated.endOfCandidates || isRemoteGatheringDone { ice.setRemoteGatheringDone() }
        rearm()
    }
}

extension NegotiatedSession {
    fileprivate var receivedTracks: [(track: String, mid: String)] {
        sections.filter { $0.accepted && $0.receives }.map { ($0.trackName, $0.mid) }
    }

    fileprivate var sentTracks: [(track: String, mid: String)] {
        sections.filter { $0.accepted && $0.sends }.map { ($0.trackName, $0.mid) }
    }
}
