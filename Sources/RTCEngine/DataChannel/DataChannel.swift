// What `DataChannelMachine` keeps of one channel: its properties, its state, and the message that is being put together
// or cut for it. RFC 8831 §6.6 (empty messages), §8 (partial messages), shared wire protocol §5.8 (chunked framing).

import RTCBase
import RTCWire

/// One channel that is not closed yet. `DataChannelMachine` decides; this keeps its parts together.
struct DataChannel: Sendable {
    let id: ChannelID
    let label: String
    let protocolName: String
    let isOrdered: Bool
    let reliability: ChannelReliability
    var state: ChannelState
    /// Set when this channel's messages are chunked.
    let chunking: ChunkLimits?
    private var assembler: ChunkAssembler?
    /// Until the peer confirmed the channel, data goes ordered so that it cannot overtake the OPEN (RFC 8832 §6).
    var isAcknowledged = false
    /// Sent before the association was up.
    var queue: [QueuedMessage] = []
    private var partial = PartialMessage()
    /// Bytes that came of an unfinished message.
    private var unfinishedBytes = 0

    init(
        id: ChannelID, label: String, protocolName: String, isOrdered: Bool, reliability: ChannelReliability,
        state: ChannelState, chunking: ChunkLimits?
    ) {
        self.id = id
        self.label = label
        self.protocolName = protocolName
        self.isOrdered = isOrdered
        self.reliability = reliability
        self.state = state
        self.chunking = isOrdered && reliability == .reliable ? chunking : nil
        assembler = self.chunking.map { ChunkAssembler(maxMessageBytes: $0.ownMaxBytes) }
    }

    /// What is kept of an unfinished message; a message over the limit is only being skipped.
    var pendingBytes: Int {
        unfinishedBytes <= (chunking?.ownMaxBytes ?? PartialMessage.maxBytes) ? unfinishedBytes : 0
    }

    var queuedBytes: Int { queue.reduce(0) { $0 + $1.bytes.count } }

    func isLocal(parity: UInt16) -> Bool { id.stream % 2 == parity }

    mutating func beginClosing() {
        state = .closing
        unfinishedBytes = 0
        partial = PartialMessage()
        assembler = chunking.map { ChunkAssembler(maxMessageBytes: $0.ownMaxBytes) }
    }

    /// The message that this part completes. A throw is a violation of the chunked framing, which ends the channel.
    mutating func receive(
        isText: Bool, isLast: Bool, bytes: RawSpan, drops: inout DropCounters
    ) throws(WireError) -> (isText: Bool, bytes: [UInt8])? {
        let isUnfinished = assembler == nil ? !isLast : bytes.byteCount > 0 && bytes.uint8(at: 0) & ChunkFraming.more != 0
        unfinishedBytes = isUnfinished ? unfinishedBytes + bytes.byteCount : 0
        guard let discardedBefore = assembler?.discardedMessages else {
            return partial.append(bytes, isText: isText, isLast: isLast, drops: &drops)
        }
        let message = try assembler?.receive(bytes, isText: isText)
        drops.count(.messageTooLarge, by: (assembler?.discardedMessages ?? discardedBefore) - discardedBefore)
        return message
    }

    func appendOutgoing(_ message: QueuedMessage, maxFrameBytes: Int, to sends: inout [SCTPSend]) {
        guard chunking != nil else {
            let isEmpty = message.bytes.isEmpty
            let kind: PayloadProtocol = message.isText ? (isEmpty ? .textEmpty : .text) : (isEmpty ? .binaryEmpty : .binary)
            return sends.append(outgoing(isEmpty ? [0] : message.bytes, kind))
        }
        let frameBytes = min(ChunkFraming.frameBytes, max(maxFrameBytes, 2))
        for frame in ChunkSplitter.frames(of: message.bytes.span.bytes, isText: message.isText, frameBytes: frameBytes) {
            sends.append(outgoing(frame, .binary))
        }
    }

    func outgoing(_ bytes: [UInt8], _ kind: PayloadProtocol) -> SCTPSend {
        SCTPSend(
            stream: id.stream, ppid: kind.rawValue, isOrdered: isOrdered || !isAcknowledged, reliability: reliability, bytes: bytes)
    }
}

enum ChannelState: Sendable {
    /// The association is not up: nothing was sent.
    case waiting
    /// OPEN sent, not confirmed.
    case opening
    case open
    /// Our stream is reset, the peer's not yet.
    case closing
}

struct QueuedMessage: Sendable {
    var bytes: [UInt8]
    var isText: Bool
}

/// Old senders cut messages themselves: deprecated payload kinds for all parts but the last (RFC 8831 §8).
private struct PartialMessage: Sendable {
    private var isOpen = false
    private var isText = false
    private var isTooLarge = false
    private var bytes: [UInt8] = []

    mutating func append(
        _ part: RawSpan, isText: Bool, isLast: Bool, drops: inout DropCounters
    ) -> (isText: Bool, bytes: [UInt8])? {
        if isOpen, self.isText != isText {
            // The unfinished message is lost; this part begins another.
            drops.count(.malformedDataChannel)
            self = PartialMessage()
        }
        guard isOpen || !isLast else { return (isText, part.copy()) }
        isOpen = true
        self.isText = isText
        if isTooLarge || bytes.count + part.byteCount > Self.maxBytes {
            isTooLarge = true
            bytes = []
        } else {
            part.withUnsafeBytes { bytes.append(contentsOf: $0) }
        }
        guard isLast else { return nil }
        defer { self = PartialMessage() }
        guard !isTooLarge else {
            drops.count(.messageTooLarge)
            return nil
        }
        return (isText, bytes)
    }

    /// What we announce as our own `max-message-size`.
    static let maxBytes = 262_144
}
