package import RTCBase
internal import RTCEngine
internal import RTCTransport

/// One WebRTC connection, pinned to the network thread.
///
/// Calls from another thread hop there once; `PeerEvent`s are handed to the sink on the network thread, in order, and
/// none after `close()`. Releasing the last reference closes without waiting.
package actor PeerConnection {
    /// Used on the network thread only: by the isolated methods here, and by `deinit` through the executor.
    private nonisolated(unsafe) let core: PeerCore
    private nonisolated let executor: NetworkExecutor

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter remoteTracks: where received media goes, by track name.
    /// - Parameter localTracks: where sent media comes from once `setPublishing` says so, by track name.
    /// - Parameter onEvent: called on the network thread.
    package init(
        configuration: PeerConfiguration, tracks: [TrackDeclaration], remoteTracks: [String: RemoteTrack],
        localTracks: [String: LocalTrack] = [:], onEvent: @escaping @Sendable (PeerEvent) -> Void
    ) async throws(PeerError) {
        executor = .shared
        do {
            core = try PeerCore(
                configuration: configuration, tracks: tracks, remoteTracks: remoteTracks, localTracks: localTracks,
                executor: .shared)
        } catch {
            throw PeerError(.transport, error.message)
        }
        core.onEvent = onEvent
    }

    deinit {
        // The executor keeps the order, and the sockets are closed on their own thread.
        nonisolated(unsafe) let core = core
        executor.execute { core.close {} }
    }

    /// Starts gathering and returns the offer; host candidates are inside it.
    package func makeOffer() throws(PeerError) -> LocalOffer {
        do throws(TransportError) {
            return try core.makeOffer()
        } catch {
            throw PeerError(error.kind == .iceConfiguration ? .configuration : .transport, error.message)
        }
    }

    /// Applies the peer's answer; from here the connection comes up by itself and reports events.
    package func apply(answer: String) throws(PeerError) -> AppliedAnswer { try core.apply(answer: answer) }

    /// Answers a peer's offer, in place of `makeOffer` and `apply`; host candidates are inside the answer. From here the
    /// connection comes up by itself and reports events. After a throw it is only good for closing.
    ///
    /// - Parameter trackNames: the track of each mid when signalling told; without it tracks and offered sections of a kind
    ///   meet in order, as far as their directions fit.
    package func makeAnswer(to offer: String, trackNames: [String: String] = [:]) throws(PeerError) -> LocalAnswer {
        try core.makeAnswer(to: offer, trackNames: trackNames)
    }

    /// Candidates of the peer (`candidate:...`, with or without `a=`) that its signalling told one by one, in any order
    /// with its description. What cannot be used is skipped and counted (ICE-01).
    package func addRemoteCandidates(_ lines: [String], isLast: Bool = false) {
        core.addRemoteCandidates(lines, isLast: isLast)
    }

    /// Queues one message on a channel.
    package func send(_ bytes: [UInt8], isText: Bool = false, channel: String) throws(PeerError) {
        try core.send(bytes, isText: isText, channel: channel)
    }

    /// Bookkeeping of pause and resume: no key frame is asked for while a track is paused.
    package func setReceiving(_ isReceiving: Bool, track: String) { core.setReceiving(isReceiving, track: track) }

    /// Starts or stops sending a track: from here on what is pushed into its `LocalTrack` is encoded and sent, or nothing is
    /// any more, not a packet. Saying so to the peer is the caller's business. Repeating it does nothing.
    ///
    /// - Throws: `.invalidState` when the connection is closed or has no answer yet, `.negotiation` when the track has no
    ///   section that sends.
    package func setPublishing(_ on: Bool, track: String) throws(PeerError) { try core.setPublishing(on, track: track) }

    /// Bounds of what is sent in all, in bits per second; nil leaves one as it is. `start` counts from the next publish that
    /// is the only one.
    package func setBitrateLimits(min: Int? = nil, start: Int? = nil, max: Int? = nil) throws(PeerError) {
        try core.setBitrateLimits(min: min, start: start, max: max)
    }

    /// Bounds of one video track's encoder, in bits per second; nil leaves one as it is. They hold from publish to publish.
    package func setBitrateLimits(track: String, min: Int? = nil, max: Int? = nil) throws(PeerError) {
        try core.setBitrateLimits(track: track, min: min, max: max)
    }

    /// Bytes of messages that the peer has not acknowledged; 0 when it has everything, or nothing can be sent any more.
    package var unacknowledgedBytes: Int { core.unacknowledgedBytes }

    package func isChannelOpen(_ label: String) -> Bool { core.openChannels.contains(label) }

    package var statistics: PeerStatistics {
        var drops = core.drops
        if let counted = core.engine?.drops { drops.merge(counted) }
        if let ice = core.ice { drops.merge(ice.drops) }
        let pair = core.ice?.selectedPair()
        return PeerStatistics(
            timestamp: NetworkExecutor.now(), roundTripNanoseconds: core.roundTripNanoseconds,
            packetsReceived: core.packetsReceived, bytesReceived: core.bytesReceived, packetsSent: core.packetsSent,
            bytesSent: core.bytesSent, inbound: core.inboundStatistics, outbound: core.outboundStatistics,
            availableOutgoingBitrate: core.availableOutgoingBitrate, drops: drops,
            localCandidateType: pair?.localType.rawValue, remoteCandidateType: pair?.remoteType.rawValue,
            relayProtocol: pair?.relayProtocol?.rawValue, localAddress: pair?.localAddress, remoteAddress: pair?.remoteAddress,
            consentChecksSent: core.consent.checksSent, consentAnswers: core.consent.answers,
            isConnected: core.isIceConnected && !core.isLost, srtpProfile: core.srtpProfile.map { "\($0)" })
    }

    /// Says goodbye to the peer, releases everything and returns when the sockets are closed.
    package func close() async {
        await withCheckedContinuation { continuation in
            core.close { continuation.resume() }
        }
    }
}
