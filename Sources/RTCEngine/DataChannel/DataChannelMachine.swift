// Data channels over one SCTP association: stream ids, the establishment protocol, message kinds and closing.
// In go what the app wants and what the association delivered; out come SCTP messages, stream resets and events.
// RFC 8831 §6 (ids, messages, closing), RFC 8832 (OPEN and ACK), RFC 6525 (reset), and the chunked framing of the
// shared wire protocol §5.8 on reliable ordered channels when both sides declared it. Left out: the association
// itself (the shell owns it, with its queue and back-pressure), channels negotiated out of band, priorities.

package import RTCBase
package import RTCWire

/// The channels of one connection. Pure: what it wants done is appended to `Outputs`.
package struct DataChannelMachine: Sendable {
    /// What the far end is to receive, and what the app is to know. Reused by the caller.
    package struct Outputs: Sendable {
        package var sends: [SCTPSend] = []
        /// Outgoing streams to reset, after everything in `sends` went out.
        package var resets: [UInt16] = []
        package var events: [DataChannelEvent] = []
        /// Counts up over the life of the value.
        package var drops = DropCounters()

        package init() {}

        /// Empties the lists, keeps their memory and the counts.
        package mutating func removeAll() {
            sends.removeAll(keepingCapacity: true)
            resets.removeAll(keepingCapacity: true)
            events.removeAll(keepingCapacity: true)
        }
    }

    /// The smallest stream id of ours: even for the DTLS client, odd for the server (RFC 8832 §6).
    private let localParity: UInt16
    /// The peer's `max-message-size`.
    private let maxOutgoingMessageBytes: Int
    /// Nil when chunking was not agreed on.
    private let chunking: ChunkLimits?
    private var association = AssociationState.connecting
    /// Every channel that is not closed yet, by its stream.
    private var channels: [UInt16: DataChannel] = [:]
    /// The next stream of ours that was never used; ids come back only when the association ends, so a late
    /// message of a closed channel never reaches a new one.
    private var nextStream: Int
    /// Tells channels on the same stream number apart for holders of an old id.
    private var generation: UInt32 = 0

    package init(isDTLSClient: Bool, maxOutgoingMessageBytes: Int, chunking: ChunkLimits? = nil) {
        localParity = isDTLSClient ? 0 : 1
        nextStream = Int(localParity)
        self.maxOutgoingMessageBytes = max(1, maxOutgoingMessageBytes)
        self.chunking = chunking
    }

    package var openChannelCount: Int { channels.count }

    // MARK: The app's wishes

    /// A new channel, usable at once: what is sent before the association is up waits, bounded. Nil when the
    /// association has ended or no stream id is left.
    package mutating func openChannel(
        label: String, protocolName: String = "", isOrdered: Bool = true, reliability: ChannelReliability = .reliable,
        into outputs: inout Outputs
    ) -> ChannelID? {
        guard association != .closed, nextStream <= Int(Self.highestStream), channels.count < Self.maxChannels,
            label.utf8.count <= Int(UInt16.max), protocolName.utf8.count <= Int(UInt16.max)
        else { return nil }
        let stream = UInt16(nextStream)
        nextStream += 2
        generation &+= 1
        let id = ChannelID(stream: stream, generation: generation)
        var channel = DataChannel(
            id: id, label: label, protocolName: protocolName, isOrdered: isOrdered, reliability: reliability, state: .waiting,
            chunking: chunking)
        if association == .up {
            sendOpen(&channel, into: &outputs)
        }
        channels[stream] = channel
        return id
    }

    package mutating func send(
        _ id: ChannelID, bytes: [UInt8], isText: Bool, into outputs: inout Outputs
    ) throws(DataChannelError) {
        guard let channel = channels[id.stream], channel.id == id, channel.state != .closing else { throw .notOpen }
        let limit = channel.chunking.map { min($0.ownMaxBytes, $0.peerMaxBytes) } ?? maxOutgoingMessageBytes
        guard bytes.count <= limit else { throw .messageTooLarge(limitBytes: limit) }
        let message = QueuedMessage(bytes: bytes, isText: isText)
        if channel.state == .waiting {
            guard channel.queue.count < Self.maxQueuedMessages, channel.queuedBytes + bytes.count <= Self.maxQueuedBytes else {
                throw .queueFull
            }
            channels[id.stream]?.queue.append(message)
        } else {
            channel.appendOutgoing(message, maxFrameBytes: maxOutgoingMessageBytes, to: &outputs.sends)
        }
    }

    /// Sends a frame that the caller has cut and headed itself (shared wire protocol §5.8), for messages that leave piece
    /// by piece. Only once the association is up; on a channel without chunking it is a whole message.
    package mutating func sendFrame(
        _ id: ChannelID, bytes: [UInt8], isText: Bool, into outputs: inout Outputs
    ) throws(DataChannelError) {
        guard let channel = channels[id.stream], channel.id == id, channel.state == .opening || channel.state == .open else {
            throw .notOpen
        }
        guard channel.chunking != nil else { return try send(id, bytes: bytes, isText: isText, into: &outputs) }
        guard bytes.count <= maxOutgoingMessageBytes else { throw .messageTooLarge(limitBytes: maxOutgoingMessageBytes) }
        outputs.sends.append(channel.outgoing(bytes, .binary))
    }

    /// Starts the closing procedure: our outgoing stream is reset, `closed` follows when the peer reset its own
    /// (RFC 8831 §6.7). A channel the peer never heard of closes at once.
    package mutating func close(_ id: ChannelID, into outputs: inout Outputs) {
        guard let channel = channels[id.stream], channel.id == id else { return }
        switch channel.state {
        case .waiting:
            channels[id.stream] = nil
            outputs.events.append(.closed(id))
        case .opening, .open:
            channels[id.stream]?.beginClosing()
            outputs.resets.append(id.stream)
        case .closing:
            break
        }
    }

    // MARK: What the association reports

    /// The association is up: channels opened earlier are announced in the order of their creation.
    package mutating func associationUp(into outputs: inout Outputs) {
        guard association == .connecting else { return }
        association = .up
        for stream in channels.values.filter({ $0.state == .waiting }).map(\.id).sorted(by: { $0.generation < $1.generation }).map(\.stream)
        {
            guard var channel = channels[stream] else { continue }
            sendOpen(&channel, into: &outputs)
            channels[stream] = channel
        }
    }

    /// The association has ended, for whatever reason: every channel is closed, none can be opened.
    package mutating func associationClosed(into outputs: inout Outputs) {
        guard association != .closed else { return }
        association = .closed
        for id in channels.values.map(\.id).sorted(by: { $0.generation < $1.generation }) {
            outputs.events.append(.closed(id))
        }
        channels.removeAll()
    }

    /// One whole SCTP user message.
    package mutating func handleMessage(stream: UInt16, ppid: UInt32, bytes: RawSpan, into outputs: inout Outputs) {
        guard association != .closed else { return outputs.drops.count(.staleGeneration) }
        switch PayloadProtocol(rawValue: ppid) {
        case .control: handleControl(stream: stream, bytes: bytes, into: &outputs)
        case .text: handleData(stream: stream, isText: true, isLast: true, bytes: bytes, into: &outputs)
        case .binary: handleData(stream: stream, isText: false, isLast: true, bytes: bytes, into: &outputs)
        case .textPartial: handleData(stream: stream, isText: true, isLast: false, bytes: bytes, into: &outputs)
        case .binaryPartial: handleData(stream: stream, isText: false, isLast: false, bytes: bytes, into: &outputs)
        // The octet that an empty message needs on the wire is not part of it (RFC 8831 §6.6).
        case .textEmpty: handleData(stream: stream, isText: true, isLast: true, bytes: RawSpan(), into: &outputs)
        case .binaryEmpty: handleData(stream: stream, isText: false, isLast: true, bytes: RawSpan(), into: &outputs)
        case nil: outputs.drops.count(.malformedDataChannel)
        }
    }

    /// The peer reset these outgoing streams of its own; an empty list means all of them (RFC 6525 §4.1).
    package mutating func handleIncomingReset(streams: [UInt16], into outputs: inout Outputs) {
        for stream in streams.isEmpty ? channels.keys.sorted() : streams {
            guard let channel = channels[stream], channel.state != .waiting else { continue }
            if channel.state != .closing { outputs.resets.append(stream) }
            channels[stream] = nil
            outputs.events.append(.closed(channel.id))
        }
    }

    // MARK: Establishment (RFC 8832)

    private func sendOpen(_ channel: inout DataChannel, into outputs: inout Outputs) {
        let open = DCEPMessage.open(
            label: channel.label, protocolName: channel.protocolName, isOrdered: channel.isOrdered, reliability: channel.reliability)
        outputs.sends.append(.control(stream: channel.id.stream, bytes: open.bytes))
        channel.state = .opening
        for message in channel.queue {
            channel.appendOutgoing(message, maxFrameBytes: maxOutgoingMessageBytes, to: &outputs.sends)
        }
        channel.queue = []
    }

    private mutating func handleControl(stream: UInt16, bytes: RawSpan, into outputs: inout Outputs) {
        let message: DCEPMessage
        do { message = try DCEPMessage(parsing: bytes) } catch {
            outputs.drops.count(.malformedDataChannel)
            return refuse(stream, into: &outputs)
        }
        switch message {
        case .open(let channelType, _, let reliability, let label, let protocolName):
            handleOpen(
                stream: stream, channelType: channelType, parameter: reliability, label: label, protocolName: protocolName,
                into: &outputs)
        case .acknowledge:
            guard let channel = channels[stream], channel.isLocal(parity: localParity) else {
                return outputs.drops.count(.unknownChannel)
            }
            channels[stream]?.isAcknowledged = true
            confirmOpen(stream, into: &outputs)
        }
    }

    private mutating func handleOpen(
        stream: UInt16, channelType: UInt8, parameter: UInt32, label: String, protocolName: String,
        into outputs: inout Outputs
    ) {
        // RFC 8832 §6: an unused stream, of the peer's parity, with valid parameters; anything else closes the
        // channel on that stream and is not acknowledged.
        guard stream <= Self.highestStream, stream % 2 != localParity, channels[stream] == nil, channels.count < Self.maxChannels
        else {
            outputs.drops.count(.malformedDataChannel)
            return refuse(stream, into: &outputs)
        }
        let (isOrdered, reliability) = DCEPMessage.properties(channelType: channelType, reliability: parameter)
        generation &+= 1
        let id = ChannelID(stream: stream, generation: generation)
        var channel = DataChannel(
            id: id, label: label, protocolName: protocolName, isOrdered: isOrdered, reliability: reliability, state: .open,
            chunking: chunking)
        channel.isAcknowledged = true
        channels[stream] = channel
        outputs.sends.append(.control(stream: stream, bytes: DCEPMessage.acknowledge.bytes))
        outputs.events.append(.opened(id, label: label))
    }

    /// Resets one stream after a protocol error on it; a channel that lived there is closed, the others live on.
    private mutating func refuse(_ stream: UInt16, into outputs: inout Outputs) {
        guard stream <= Self.highestStream else { return }
        if let channel = channels[stream] {
            guard channel.state == .opening || channel.state == .open else { return }
            channels[stream]?.beginClosing()
        }
        outputs.resets.append(stream)
    }

    private mutating func confirmOpen(_ stream: UInt16, into outputs: inout Outputs) {
        guard let channel = channels[stream], channel.state == .opening else { return }
        channels[stream]?.state = .open
        outputs.events.append(.opened(channel.id, label: channel.label))
    }

    // MARK: Data

    private mutating func handleData(
        stream: UInt16, isText: Bool, isLast: Bool, bytes: RawSpan, into outputs: inout Outputs
    ) {
        // No copy of the channel is held here: its buffers grow in place.
        guard let id = channels[stream]?.id, let state = channels[stream]?.state, state == .opening || state == .open else {
            return outputs.drops.count(.unknownChannel)
        }
        // Data can overtake the acknowledgement on an unordered channel: it proves that the peer knows the channel.
        confirmOpen(stream, into: &outputs)
        guard pendingBytes + bytes.byteCount <= 2 * (chunking?.ownMaxBytes ?? 0) + Self.maxPendingBytes else {
            outputs.drops.count(.messageTooLarge)
            return refuse(stream, into: &outputs)
        }
        do {
            guard let message = try channels[stream]?.receive(isText: isText, isLast: isLast, bytes: bytes, drops: &outputs.drops)
            else { return }
            outputs.events.append(.message(id, isText: message.isText, bytes: message.bytes))
        } catch {
            outputs.drops.count(.malformedDataChannel)
            outputs.events.append(.violated(id))
            refuse(stream, into: &outputs)
        }
    }

    /// Unfinished messages of all channels together: many channels must not hold what one may not.
    private var pendingBytes: Int { channels.values.reduce(0) { $0 + $1.pendingBytes } }

    /// 65535 is reserved (RFC 8831 §6.5).
    private static let highestStream: UInt16 = 65_534
    /// Far more than the two a session needs; a peer cannot make us keep more.
    private static let maxChannels = 1024
    /// While the association is not up: enough for the first requests of an app.
    private static let maxQueuedMessages = 256
    private static let maxQueuedBytes = 1 << 20
    /// On top of two chunked messages of the largest size, one for each channel that a session has.
    private static let maxPendingBytes = 4 << 20
}

private enum AssociationState: Sendable { case connecting, up, closed }
