import CAllocationCounter
import Foundation
import RTCBase
import RTCEngine
import RTCSimulation
import RTCTransport

/// The receiving half of a connection between the network and the decoder's mailbox, driven as `PeerCore` drives it: a datagram
/// in a scratch buffer, SRTP removed in place, the engine, then frames handed on and RTCP protected. Times are those of
/// the recording; nothing waits.
struct ReceivePath: ~Copyable {
    private let stream: RecordedStream
    private let datagrams: [[UInt8]]
    private let srtp: SRTPSession?
    private var engine: PeerEngine
    private var outputs = EngineOutputs()
    private let scratch: Scratch
    /// What the decoder has not finished with: two frames, as in a mailbox that keeps up.
    private var mailbox = BoundedQueue<EncodedFrame>(capacity: 2)
    private(set) var framesReceived = 0
    private(set) var reportsSent = 0
    private var bytesSent = 0

    /// Where allocations are booked.
    enum Step: Int, CaseIterable {
        /// SRTP removed from a packet.
        case unprotect
        /// A packet that completes nothing.
        case packet
        /// A packet that completes a frame, the frame handed on, the oldest one released.
        case frame
        /// A packet or deadline at which RTCP is written: transport-wide feedback, receiver reports.
        case report
        /// SRTCP put on.
        case protect
        /// The sender's RTCP read.
        case senderReport
    }

    /// `keys` nil leaves SRTP out.
    init(stream: RecordedStream, session: NegotiatedSession, keys: (sender: SRTPKeys, receiver: SRTPKeys)?) throws {
        // What may fail comes first.
        let protector = try keys.map { try SRTPSession(keys: $0.sender) }
        let unprotector = try keys.map { try SRTPSession(keys: $0.receiver) }
        self.stream = stream
        srtp = unprotector
        datagrams = stream.datagrams.map { datagram in protector.map { Self.protected(datagram, by: $0) } ?? datagram.bytes }
        engine = PeerEngine(session: session, localSSRC: 7, cname: "benchmark-cname1", pool: FrameBufferPool(maxCached: 16))
        scratch = Scratch(count: 2048)
    }

    /// Plays a part of the recording at full speed.
    mutating func play(_ range: Range<Int>) {
        for index in range {
            let now = stream.datagrams[index].arrival
            runDeadlines(until: now)
            receive(index, now: now)
            drain()
        }
    }

    /// The same with every step's allocations booked.
    mutating func count(_ range: Range<Int>, into counts: inout [AllocationCount]) {
        for index in range {
            let now = stream.datagrams[index].arrival
            while let deadline = engine.nextDeadline(), deadline <= now {
                let before = callocation_counts_now()
                engine.handleTimeout(now: deadline, into: &outputs)
                finish(since: before, isRTCP: false, into: &counts)
            }
            var before = callocation_counts_now()
            guard let count = unprotect(index) else { continue }
            if srtp != nil { counts[Step.unprotect.rawValue].add(before, callocation_counts_now()) }
            before = callocation_counts_now()
            let isRTCP = stream.datagrams[index].isRTCP
            handle(count, isRTCP: isRTCP, now: now)
            finish(since: before, isRTCP: isRTCP, into: &counts)
        }
    }

    /// Hands on what a step gave out and books it.
    private mutating func finish(since before: callocation_counts, isRTCP: Bool, into counts: inout [AllocationCount]) {
        let frames = outputs.frames.count
        handOn()
        consume(engine.nextDeadline())
        let step: Step = isRTCP ? .senderReport : frames > 0 ? .frame : outputs.rtcpPackets.isEmpty ? .packet : .report
        counts[step.rawValue].add(before, callocation_counts_now(), parts: max(1, frames))
        drain(countingInto: &counts)
    }

    private mutating func runDeadlines(until now: MonotonicTime) {
        while let deadline = engine.nextDeadline(), deadline <= now {
            engine.handleTimeout(now: deadline, into: &outputs)
            drain()
        }
    }

    private mutating func receive(_ index: Int, now: MonotonicTime) {
        guard let count = unprotect(index) else { return }
        handle(count, isRTCP: stream.datagrams[index].isRTCP, now: now)
    }

    /// The datagram in the scratch buffer without SRTP; its length.
    private func unprotect(_ index: Int) -> Int? {
        let count = scratch.fill(datagrams[index])
        guard let srtp else { return count }
        let datagram = UnsafeMutableRawBufferPointer(rebasing: scratch.buffer[..<count])
        guard case .success(let plain) = srtp.unprotect(datagram, isRTCP: stream.datagrams[index].isRTCP) else { return nil }
        return plain
    }

    private mutating func handle(_ count: Int, isRTCP: Bool, now: MonotonicTime) {
        let packet = UnsafeRawBufferPointer(rebasing: scratch.buffer[..<count]).bytes
        if isRTCP {
            engine.handleRTCP(packet, now: now, into: &outputs)
        } else {
            engine.handleRTP(packet, now: now, into: &outputs)
        }
    }

    private mutating func drain() {
        handOn()
        for range in outputs.rtcpPackets { send(range) }
        outputs.removeAll()
    }

    private mutating func drain(countingInto counts: inout [AllocationCount]) {
        for range in outputs.rtcpPackets {
            let before = callocation_counts_now()
            send(range)
            if srtp != nil { counts[Step.protect.rawValue].add(before, callocation_counts_now()) }
        }
        outputs.removeAll()
    }

    private mutating func handOn() {
        for output in outputs.frames {
            framesReceived += 1
            if mailbox.isFull { _ = mailbox.popFirst() }
            _ = mailbox.append(output.frame)
        }
        outputs.frames.removeAll(keepingCapacity: true)
    }

    private mutating func send(_ range: Range<Int>) {
        reportsSent += 1
        let count = outputs.rtcpBytes.withUnsafeBytes { scratch.fill(UnsafeRawBufferPointer(rebasing: $0[range])) }
        guard let srtp else { return bytesSent += count }
        bytesSent += srtp.protect(scratch.buffer, count: count, isRTCP: true) ?? 0
    }

    private static func protected(_ datagram: RecordedStream.Datagram, by session: SRTPSession) -> [UInt8] {
        var bytes = datagram.bytes + [UInt8](repeating: 0, count: session.trailerCount(isRTCP: datagram.isRTCP))
        let count = bytes.withUnsafeMutableBytes { session.protect($0, count: datagram.bytes.count, isRTCP: datagram.isRTCP) }
        bytes.removeLast(bytes.count - (count ?? 0))
        return bytes
    }
}

/// A buffer that every packet passes through.
final class Scratch {
    let buffer: UnsafeMutableRawBufferPointer

    init(count: Int) { buffer = .allocate(byteCount: count, alignment: 16) }
    deinit { buffer.deallocate() }

    /// Copies `bytes` to the front, as far as they fit.
    func fill(_ bytes: [UInt8]) -> Int { bytes.withUnsafeBytes { fill($0) } }

    func fill(_ bytes: UnsafeRawBufferPointer) -> Int {
        let count = min(bytes.count, buffer.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        return count
    }
}
