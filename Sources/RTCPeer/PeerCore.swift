// What the network thread runs for one peer connection: ICE under DTLS under SRTP and SCTP, the receive engine, the data
// channels, and the doorway to the decode threads. In: datagrams, timers and the calls of `PeerConnection`. Out: datagrams,
// encoded frames to the workers, `PeerEvent`s. Everything here is plain synchronous code on the network thread; a packet
// passes through it in one stack. Left out: HTTP and everything that knows what a session is.

internal import RTCBase
internal import RTCEngine
internal import RTCTransport
internal import RTCWire

/// The state of one connection. Not `Sendable`: made, used and released on the network thread.
final class PeerCore {
    let configuration: PeerConfiguration
    let tracks: [TrackDeclaration]
    let remoteTracks: [String: RemoteTrack]
    let localTracks: [String: LocalTrack]
    let executor: NetworkExecutor
    /// Called on the network thread, in order; nothing is called after `close()`.
    var onEvent: ((PeerEvent) -> Void)?

    // Transports, bottom up. Each exists from the step that makes it until `close()`.
    var ice: ICEAgent?
    let identity: DTLSIdentity
    var dtls: DTLSConnection?
    var srtp: SRTPSession?
    var srtpProfile: SRTPProfile?
    var sctp: SCTPAssociation?

    // Negotiation
    var offerBuilder: OfferBuilder
    let offerConfiguration: OfferConfiguration
    var offer: SessionDescription?
    var session: NegotiatedSession?
    /// The peer's candidates that came before its offer (ICE-12); bounded.
    var earlyCandidates = BoundedQueue<String>(capacity: 64)
    var isRemoteGatheringDone = false

