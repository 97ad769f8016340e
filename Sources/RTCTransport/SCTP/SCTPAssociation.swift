import CUsrSCTP
import Glibc
package import RTCBase

// The data step of a connection: one SCTP association over DTLS records (RFC 8261, RFC 8831 §5).
//
// In: packets from DTLS, messages to send, stream resets, the stack's ticks. Out: packets for DTLS, whole messages, resets of the
// peer, one end. Data channels (RFC 8832) are above and know nothing of this. Both ends connect (simultaneous open, RFC 9260
// §5.2). Left out: multihoming, path MTU discovery, message interleaving (the library has none), zero checksum.
//
// Callbacks come after the library has returned, from within the call that caused them, and may call anything here.

/// One SCTP association. Network thread only.
package final class SCTPAssociation {
    /// How hard a message is tried (RFC 3758, RFC 7496).
    package enum Reliability: Sendable, Hashable {
        case reliable
        case maxRetransmits(UInt16)
        case maxLifetimeMilliseconds(UInt16)
    }

    package enum SendResult: Sendable, Hashable {
        /// Accepted; it may still wait in a queue of ours.
        case sent
        /// No room now. `onBufferedBytes` tells when there is.
        case wouldBlock
        /// Never sendable: empty, longer than `maxMessageBytes`, a stream that does not exist, or the association has ended.
        case failed
    }

    private enum State { case idle, connecting, up, down }

    /// The association is up; messages sent before are on their way.
    package var onUp: () -> Void = {}
    /// A whole message: stream, PPID, bytes valid during the call.
    package var onMessage: (UInt16, UInt32, UnsafeRawBufferPointer) -> Void = { _, _, _ in }
    /// Streams the peer has reset towards us; empty means all (RFC 6525 §4.1).
    package var onStreamReset: ([UInt16]) -> Void = { _ in }
    /// Our resets that the peer has carried out; the stream may be used again once both directions are reset.
    package var onOutgoingStreamReset: ([UInt16]) -> Void = { _ in }
    /// `bufferedBytes` has fallen.
    package var onBufferedBytes: (Int) -> Void = { _ in }
    /// Once, when the association ends other than by `close`.
    package var onDown: (TransportError) -> Void = { _ in }

    package private(set) var drops = DropCounters()

    private let stack: SCTPStack
    private var socket: OpaquePointer?
    private var id: UInt64 = 0
    private var state = State.idle
    private let localPort: UInt16
    private let remotePort: UInt16
    private let onSend: (UnsafeRawBufferPointer) -> Bool
    private let maxIncomingMessageBytes: Int
    private let stallNanoseconds: Int64

    /// Packets on their way down; also those the path refused.
    private var packets = PacketArena(capacityPackets: SCTPAssociation.packetLimit)
    private var sparePackets = PacketArena(capacityPackets: SCTPAssociation.packetLimit)
    private var isFlushing = false

    /// Messages the library had no room for, in order.
    private var queue = BoundedQueue<Outgoing>(capacity: SCTPAssociation.queueLimitMessages)
    private var queuedBytes = 0
    /// Queued messages of each stream that has some: its reset must wait for them.
    private var queuedPerStream: [UInt16: Int] = [:]
    /// Bytes in the library that the peer has not acknowledged.
    private var libraryBytes = 0
    private var reportedBytes = 0
    private var wantsPump = false

    private var waitingResets: [UInt16] = []
    /// Ticks for which ready resets have waited for the peer to acknowledge everything.
    private var resetTicks = 0
    private var refusedResets = 0
    private var resetGate = SCTPResetGate { packet in csctp_checksum(packet, packet.count) }

    /// Messages whose first parts have come, by stream and order. The library delivers long ones in parts.
    private var partial: [PartialKey: PartialMessage] = [:]
    private var partialBytes = 0

    private var progress = SCTPProgress()
    private var lastProgressCheck: MonotonicTime?

    /// - Parameters:
    ///   - mtu: the longest SCTP packet; the DTLS record around it has 37 bytes more.
    ///   - streamCount: streams each way. RFC 8831 §6.2 asks for 65535, which costs the library 7 MB for each association; with
    ///     1024 it is a tenth of one, and applications open a handful.
    ///   - maxIncomingMessageBytes: longer messages are dropped and counted.
    ///   - stallNanoseconds: how long data may be outstanding without any new acknowledgement.
    ///   - onSend: one packet, valid during the call; false when the path does not take it now, then it is offered again.
    package init(
        stack: SCTPStack = .shared, localPort: UInt16 = 5000, remotePort: UInt16 = 5000, mtu: Int = 1160, streamCount: UInt16 = 1024,
        maxIncomingMessageBytes: Int = 4 << 20, stallNanoseconds: Int64 = 15_000_000_000,
        onSend: @escaping (UnsafeRawBufferPointer) -> Bool
    ) throws(TransportError) {
        self.stack = stack
        self.localPort = localPort
        self.remotePort = remotePort
        self.onSend = onSend
        self.maxIncomingMessageBytes = maxIncomingMessageBytes
        self.stallNanoseconds = stallNanoseconds
        id = stack.register(self)
        var options = csctp_options()
        options.mtu = UInt32(clamping: max(600, mtu))
        options.send_buffer = UInt32(SCTPAssociation.bufferBytes)
        options.receive_buffer = UInt32(SCTPAssociation.bufferBytes)
        options.partial_delivery_point = 64 << 10
        options.streams = streamCount
        options.rto_initial_ms = SCTPAssociation.initialTimeoutMilliseconds
        options.rto_min_ms = 200
        options.rto_max_ms = 10_000
        options.delayed_ack_ms = 20
        options.heartbeat_ms = 1000
        let opened = csctp_open(id, &options)
        guard opened != nil else {
            let error = errno
            stack.unregister(id)
            throw TransportError(.sctpFailed, "no SCTP socket could be made (errno \(error))")
        }
        socket = opened
    }

    deinit {
        // Not closed by its owner: nothing may be called any more, but the library's side must go.
        guard let socket else { return }
        stack.enter { csctp_close(socket) }
        stack.unregister(id)
    }

    package var isUp: Bool { state == .up }
    /// Grows whenever the peer shows that it got something from us; while up, a second apart at most when nothing is lost.
    package var answers: UInt64 { progress.answers }

    /// Bytes accepted by `send` that the peer has not acknowledged.
    package var bufferedBytes: Int { queuedBytes + libraryBytes }

    /// The smoothed round trip of the path, from data or heartbeats about every second; nil before the first measurement.
    package var roundTripTimeNanoseconds: Int64? {
        var status = csctp_status()
        guard state == .up, let socket, csctp_read_status(socket, &status) == 0 else { return nil }
        if status.srtt_ms > 0 { return Int64(status.srtt_ms) * 1_000_000 }
        // The library keeps whole milliseconds. Zero is either no measurement yet or a path under one.
        return status.rto_ms == SCTPAssociation.initialTimeoutMilliseconds ? nil : 500_000
    }

    /// Sends INIT. The peer does the same.
    package func connect() {
        guard state == .idle, let socket else { return }
        state = .connecting
        let error = stack.enter { csctp_connect(socket, localPort, remotePort) }
        if error != 0 { fail(TransportError(.sctpFailed, "SCTP connect failed (errno \(error))")) }
    }

    /// One packet out of a DTLS record.
    package func receive(_ packet: UnsafeRawBufferPointer) {
        guard state == .connecting || state == .up else { return drops.count(.staleGeneration) }
        guard packet.count >= SCTPAssociation.leastPacketBytes else { return drops.count(.malformedDataChannel) }
        progress.noteReceived(packet)
        guard let rest = resetGate.noteReceived(packet).replacement else {
            return stack.enter { csctp_input(id, packet.baseAddress, packet.count) }
        }
        if !rest.isEmpty { stack.enter { csctp_input(id, rest, rest.count) } }
    }

    /// Asks the peer for a sign of life now; its answer comes as any packet does. The library's own heartbeats are a second
    /// apart and, unanswered, become rarer.
    package func requestHeartbeat() {
        guard state == .up, let socket else { return }
        _ = stack.enter { csctp_heartbeat(socket, remotePort) }
    }

    /// Sends one message. Before the association is up, and while the library is full, it waits in a bounded queue.
    package func send(
        stream: UInt16, ppid: UInt32, ordered: Bool, reliability: Reliability, bytes: UnsafeRawBufferPointer
    ) -> SendResult {
        guard state != .down, !bytes.isEmpty, bytes.count <= SCTPAssociation.maxMessageBytes else { return .failed }
        if state == .up, queue.isEmpty {
            switch transmit(stream, ppid, ordered, reliability, bytes) {
            case 0: return .sent
            case EAGAIN, ENOBUFS: break
            default: return .failed
            }
        }
        guard queuedBytes + bytes.count <= SCTPAssociation.queueLimitBytes else { return .wouldBlock }
        let outgoing = Outgoing(stream: stream, ppid: ppid, ordered: ordered, reliability: reliability, bytes: Array(bytes))
        guard queue.append(outgoing) else { return .wouldBlock }
        queuedBytes += bytes.count
        queuedPerStream[stream, default: 0] += 1
        reportedBytes = bufferedBytes
        return .sent
    }

    /// Resets our direction of streams, after what has been sent on them (RFC 6525 §5.1.2).
    package func resetStreams(_ streams: [UInt16]) {
        guard state != .down else { return }
        for stream in streams where !waitingResets.contains(stream) { waitingResets.append(stream) }
        startResets()
    }

    /// Aborts the association; the peer hears of it if the path is there. No callback follows.
    package func close() { release() }

    // MARK: From the stack

    var hasWork: Bool { wantsPump || !packets.isEmpty }

    /// A packet from within the library. False when there is no room: the library then keeps data and tries later.
    func enqueue(_ packet: UnsafeRawBufferPointer) -> Bool {
        resetGate.noteSent(packet)
        guard packets.append(packet) else {
            drops.count(.sendFailed)
            return false
        }
        return true
    }

    func noteFree(_ freeBytes: Int) {
        libraryBytes = max(0, SCTPAssociation.bufferBytes - freeBytes)
        wantsPump = true
    }

    /// Outside of the library: goes on with what waited for room and sends packets.
    func service() {
        if wantsPump {
            wantsPump = false
            pump()
        }
        if let request = resetGate.takeReady(), state == .up { stack.enter { csctp_input(id, request, request.count) } }
        flushPackets()
        reportBufferedBytes()
    }

    func handle(_ part: SCTPStack.MessagePart) {
        guard state != .down else { return }
        let bytes = UnsafeRawBufferPointer(start: part.bytes, count: part.count)
        let key = PartialKey(stream: part.stream, isUnordered: part.isUnordered)
        if part.isEnd, partial[key] == nil {
            guard part.count <= maxIncomingMessageBytes else { return drops.count(.messageTooLarge) }
            return onMessage(part.stream, part.ppid, bytes)
        }
        var message = partial.removeValue(forKey: key) ?? PartialMessage(ppid: part.ppid)
        partialBytes -= message.bytes.count
        // Two parallel long messages are all a peer of this library's kind makes; more than that is a peer filling memory.
        let fits =
            message.bytes.count + part.count <= maxIncomingMessageBytes
            && partialBytes + message.bytes.count + part.count <= 2 * maxIncomingMessageBytes
        if fits, !message.isDiscarded {
            message.bytes.append(contentsOf: bytes)
        } else {
            message.isDiscarded = true
            message.bytes = []
        }
        if !part.isEnd {
            partialBytes += message.bytes.count
            partial[key] = message
        } else if message.isDiscarded {
            drops.count(.messageTooLarge)
        } else {
            message.bytes.withUnsafeBytes { onMessage(part.stream, message.ppid, $0) }
        }
    }

    func handle(_ event: SCTPStack.Event) {
        guard state != .down else { return }
        switch event.kind {
        case CSCTP_UP:
            state = .up
            wantsPump = true
            onUp()
        case CSCTP_LOST:
            fail(
                progress.sawAbort
                    ? TransportError(.closedByPeer, "the peer aborted the SCTP association")
                    : TransportError(.sctpFailed, "the SCTP association was lost (error \(event.detail))"))
        case CSCTP_CANNOT_START: fail(TransportError(.sctpFailed, "no SCTP association with the peer (error \(event.detail))"))
        case CSCTP_RESTARTED: fail(TransportError(.sctpFailed, "the peer restarted the SCTP association"))
        case CSCTP_PEER_SHUTDOWN, CSCTP_SHUTDOWN_COMPLETE: fail(TransportError(.closedByPeer, "the peer shut the SCTP association down"))
        case CSCTP_INCOMING_RESET:
            dropPartials { event.streams.isEmpty || event.streams.contains($0.stream) }
            onStreamReset(event.streams)
        case CSCTP_OUTGOING_RESET:
            onOutgoingStreamReset(event.streams)
            startResets()
        case CSCTP_OUTGOING_RESET_REFUSED: retryResets(event.streams)
        case CSCTP_SEND_FAILED: drops.count(.sendFailed)
        case CSCTP_PARTIAL_ABORTED: dropPartials { UInt32($0.stream) == event.detail & 0xffff }
        default: break
        }
    }

    /// From the stack's tick.
    func onTick(_ now: MonotonicTime) {
        guard state != .down else { return }
        resetTicks = waitingResets.isEmpty ? 0 : resetTicks + 1
        pump()
        flushPackets()
        reportBufferedBytes()
        checkProgress(now)
    }

    // MARK: Sending

    private struct Outgoing {
        var stream: UInt16
        var ppid: UInt32
        var ordered: Bool
        var reliability: Reliability
        var bytes: [UInt8]
    }

    private func transmit(
        _ stream: UInt16, _ ppid: UInt32, _ ordered: Bool, _ reliability: Reliability, _ bytes: UnsafeRawBufferPointer
    ) -> Int32 {
        guard let socket else { return ENOTCONN }
        let (policy, value): (Int32, UInt32) =
            switch reliability {
            case .reliable: (CSCTP_RELIABLE, 0)
            case .maxRetransmits(let count): (CSCTP_RETRANSMITS, UInt32(count))
            case .maxLifetimeMilliseconds(let milliseconds): (CSCTP_LIFETIME, UInt32(milliseconds))
            }
        return stack.enter {
            let error = csctp_send(socket, stream, ppid, ordered ? 0 : 1, policy, value, bytes.baseAddress, bytes.count)
            if error == 0 {
                libraryBytes += bytes.count
                reportedBytes = bufferedBytes
            }
            return error
        }
    }

    private func pump() {
        guard state == .up else { return }
        while let next = queue.first {
            let error = next.bytes.withUnsafeBytes { transmit(next.stream, next.ppid, next.ordered, next.reliability, $0) }
            if error == EAGAIN || error == ENOBUFS { break }
            guard state == .up else { return }
            _ = queue.popFirst()
            queuedBytes -= next.bytes.count
            if let left = queuedPerStream[next.stream] { queuedPerStream[next.stream] = left > 1 ? left - 1 : nil }
            if error != 0 { drops.count(.sendFailed) }
        }
        startResets()
    }

    private func flushPackets() {
        guard !isFlushing else { return }
        isFlushing = true
        defer { isFlushing = false }
        var isBlocked = false
        while !packets.isEmpty, !isBlocked {
            var batch = sparePackets
            swap(&batch, &packets)
            batch.drain(onSend)
            isBlocked = !batch.isEmpty
            if isBlocked {
                // What came meanwhile goes behind what is left.
                packets.drain { batch.append($0) }
                swap(&batch, &packets)
            }
            batch.removeAll()
            sparePackets = batch
        }
    }

    private func reportBufferedBytes() {
        let bytes = bufferedBytes
        defer { reportedBytes = bytes }
        if bytes < reportedBytes, state != .down { onBufferedBytes(bytes) }
    }

    // MARK: Resets

    private func startResets() {
        guard state == .up, let socket, !waitingResets.isEmpty else { return }
        let ready = waitingResets.filter { queuedPerStream[$0] == nil }
        // A request that overtakes data makes some peers (usrsctp, see `SCTPResetGate`) forget about it, so it waits for a while
        // until nothing is in flight. With steady traffic on other streams that moment may not come, nor is it needed then.
        guard !ready.isEmpty, libraryBytes == 0 || resetTicks >= SCTPAssociation.resetPatienceTicks else { return }
        let batch = Array(ready.prefix(SCTPAssociation.resetsAtOnce))
        switch stack.enter({ csctp_reset(socket, batch, batch.count) }) {
        case 0: waitingResets.removeAll { batch.contains($0) }
        case EALREADY, EAGAIN, EBUSY, ENOBUFS, ENOMEM: break  // one request at a time; the next tick tries again
        default:
            // One stream among them cannot be reset (never opened): go through them one by one.
            for stream in batch {
                let error = stack.enter { csctp_reset(socket, [stream], 1) }
                if error == EALREADY || error == EAGAIN { continue }
                waitingResets.removeAll { $0 == stream }
                if error != 0, state == .up { onOutgoingStreamReset([stream]) }
            }
        }
    }

    private func retryResets(_ streams: [UInt16]) {
        refusedResets += 1
        guard refusedResets <= SCTPAssociation.refusedResetLimit else { return onOutgoingStreamReset(streams) }
        for stream in streams where !waitingResets.contains(stream) { waitingResets.append(stream) }
    }

    // MARK: Partial messages

    private struct PartialKey: Hashable {
        var stream: UInt16
        var isUnordered: Bool
    }

    private struct PartialMessage {
        var ppid: UInt32
        var bytes: [UInt8] = []
        var isDiscarded = false

        init(ppid: UInt32) { self.ppid = ppid }
    }

    private func dropPartials(_ isMeant: (PartialKey) -> Bool) {
        guard !partial.isEmpty else { return }
        for key in Array(partial.keys) where isMeant(key) {
            guard let message = partial.removeValue(forKey: key) else { continue }
            partialBytes -= message.bytes.count
            drops.count(.malformedDataChannel)
        }
    }

    // MARK: End

    private func checkProgress(_ now: MonotonicTime) {
        guard state == .up else { return }
        if let last = lastProgressCheck, now.nanoseconds(since: last) < SCTPAssociation.progressCheckNanoseconds { return }
        lastProgressCheck = now
        if progress.isStalled(isOutstanding: bufferedBytes > 0, now: now, limitNanoseconds: stallNanoseconds) {
            fail(TransportError(.timeout, "the peer acknowledges no data on the SCTP association"))
        }
    }

    private func fail(_ error: TransportError) {
        guard state != .down else { return }
        release()
        onDown(error)
    }

    private func release() {
        state = .down
        guard let socket else { return }
        self.socket = nil
        // The ABORT comes out of this call and is flushed by it, or right here when a call is on the stack already.
        stack.enter { csctp_close(socket) }
        flushPackets()
        packets.removeAll()
        stack.unregister(id)
        while queue.popFirst() != nil {}
        queuedBytes = 0
        libraryBytes = 0
        queuedPerStream = [:]
        partial = [:]
        partialBytes = 0
    }

    /// The longest message that can be sent: the library takes a message as a whole or not at all.
    package static let maxMessageBytes = 1 << 20
    private static let bufferBytes = 2 << 20
    private static let queueLimitBytes = 8 << 20
    private static let queueLimitMessages = 4096
    /// A window of packets at the path's limit: more than one call into the library makes.
    private static let packetLimit = 2048
    private static let leastPacketBytes = 16
    private static let initialTimeoutMilliseconds: UInt32 = 500
    private static let resetsAtOnce = 64
    private static let resetPatienceTicks = 30
    private static let refusedResetLimit = 64
    private static let progressCheckNanoseconds: Int64 = 250_000_000
}
