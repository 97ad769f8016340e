internal import RTCBase
internal import RTCEngine
internal import RTCTransport
internal import RTCWire

// SCTP under the data channels, and the two framings of a message (wire protocol §5).
extension PeerCore {
    func startDataChannels(_ session: NegotiatedSession) {
        channels = DataChannelMachine(
            isDTLSClient: session.isDTLSClient,
            maxOutgoingMessageBytes: min(session.maxMessageBytes, SCTPAssociation.maxMessageBytes),
            chunking: session.chunkingPeerMaxBytes.map {
                ChunkLimits(
                    ownMaxBytes: configuration.chunkingMaxMessageBytes ?? configuration.maxIncomingMessageBytes, peerMaxBytes: $0)
            })
        let association: SCTPAssociation
        do throws(TransportError) {
            association = try SCTPAssociation(
                localPort: 5000, remotePort: UInt16(clamping: session.sctpPort),
                maxIncomingMessageBytes: configuration.maxIncomingMessageBytes
            ) { [weak self] packet in
                guard let self, let dtls = self.dtls else { return false }
                return dtls.send(packet)
            }
        } catch {
            return lose(PeerLoss(.transport, error.message))
        }
        sctp = association
        SCTPClock.shared.start(executor)
        association.onBufferedBytes = { [weak self] _ in self?.pumpOutboxes() }
        association.onUp = { [weak self] in
            guard let self else { return }
            self.channels?.associationUp(into: &self.channelOutputs)
            self.pumpOutboxes()
            // Our OPENs are on their way and data may follow them at once (RFC 8832 §6): waiting for the ACKs would
            // cost a round trip and tell nothing more.
            for label in self.configuration.channels { self.markOpen(label) }
        }
        association.onMessage = { [weak self] stream, ppid, bytes in
            guard let self else { return }
            self.channels?.handleMessage(stream: stream, ppid: ppid, bytes: bytes.bytes, into: &self.channelOutputs)
            self.drainChannels()
        }
        association.onStreamReset = { [weak self] streams in
            guard let self else { return }
            // An empty list means all streams (RFC 6525 §4.1).
            let affected = streams.isEmpty ? self.channelIDs.values.map(\.stream) : streams
            self.channels?.handleIncomingReset(streams: affected, into: &self.channelOutputs)
            self.drainChannels()
        }
        association.onDown = { [weak self] error in
            guard let self else { return }
            self.channels?.associationClosed(into: &self.channelOutputs)
            self.lose(PeerLoss(error.kind == .closedByPeer ? .closedByPeer : .transport, error.message))
        }
        for label in configuration.channels {
            guard let id = channels?.openChannel(label: label, into: &channelOutputs) else { continue }
            channelIDs[label] = id
            channelLabels[id] = label
        }
        // Right behind the OPENs: the runtime picks the codec of everything it sends from our first frame (§5.2).
        for message in configuration.firstMessages {
            try? send(message.bytes, isText: false, channel: message.channel)
        }
        association.connect()
        drainChannels()
    }

    /// Queues one message. Throws when it is larger than the peer takes; nothing is sent then.
    func send(_ bytes: [UInt8], isText: Bool, channel label: String) throws(PeerError) {
        guard !isClosed, let session, channels != nil, let id = channelIDs[label] else {
            throw PeerError(.invalidState, "the \(label) channel is not open")
        }
        let isChunked = session.chunkingPeerMaxBytes != nil
        // What is one SCTP message must also fit into our own association: DC-04, a typed error and not a silent drop.
        let frameLimit = min(session.maxMessageBytes, SCTPAssociation.maxMessageBytes)
        let limit = session.chunkingPeerMaxBytes.map { min($0, configuration.chunkingMaxMessageBytes ?? $0) } ?? frameLimit
        guard bytes.count <= limit else { throw PeerError(.messageTooLarge, Self.tooLarge(bytes.count, limit)) }
        let newOutbox = MessageOutbox(isChunked: isChunked, frameBytes: frameLimit)
        guard outboxes[id, default: newOutbox].append(bytes, isText: isText) else {
            throw PeerError(
                .backpressure, "messages are sent faster than the server takes them; wait for replies before sending more")
        }
        pumpOutboxes()
    }

    var unacknowledgedBytes: Int {
        guard !isClosed, !isLost, let sctp, sctp.isUp else { return 0 }
        return sctp.bufferedBytes + outboxes.values.reduce(0) { $0 + $1.waitingBytes } + stalledSends.reduce(0) { $0 + $1.bytes.count }
    }