    // Media
    var engine: PeerEngine?
    var outputs = EngineOutputs()
    var receivers: [MediaReceiver?] = []
    /// By section: the worker of a published track.
    var senders: [MediaSender?] = []
    /// Numbers the publishes: what an encode thread of an earlier one still sends is not taken.
    var publishCount: UInt64 = 0
    var bitrateLimits = BitrateLimits()
    /// The app has set a maximum; then it holds instead of what a picture's size suggests.
    var hasExplicitMaximum = false
    var trackLimits: [String: TrackBitrateLimits] = [:]
    let framePool = FrameBufferPool(maxCached: 16, memory: .pages)
    /// RTP and RTCP that came before the keys did (DTLS-09); bounded.
    var earlyPackets = BoundedQueue<[UInt8]>(capacity: 256)
    /// DTLS that came before our side of ICE was connected; a flight is at most a few datagrams.
    var earlyHandshake = BoundedQueue<[UInt8]>(capacity: 8)
    /// Scratch for outgoing protected packets; room for the largest packet and its authentication tag.
    let sendScratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)

    /// Memory of the datagram that an impairment passes on, each way; reused.
    var impairedDatagrams: (outgoing: [UInt8], incoming: [UInt8]) = ([], [])

    // Data channels
    var channels: DataChannelMachine?
    var channelOutputs = DataChannelMachine.Outputs()
    var channelIDs: [String: ChannelID] = [:]
    var channelLabels: [ChannelID: String] = [:]
    var openChannels: Set<String> = []
    var outboxes: [ChannelID: MessageOutbox] = [:]
    /// What SCTP had no room for; bounded because nothing is taken from the outboxes while it holds anything.
    var stalledSends: [SCTPSend] = []
    var isPumping = false
    var isFlushing = false

    // Time and liveness
    var timer: NetworkTimer?
    var armedDeadline: MonotonicTime?
    var nextTick: MonotonicTime
    var silentTicks = 0
    var heardSinceTick = false
    /// In a row, in which the socket refused everything.
    var refusingTicks = 0
    var sentAtTick = (packets: 0, failures: UInt64(0))
    /// In a row, in which the peer did not show that it hears us.
    var unheardTicks = 0
    var answersAtTick: UInt64 = 0
    var isIceConnected = false
    var isClosed = false
    var isLost = false
    var gatheringComplete = false
    /// Whether the peer still wants what we send (RFC 7675).
    var consent: ConsentMachine
    /// Transactions must not be guessable: an answer to one is consent.
    var random = SystemRandomNumberGenerator()
    /// What our description carried; other candidates become events.
    var offeredCandidates: Set<String> = []

    // Counters
    var drops = DropCounters()
    var packetsReceived = 0
    var bytesReceived = 0
    var packetsSent = 0
    var bytesSent = 0
    var roundTripNanoseconds: Int64?

    init(
        configuration: PeerConfiguration, tracks: [TrackDeclaration], remoteTracks: [String: RemoteTrack],
        localTracks: [String: LocalTrack], executor: NetworkExecutor
    ) throws(TransportError) {
        self.configuration = configuration
        self.tracks = tracks
        self.remoteTracks = remoteTracks
        self.localTracks = localTracks
        self.executor = executor
        identity = try DTLSIdentity()
        offerConfiguration = OfferConfiguration(
            tracks: tracks, videoCodecs: configuration.videoCodecs,
            offersFrameMetadata: configuration.offersFrameMetadata,
            chunkingMaxMessageBytes: configuration.chunkingMaxMessageBytes,
            offersDataChannels: configuration.offersDataChannels, streamID: "reactor-stream", cname: RandomToken.make(length: 16))
        var generator = SystemRandomNumberGenerator()
        offerBuilder = OfferBuilder(
            configuration: offerConfiguration, sessionID: RandomToken.decimal(), using: &generator)
        nextTick = executor.now.adding(milliseconds: Self.tickMilliseconds)
        var consentSettings = ConsentMachine.Settings()
        consentSettings.intervalMilliseconds = configuration.consentIntervalMilliseconds
        consentSettings.expiryMilliseconds = configuration.consentExpiryMilliseconds
        consent = ConsentMachine(settings: consentSettings)
    }

    deinit { sendScratch.deallocate() }

    // MARK: Start

    /// Makes the ICE agent, starts gathering, and says what a description needs to carry. Host candidates are all there at
    /// once; what STUN and TURN servers find follows as events.
    func startTransport(isControlling: Bool) throws(TransportError) -> LocalTransportParameters {
        var iceConfiguration = ICEAgent.Configuration()
        iceConfiguration.isControlling = isControlling
        iceConfiguration.servers = configuration.iceServers.map {
            ICEServer(url: $0.url, username: $0.username, credential: $0.credential)
        }
        iceConfiguration.relayOnly = configuration.relayOnly
        iceConfiguration.portRange = configuration.portRange
        let agent = try ICEAgent(configuration: iceConfiguration, executor: executor)
        ice = agent
        agent.onCandidate = { [weak self] candidate in self?.foundCandidate(candidate) }
        agent.onGatheringDone = { [weak self] in self?.gatheringFinished() }
        agent.onState = { [weak self] state in self?.iceStateChanged(state) }
        agent.onDatagram = { [weak self] datagram in self?.received(datagram) }
        agent.onPairSelected = { [weak self] in self?.pairSelected() }
        agent.onCheckAnswered = { [weak self] transaction in self?.checkAnswered(transaction) }
        for warning in agent.warnings { onEvent?(.warning(warning)) }
        try agent.startGathering()
        guard let fingerprint = identity.fingerprint() else { throw TransportError(.dtlsFailed, "the certificate has no fingerprint") }

        // Host candidates are told once more as events and left out then.
        offeredCandidates = Set(agent.localCandidates)
        gatheringComplete = agent.isGatheringDone
        let timer = executor.makeTimer { [weak self] in self?.timerFired() }
        self.timer = timer
        rearm()
        return LocalTransportParameters(
            usernameFragment: agent.localUsernameFragment, password: agent.localPassword,
            fingerprint: Fingerprint(algorithm: "sha-256", value: fingerprint), candidates: agent.localCandidates,
            gatheringComplete: gatheringComplete)
    }

    // MARK: ICE

    private func foundCandidate(_ candidate: String) {
        guard !isClosed, offeredCandidates.insert(candidate).inserted else { return }
        onEvent?(.localCandidate(candidate))
    }

    private func gatheringFinished() {
        guard !isClosed, !gatheringComplete else { return }
        gatheringComplete = true
        onEvent?(.gatheringDone)
    }

    private func iceStateChanged(_ state: ICEState) {
        guard !isClosed else { return }
        switch state {
        case .connected, .ready:
            guard !isIceConnected else { return }
            isIceConnected = true
            heardSinceTick = true
            onEvent?(.iceConnected)
            dtls?.start(now: executor.now)
            while let datagram = earlyHandshake.popFirst() {
                datagram.withUnsafeBytes { dtls?.receive($0, now: executor.now) }
            }
            rearm()
        case .failed where ice?.failure?.kind == .iceRefused:
            lose(PeerLoss(.refused, "the server's host refuses our packets: nobody listens there any more"))
        case .failed:
            lose(
                PeerLoss(
                    .transport,
                    isIceConnected
                        ? "the network path to the server stopped working"
                        : "no network path to the server works: UDP between the two may be blocked; a TURN server would help"))
        case .gathering, .checking, .disconnected:
            break
        }
    }

    // MARK: Datagrams in

    /// One datagram from ICE, in a scratch buffer that is ours during this call.
    private func received(_ datagram: UnsafeMutableRawBufferPointer) {
        guard !isClosed else { return }
        if let impairment = configuration.impairment, takes(datagram, impairment) { return }
        arrived(datagram)
    }

    func arrived(_ datagram: UnsafeMutableRawBufferPointer) {
        packetsReceived += 1
        bytesReceived += datagram.count
        heardSinceTick = true
        let now = executor.now
        switch PacketKind.classify(UnsafeRawBufferPointer(datagram).bytes) {
        case .rtp:
            receivedMedia(datagram, isRTCP: false, now: now)
        case .rtcp:
            receivedMedia(datagram, isRTCP: true, now: now)
        case .dtls:
            guard isIceConnected else {
                // The peer's side of ICE may finish first; its ClientHello, dropped, would come again 50 ms later.
                if !earlyHandshake.append([UInt8](datagram)) { drops.count(.beforeKeys) }
                return
            }
            dtls?.receive(UnsafeRawBufferPointer(datagram), now: now)
            rearm()
        case .stun, .turnChannel, .unknown:
            drops.count(.unknownDatagram)
        }
    }

    func receivedMedia(_ datagram: UnsafeMutableRawBufferPointer, isRTCP: Bool, now: MonotonicTime) {
        guard let srtp else {
            // DTLS-09: the peer may finish its handshake first and send the key frame before we have keys.
            if !earlyPackets.append([UInt8](datagram)) { drops.count(.beforeKeys) }
            return
        }
        switch srtp.unprotect(datagram, isRTCP: isRTCP) {
        case .success(let count):
            let packet = UnsafeRawBufferPointer(rebasing: datagram[..<count]).bytes
            if isRTCP {
                engine?.handleRTCP(packet, now: now, into: &outputs)
            } else {
                engine?.handleRTP(packet, now: now, into: &outputs)
                deliverAudio(from: packet)
            }
            drain(now: now)
        case .failure(.replay):
            drops.count(.srtpReplay)
        case .failure(.authentication):
            drops.count(.srtpAuthentication)
        case .failure:
            drops.count(.srtpOther)
        }
    }

    // MARK: Time

    /// Sends what the engine wants sent, hands frames on, and sets the timer anew. Every mutation of the engine ends here.
    func drain(now: MonotonicTime) {
        if !outputs.frames.isEmpty {
            for output in outputs.frames { receivers[output.section]?.submit(output.frame) }
        }
        if !outputs.rtpPackets.isEmpty || !outputs.rtcpPackets.isEmpty { sendMedia() }
        for event in outputs.events { handle(event) }
        outputs.removeAll()
        rearm()
    }

    @discardableResult
    func send(_ datagram: UnsafeRawBufferPointer, over ice: ICEAgent) -> Bool {
        guard !consent.isExpired, configuration.impairment.map({ takes(datagram, to: ice, $0) }) ?? false || ice.send(datagram) else {
            drops.count(.sendFailed)
            return false
        }
        packetsSent += 1
        bytesSent += datagram.count
        return true
    }

    private func handle(_ event: EngineEvent) {
        switch event {
        case .firstPacket(let section, _):
            guard let session, session.sections.indices.contains(section) else { return }
            onEvent?(.mediaStarted(track: session.sections[section].trackName))
        case .keyFrameRequested(let section): videoSender(section)?.worker.requestKeyFrame()
        case .sendRate(let section, let bitsPerSecond): setSendRate(Int(bitsPerSecond), section: section)
        case .congested(let section, let isCongested): videoSender(section)?.worker.setCongested(isCongested)
        case .senderReport, .goodbye: break
        }
    }

    /// The one timer: the earliest of what engine, DTLS, consent and the liveness tick want. SCTP has a clock of its own.
    func rearm() {
        guard !isClosed, let timer else { return }
        var earliest = nextTick
        if let deadline = engine?.nextDeadline() { earliest = min(earliest, deadline) }
        if let deadline = dtls?.nextDeadline { earliest = min(earliest, deadline) }
        if let deadline = consent.nextDeadline { earliest = min(earliest, deadline) }
        if let deadline = configuration.impairment.flatMap(impairmentDeadline) { earliest = min(earliest, deadline) }
        // Only ever set to an earlier time: setting a timer wakes the thread's poll, once per packet if every change were
        // followed. A timer that fires too early looks again and is set anew.
        if armedDeadline.map({ earliest < $0 }) ?? true {
            armedDeadline = earliest
            timer.set(deadline: earliest)
        }
    }

    private func timerFired() {
        guard !isClosed else { return }
        armedDeadline = nil
        if let impairment = configuration.impairment { passDue(impairment) }
        guard !isClosed else { return }
        let now = executor.now
        if let deadline = dtls?.nextDeadline, deadline <= now { dtls?.handleTimeout(now: now) }
        if let deadline = engine?.nextDeadline(), deadline <= now {
            engine?.handleTimeout(now: now, into: &outputs)
            drain(now: now)
        }
        if let deadline = consent.nextDeadline, deadline <= now { checkConsent(now: now) }
        if nextTick <= now { tick(now: now) }
        rearm()
    }

    /// Twice a second: liveness and round-trip time. Silence is counted in ticks, not read off the clock, so that a
    /// suspended or stalled process does not take its own absence for the peer's.
    private func tick(now: MonotonicTime) {
        nextTick = now.adding(milliseconds: Self.tickMilliseconds)
        silentTicks = heardSinceTick ? 0 : silentTicks + 1
        heardSinceTick = false
        // Before there are keys the handshake has time limits of its own, and the peer may have nothing to say. Without an
        // association it can be asked nothing; then the consent checks of ICE decide alone.
        if srtp == nil || sctp == nil { silentTicks = 0 }
        if silentTicks * Int(Self.tickMilliseconds) >= configuration.silenceLimitMilliseconds {
            lose(PeerLoss(.silence, "nothing was heard from the server for \(Double(configuration.silenceLimitMilliseconds) / 1000) s"))
            return
        }
        if hasRefusedForLong() {
            lose(PeerLoss(.transport, "this machine's address on the network path to the server is gone, or no route leads there"))
            return
        }
        if isUnheardForLong() {
            lose(PeerLoss(.transport, "what we send no longer reaches the server"))
            return
        }
        // Whoever is there answers at once: after an outage the first answer must not wait for a timer that backed off.
        if silentTicks > 0 || unheardTicks > 2 { sctp?.requestHeartbeat() }
        if let measured = sctp?.roundTripTimeNanoseconds {
            roundTripNanoseconds = measured
            engine?.updateRoundTripTime(nanoseconds: measured)
        }
    }

    /// ICE-09: the peer may have moved to another pair, where its packets still reach us, while the one that we send on has lost
    /// its address. Silence would never tell that. A tick in which nothing was to be sent tells nothing.
    private func hasRefusedForLong() -> Bool {
        let now = (packets: packetsSent, failures: drops[.sendFailed])
        defer { sentAtTick = now }
        if now.packets != sentAtTick.packets {
            refusingTicks = 0
        } else if now.failures != sentAtTick.failures {
            refusingTicks += 1
        }
        return refusingTicks * Int(Self.tickMilliseconds) >= configuration.silenceLimitMilliseconds
    }

    /// ICE-09: the same when it is the peer's address that is gone. Its host does not refuse what we send there, it vanishes,
    /// and consent (RFC 7675) would take 30 s to expire.
    private func isUnheardForLong() -> Bool {
        guard let sctp, sctp.isUp else {
            unheardTicks = 0
            return false
        }
        let answers = sctp.answers &+ UInt64(consent.answers)
        unheardTicks = answers == answersAtTick ? unheardTicks + 1 : 0
        answersAtTick = answers
        return unheardTicks * Int(Self.tickMilliseconds) >= configuration.silenceLimitMilliseconds + Self.unheardAllowance
    }

    // MARK: End

    /// The connection ended by itself: reported once, then closed.
    func lose(_ loss: PeerLoss) {
        guard !isClosed, !isLost else { return }
        isLost = true
        onEvent?(.lost(loss))
    }

    /// Says goodbye to the peer and lets go of everything; `completion` runs when ICE has released its sockets.
    func close(completion: @escaping () -> Void) {
        guard !isClosed else { return completion() }
        isClosed = true
        onEvent = nil
        timer?.cancel()
        timer = nil
        sctp?.close()
        dtls?.close()
        if let impairment = configuration.impairment { passRest(impairment) }
        for receiver in receivers { receiver?.stop() }
        receivers = []
        stopSenders()
        engine = nil
        sctp = nil
        dtls = nil
        srtp = nil
        guard let ice else { return completion() }
        self.ice = nil
        ice.close {
            completion()
            // What the connection held is free by then; a worker gives it back to the system when it ends.
            _ = WorkerThread.start(name: "reactor-end") {}
        }
    }

    static let tickMilliseconds: Int64 = 500
    /// Answers are a second apart when all is well, and the first one after an outage takes a round trip more than a packet
    /// of the peer's: an outage as long as the silence limit allows must not end here.
    static let unheardAllowance = 2000
}
