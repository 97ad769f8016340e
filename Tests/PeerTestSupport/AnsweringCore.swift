// The far end of a connection for tests: answers an offer and then speaks ICE (controlled), DTLS, SRTP, SCTP and data
// channels with the same transport classes, on the same network thread. In: an offer. Out: an answer, media, messages, and
// whatever misbehaviour a test asks for. It knows nothing of sessions; `FakeRuntime` puts HTTP in front of it.

package import RTCBase
import RTCCodec
import RTCEngine
package import RTCTransport
package import RTCWire

/// One answering end. Network thread only; `AnsweringPeer` is how tests reach it.
package final class AnsweringCore {
    package struct Message: Hashable, Sendable {
        package var channel: String
        package var isText: Bool
        package var bytes: [UInt8]

        package init(channel: String, isText: Bool = false, bytes: [UInt8]) {
            self.channel = channel
            self.isText = isText
            self.bytes = bytes
        }
    }

    package struct Options: Sendable {
        /// `active`: the peer is the DTLS client, as the vendor's runtime is.
        package var setup = MediaSection.Setup.active
        /// Nil leaves the attribute out of the answer.
        package var chunkingMaxBytes: Int? = 67_108_864
        package var maxMessageSize: Int? = 262_144
        package var mirrorsFrameMetadata = true
        package var videoCodec = VideoCodec.vp8
        /// Announces the fingerprint of another certificate.
        package var liesAboutFingerprint = false
        /// Plays DTLS server only so far that the client's last flight is answered after `earlyFrame` went out (DTLS-09).
        package var holdsLastFlight = false
        package var earlyFrame: EncodedFrame?
        /// Says nothing until `speakAgain`.
        package var startsSilent = false
        /// Sections answered with port 0.
        package var rejectedMids: Set<String> = []
        /// Gathers on these addresses only.
        package var localAddresses: [String]?
        /// Answers each message, in order; called on the network thread.
        package var respond: (@Sendable (Message) -> [Message])?

        package init() {}
    }

    package let options: Options
    package private(set) var answer = ""
    /// Everything received, in order.
    package private(set) var messages: [Message] = []
    /// Labels in the order the channels were opened and closed.
    package private(set) var openedLabels: [String] = []
    package private(set) var closedLabels: [String] = []
    /// The end as DTLS saw it.
    package private(set) var sawCloseNotify = false
    package private(set) var failure: TransportError?
    package private(set) var isConnected = false
    package private(set) var keyFrameRequests = 0
    package private(set) var receiverReports = 0
    package private(set) var transportFeedbacks = 0
    package private(set) var srtpPacketsReceived = 0
    /// What the near end publishes.
    package let inbox: MediaInbox

    private let executor = NetworkExecutor.shared
    private let identity: DTLSIdentity
    private var ice: ICEAgent?
    private var dtls: DTLSConnection?
    private var srtp: SRTPSession?
    private var sctp: SCTPAssociation?
    private var channels: DataChannelMachine
    private var outputs = DataChannelMachine.Outputs()
    private var channelIDs: [String: ChannelID] = [:]
    private var labels: [ChannelID: String] = [:]
    private var pendingSends: [SCTPSend] = []
    private var isFlushing = false
    private var timer: NetworkTimer?
    private var senders: [String: TestMediaSender] = [:]
    private var mediaTimers: [String: NetworkTimer] = [:]
    private var heldFlight: [[UInt8]] = []
    private var isMute = false
    private var isICEConnected = false

    package init(offer text: String, options: Options) throws {
        self.options = options
        isMute = options.startsSilent
        let offer = try SessionDescription(parsing: text)
        identity = try DTLSIdentity()
        inbox = MediaInbox(
            offer: offer, usesFrameMetadata: options.mirrorsFrameMetadata && offer.attribute("x-reactor-frame-metadata") != nil)
        let isClient = options.setup == .active
        var limits: ChunkLimits?
        let declared = offer.attribute(ChunkFraming.attributeName).flatMap { ChunkFraming.Declaration(attributeValue: $0.value) }
        if let own = options.chunkingMaxBytes, let declared {
            limits = ChunkLimits(ownMaxBytes: own, peerMaxBytes: declared.maxMessageBytes ?? own)
        }
        channels = DataChannelMachine(
            isDTLSClient: isClient, maxOutgoingMessageBytes: offer.sections.last?.maxMessageSize ?? 65_536, chunking: limits)
        try startTransport(offer)
    }

    // MARK: Start

    private func startTransport(_ offer: SessionDescription) throws {
        var configuration = ICEAgent.Configuration()
        configuration.isControlling = false
        configuration.localAddresses = options.localAddresses
        let agent = try ICEAgent(configuration: configuration, executor: executor)
        ice = agent
        agent.onState = { [weak self] state in self?.stateChanged(state) }
        agent.onDatagram = { [weak self] datagram in self?.received(datagram) }
        try agent.startGathering()
        let lie = options.liesAboutFingerprint ? try DTLSIdentity() : identity
        guard let fingerprint = lie.fingerprint(), let first = offer.sections.first(where: { $0.iceUsernameFragment != nil }),
            let fragment = first.iceUsernameFragment, let password = first.icePassword
        else { throw TransportError(.dtlsFailed, "the offer has no transport") }
        answer = AnswerWriter.write(
            offer, options: options,
            transport: LocalTransportParameters(
                usernameFragment: agent.localUsernameFragment, password: agent.localPassword,
                fingerprint: Fingerprint(algorithm: "sha-256", value: fingerprint), candidates: agent.localCandidates,
                gatheringComplete: true))
        for section in offer.sections where section.isRTP {
            guard let mid = section.mid else { continue }
            senders[mid] = TestMediaSender(section: section, codec: options.videoCodec)
        }
        let connection = try DTLSConnection(
            role: options.setup == .active ? .client : .server, identity: identity,
            expectedFingerprints: first.fingerprints.map { ($0.algorithm, $0.value) })
        dtls = connection
        connection.onSend = { [weak self] datagram in self?.sendHandshake(datagram) ?? false }
        connection.onConnected = { [weak self] keys in self?.secured(keys) }
        connection.onApplicationData = { [weak self] data in self?.sctp?.receive(data) }
        connection.onClosed = { [weak self] reason in
            switch reason {
            case .peerClosed: self?.sawCloseNotify = true
            case .failed(let error): self?.failure = error
            }
        }
        timer = executor.makeTimer { [weak self] in self?.timerFired() }
        agent.setRemote(usernameFragment: fragment, password: password)
        agent.addRemoteCandidates(offer.sections.flatMap(\.candidates))
        if options.setup != .active { connection.start(now: executor.now) }
        rearm()
    }

    package func addCandidates(_ lines: [String]) { ice?.addRemoteCandidates(lines) }

    private func stateChanged(_ state: ICEState) {
        guard state == .connected || state == .ready, !isICEConnected else { return }
        isICEConnected = true
        dtls?.start(now: executor.now)
        rearm()
    }

    // MARK: Datagrams

    private func received(_ datagram: UnsafeMutableRawBufferPointer) {
        guard !isMute else { return }
        switch PacketKind.classify(UnsafeRawBufferPointer(datagram).bytes) {
        case .dtls:
            dtls?.receive(UnsafeRawBufferPointer(datagram), now: executor.now)
            rearm()
        case .rtcp: receivedRTCP(datagram)
        case .rtp: receivedRTP(datagram)
        case .stun, .turnChannel, .unknown: break
        }
    }

    private func receivedRTP(_ datagram: UnsafeMutableRawBufferPointer) {
        srtpPacketsReceived += 1
        guard case .success(let count)? = srtp?.unprotect(datagram, isRTCP: false) else { return }
        inbox.handleRTP(UnsafeRawBufferPointer(rebasing: datagram[..<count]).bytes, now: executor.now)
        sendFeedback()
    }

    private func sendFeedback() {
        for packet in inbox.takeRTCP() { send(packet, isRTCP: true) }
        rearm()
    }

    /// Asks for a key frame of a section that the near end publishes.
    package func requestKeyFrame(mid: String) {
        inbox.requestKeyFrame(mid: mid, now: executor.now)
        sendFeedback()
    }

    private func receivedRTCP(_ datagram: UnsafeMutableRawBufferPointer) {
        guard case .success(let count)? = srtp?.unprotect(datagram, isRTCP: true),
            let packets = try? RTCPPacket.parseCompound(UnsafeRawBufferPointer(rebasing: datagram[..<count]).bytes)
        else { return }
        inbox.handleRTCP(UnsafeRawBufferPointer(rebasing: datagram[..<count]).bytes, now: executor.now)
        sendFeedback()
        for packet in packets {
            switch packet {
            case .pictureLossIndication(let request):
                keyFrameRequests += 1
                senders.values.first { $0.ssrc == request.mediaSSRC }?.needsKeyFrame = true
            case .fullIntraRequest(let request):
                keyFrameRequests += 1
                for entry in request.entries { senders.values.first { $0.ssrc == entry.ssrc }?.needsKeyFrame = true }
            case .receiverReport: receiverReports += 1
            case .transportFeedback: transportFeedbacks += 1
            default: break
            }
        }
    }

    private func sendHandshake(_ datagram: UnsafeRawBufferPointer) -> Bool {
        guard let ice, !isMute else { return true }
        if options.holdsLastFlight, !isConnected, Self.changesCipher(datagram) {
            heldFlight.append(Array(datagram))
            return true
        }
        return ice.send(datagram)
    }

    /// A record of type change_cipher_spec, or one of the epoch after it.
    private static func changesCipher(_ datagram: UnsafeRawBufferPointer) -> Bool {
        var offset = 0
        while offset + 13 <= datagram.count {
            if datagram[offset] == 20 || datagram[offset + 4] != 0 { return true }
            offset += 13 + Int(datagram[offset + 11]) << 8 + Int(datagram[offset + 12])
        }
        return false
    }

    private func secured(_ keys: SRTPKeys) {
        srtp = try? SRTPSession(keys: keys)
        if let frame = options.earlyFrame {
            for mid in senders.keys.sorted() where senders[mid]?.kind == .video { sendVideo(mid: mid, frame) }
        }
        isConnected = true
        for datagram in heldFlight { _ = datagram.withUnsafeBytes { ice?.send($0) } }
        heldFlight = []
        startData()
    }

    // MARK: Data

    private func startData() {
        let association = try? SCTPAssociation { [weak self] packet in
            guard let self, !self.isMute else { return true }
            return self.dtls?.send(packet) ?? false
        }
        guard let association else { return }
        sctp = association
        association.onUp = { [weak self] in
            guard let self else { return }
            self.channels.associationUp(into: &self.outputs)
            self.drain()
        }
        association.onMessage = { [weak self] stream, ppid, bytes in
            guard let self else { return }
            self.channels.handleMessage(stream: stream, ppid: ppid, bytes: bytes.bytes, into: &self.outputs)
            self.drain()
        }
        association.onStreamReset = { [weak self] streams in
            guard let self else { return }
            self.channels.handleIncomingReset(streams: streams, into: &self.outputs)
            self.drain()
        }
        association.onDown = { [weak self] error in
            guard let self else { return }
            if self.failure == nil { self.failure = error }
            self.channels.associationClosed(into: &self.outputs)
            self.drain()
        }
        association.onBufferedBytes = { [weak self] _ in self?.flush() }
        association.connect()
        rearm()
    }

    private func drain() {
        flush()
        while !outputs.events.isEmpty || !outputs.resets.isEmpty {
            let (events, resets) = (outputs.events, outputs.resets)
            outputs.events.removeAll()
            outputs.resets.removeAll()
            if !resets.isEmpty { sctp?.resetStreams(resets) }
            for event in events { handle(event) }
            flush()
        }
        rearm()
    }

    private func flush() {
        pendingSends += outputs.sends
        outputs.sends.removeAll()
        guard !isFlushing else { return }
        isFlushing = true
        defer { isFlushing = false }
        while let next = pendingSends.first, let sctp {
            let result = next.bytes.withUnsafeBytes {
                sctp.send(stream: next.stream, ppid: next.ppid, ordered: next.isOrdered, reliability: .reliable, bytes: $0)
            }
            if result == .wouldBlock { return }
            pendingSends.removeFirst()
        }
    }

    private func handle(_ event: DataChannelEvent) {
        switch event {
        case .opened(let id, let label):
            channelIDs[label] = id
            labels[id] = label
            openedLabels.append(label)
        case .message(let id, let isText, let bytes):
            guard let label = labels[id] else { return }
            let message = Message(channel: label, isText: isText, bytes: bytes)
            messages.append(message)
            for reply in options.respond?(message) ?? [] { send(reply) }
        case .closed(let id):
            guard let label = labels[id] else { return }
            channelIDs[label] = nil
            closedLabels.append(label)
        case .violated:
            break
        }
    }

    /// False when the channel is not there or the message is too large for the other end.
    @discardableResult
    package func send(_ message: Message) -> Bool {
        guard let id = channelIDs[message.channel] else { return false }
        do {
            try channels.send(id, bytes: message.bytes, isText: message.isText, into: &outputs)
        } catch {
            return false
        }
        drain()
        return true
    }

    /// Sends one SCTP message as it is, past framing and limits.
    package func sendRaw(_ bytes: [UInt8], ppid: UInt32 = 53, channel: String) {
        guard let id = channelIDs[channel] else { return }
        outputs.sends.append(
            SCTPSend(stream: id.stream, ppid: ppid, isOrdered: true, reliability: .reliable, bytes: bytes))
        drain()
    }

    package func closeChannel(_ label: String) {
        guard let id = channelIDs[label] else { return }
        channels.close(id, into: &outputs)
        drain()
    }

    // MARK: Media

    package func sendVideo(mid: String, _ frame: EncodedFrame, metadata: FrameMetadata? = nil) {
        guard let sender = senders[mid] else { return }
        for packet in sender.packets(of: frame, metadata: metadata) { sendRTP(packet) }
    }

    package func sendAudio(mid: String, _ packet: [UInt8], samples: Int = 960) {
        guard let sender = senders[mid] else { return }
        sendRTP(sender.packet(audio: packet, samples: samples))
    }

    /// Frames of `video` every so many milliseconds until stopped; a request for a key frame is answered by the next.
    package func startVideo(mid: String, _ video: TestVideo, everyMilliseconds: Int64 = 33) {
        tick(mid: mid, everyMilliseconds: everyMilliseconds) { core in
            guard let sender = core.senders[mid] else { return }
            let forced = sender.needsKeyFrame
            sender.needsKeyFrame = false
            if let (frame, metadata) = video.next(forceKeyFrame: forced) { core.sendVideo(mid: mid, frame, metadata: metadata) }
        }
    }

    package func startAudio(mid: String, _ tone: TestTone) {
        tick(mid: mid, everyMilliseconds: 20) { core in
            if let packet = tone.next() { core.sendAudio(mid: mid, packet) }
        }
    }

    package func stopMedia(mid: String) { mediaTimers.removeValue(forKey: mid)?.cancel() }

    package func isSending(mid: String) -> Bool { mediaTimers[mid] != nil }

    private func tick(mid: String, everyMilliseconds: Int64, _ body: @escaping (AnsweringCore) -> Void) {
        stopMedia(mid: mid)
        var due = executor.now
        let timer = executor.makeTimer { [weak self] in
            guard let self else { return }
            body(self)
            due = due.adding(milliseconds: everyMilliseconds)
            self.mediaTimers[mid]?.set(deadline: due)
        }
        mediaTimers[mid] = timer
        timer.set(deadline: due)
    }

    private func sendRTP(_ packet: [UInt8]) { send(packet, isRTCP: false) }

    private func send(_ packet: [UInt8], isRTCP: Bool) {
        guard let srtp, let ice, !isMute else { return }
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: packet.count + 64, alignment: 16)
        defer { scratch.deallocate() }
        scratch.copyBytes(from: packet)
        guard let count = srtp.protect(scratch, count: packet.count, isRTCP: isRTCP) else { return }
        _ = ice.send(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
    }

    // MARK: Ends

    /// Says close_notify and stays otherwise.
    package func sayGoodbye() {
        dtls?.close()
        dtls = nil
    }

    package func abortAssociation() { sctp?.close() }

    /// Hears and says nothing any more, except the connectivity checks that ICE answers by itself.
    package func goSilent() { isMute = true }
    package func speakAgain() { isMute = false }

    /// Closes the sockets without a word.
    package func vanish(completion: @escaping () -> Void = {}) {
        isMute = true
        close(completion: completion)
    }

    package func close(completion: @escaping () -> Void = {}) {
        for timer in mediaTimers.values { timer.cancel() }
        mediaTimers = [:]
        timer?.cancel()
        timer = nil
        sctp?.close()
        sctp = nil
        dtls?.close()
        dtls = nil
        srtp = nil
        guard let ice else { return completion() }
        self.ice = nil
        ice.close(completion: completion)
    }

    // MARK: Time

    private func timerFired() {
        let now = executor.now
        if let deadline = dtls?.nextDeadline, deadline <= now { dtls?.handleTimeout(now: now) }
        if let deadline = SCTPStack.shared.nextDeadline, deadline <= now { SCTPStack.shared.tick(now: now) }
        inbox.handleTimeout(now: now)
        sendFeedback()
    }

    private func rearm() {
        let deadlines = [dtls?.nextDeadline, srtp == nil ? nil : inbox.nextDeadline, sctp == nil ? nil : SCTPStack.shared.nextDeadline]
            .compactMap(\.self)
        timer?.set(deadline: deadlines.min())
    }
}