    /// Moves frames from the outboxes into SCTP while that has room, a frame of each channel in turn, so that a large
    /// message on one channel does not hold up the other.
    func pumpOutboxes() {
        guard !isClosed, !isPumping, sctp?.isUp == true else { return }
        isPumping = true
        defer { isPumping = false }
        var movedSomething = true
        while movedSomething, let sctp, stalledSends.isEmpty, sctp.bufferedBytes < Self.sendAheadBytes {
            movedSomething = false
            for id in Array(outboxes.keys) {
                guard let frame = outboxes[id]?.nextFrame() else { continue }
                movedSomething = true
                do throws(DataChannelError) {
                    try channels?.sendFrame(id, bytes: frame.bytes, isText: frame.isText, into: &channelOutputs)
                } catch {
                    drops.count(.sendFailed)
                    outboxes[id] = nil
                }
            }
            flushSends()
        }
        drainChannels()
    }

    /// Hands SCTP what the channel machine wants sent, in order; what does not fit waits for `onBufferedBytes`.
    private func flushSends() {
        stalledSends.append(contentsOf: channelOutputs.sends)
        channelOutputs.sends.removeAll(keepingCapacity: true)
        // What sending brings about may come back here: its messages wait their turn behind these.
        guard !isFlushing else { return }
        isFlushing = true
        defer { isFlushing = false }
        var sent = 0
        sending: while sent < stalledSends.count {
            guard let sctp else { break }
            let message = stalledSends[sent]
            let result = message.bytes.withUnsafeBytes { bytes in
                sctp.send(
                    stream: message.stream, ppid: message.ppid, ordered: message.isOrdered,
                    reliability: SCTPAssociation.Reliability(message.reliability), bytes: bytes)
            }
            switch result {
            case .sent: sent += 1
            case .wouldBlock: break sending
            case .failed:
                drops.count(.sendFailed)
                sent += 1
            }
        }
        stalledSends.removeFirst(sent)
    }

    private static func tooLarge(_ count: Int, _ limit: Int) -> String {
        "the message has \(count) bytes, the server takes at most \(limit): send less, or upload the data and pass a file"
    }

    func drainChannels() {
        // Delivering an event may send; outputs are swapped out so that a nested drain works on its own batch.
        while channelOutputs.hasWork, !isClosed {
            flushSends()
            var batch = DataChannelMachine.Outputs()
            swap(&batch, &channelOutputs)
            drops.merge(batch.drops)
            if !batch.resets.isEmpty { sctp?.resetStreams(batch.resets) }
            for event in batch.events { handle(event) }
        }
        rearm()
    }

    private func handle(_ event: DataChannelEvent) {
        switch event {
        case .opened(let id, let label):
            if channelLabels[id] == nil {
                // The peer opened it. Two channels of one name are told apart by nobody: what is sent goes to the first.
                channelLabels[id] = label
                if channelIDs[label] == nil { channelIDs[label] = id }
            }
            markOpen(label)
        case .message(let id, let isText, let bytes):
            guard let label = channelLabels[id] else { return drops.count(.unknownChannel) }
            onEvent?(.message(channel: label, isText: isText, bytes: bytes))
        case .violated(let id):
            // The other implementation closes that channel, and a session without it is over (wire protocol §12, 31).
            let label = channelLabels[id] ?? "data"
            lose(PeerLoss(.transport, "the \(label) channel broke its message framing"))
        case .closed(let id):
            guard let label = channelLabels.removeValue(forKey: id) else { return }
            outboxes[id] = nil
            if channelIDs[label] == id { channelIDs[label] = channelLabels.first { $0.value == label }?.key }
            guard channelIDs[label] == nil else { return }
            // From here a call on this channel is refused; it would wait for a reply that cannot come.
            openChannels.remove(label)
            onEvent?(.channelClosed(label))
            if openChannels.isEmpty, configuration.endsWithLastChannel {
                lose(PeerLoss(.closedByPeer, "the server closed the data channels"))
            }
        }
    }

    private func markOpen(_ label: String) {
        guard !isClosed, openChannels.insert(label).inserted else { return }
        onEvent?(.channelOpened(label))
    }
}

extension PeerCore {
    /// How much is handed to SCTP ahead of the peer's acknowledgements; the rest waits in the outboxes.
    private static var sendAheadBytes: Int { 1 << 20 }
}

extension DataChannelMachine.Outputs {
    var hasWork: Bool { !sends.isEmpty || !resets.isEmpty || !events.isEmpty }
}

extension SCTPAssociation.Reliability {
    init(_ reliability: ChannelReliability) {
        switch reliability {
        case .reliable: self = .reliable
        case .maxRetransmits(let count): self = .maxRetransmits(count)
        case .maxLifetimeMilliseconds(let limit): self = .maxLifetimeMilliseconds(limit)
        }
    }
}
