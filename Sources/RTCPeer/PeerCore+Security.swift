internal import RTCBase
internal import RTCEngine
internal import RTCTransport
internal import RTCWire

// DTLS over ICE, and what starts when its keys are there.
extension PeerCore {
    func startSecurity(_ session: NegotiatedSession, now: MonotonicTime) throws(PeerError) {
        let connection: DTLSConnection
        do {
            connection = try DTLSConnection(
                role: session.isDTLSClient ? .client : .server, identity: identity,
                expectedFingerprints: session.fingerprints.map { ($0.algorithm, $0.value) })
        } catch {
            throw PeerError(.transport, error.message)
        }
        dtls = connection
        connection.onSend = { [weak self] datagram in
            guard let self, let ice = self.ice else { return false }
            return self.send(datagram, over: ice)
        }
        connection.onConnected = { [weak self] keys in self?.secured(keys) }
        connection.onApplicationData = { [weak self] data in self?.sctp?.receive(data) }
        connection.onClosed = { [weak self] reason in
            switch reason {
            case .peerClosed: self?.lose(PeerLoss(.closedByPeer, "the server closed the connection"))
            case .failed(let error): self?.lose(PeerLoss(.transport, error.message))
            }
        }
        if isIceConnected { connection.start(now: now) }
    }

    /// The handshake is done and the peer's certificate is the announced one.
    private func secured(_ keys: SRTPKeys) {
        guard !isClosed, let session else { return }
        do throws(TransportError) {
            srtp = try SRTPSession(keys: keys)
        } catch {
            return lose(PeerLoss(.transport, error.message))
        }
        srtpProfile = keys.profile
        onEvent?(.dtlsConnected)
        if session.hasDataChannels { startDataChannels(session) }
        replayEarlyPackets()
        rearm()
    }

    private func replayEarlyPackets() {
        let now = executor.now
        while let packet = earlyPackets.popFirst() {
            let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, packet.count), alignment: 16)
            defer { scratch.deallocate() }
            scratch.copyBytes(from: packet)
            let datagram = UnsafeMutableRawBufferPointer(rebasing: scratch[..<packet.count])
            let isRTCP = PacketKind.classify(UnsafeRawBufferPointer(datagram).bytes) == .rtcp
            receivedMedia(datagram, isRTCP: isRTCP, now: now)
        }
    }
}
