// The sending end of a video stream for tests of the receiving end: frames at a fixed rate, cut into paced packets
// with the header extensions of the session, a history that answers NACKs by RTX (RFC 4588), key frames on request,
// and sender reports. Virtual time; the same run for the same settings. It does what a well-behaved libwebrtc sender
// does, without congestion control.

package import RTCBase
import RTCEngine
package import RTCWire

package struct SimulatedVideoSender {
    package struct Configuration: Sendable {
        package var codec: VideoCodec = .vp9
        package var ssrc: UInt32 = 0x1111_1111
        package var rtxSSRC: UInt32 = 0x2222_2222
        package var payloadType: UInt8 = 98
        /// Nil answers NACKs with the packet itself.
        package var rtxPayloadType: UInt8? = 99
        package var mid = "0"
        package var extensionIDs = HeaderExtensionIDs()
        package var framesPerSecond = 30
        package var frameBytes = 4_000
        package var keyFrameBytes = 20_000
        /// Packets of one frame leave at this rate.
        package var pacingBitsPerSecond = 20_000_000.0
        /// A request sooner than this after the last key frame waits (RTP-19).
        package var keyFrameIntervalMilliseconds: Int64 = 300
        /// The same packet is not sent again within this time.
        package var resendIntervalMilliseconds: Int64 = 10
        /// Repairs beyond this are not made: what libwebrtc does with its target rate.
        package var repairBitsPerSecond = 1_000_000.0
        package var firstSequenceNumber: UInt16 = 65_500
        package var firstTimestamp: UInt32 = .max - 90_000
        /// Appends trailers with the frame's number (shared wire protocol §7).
        package var sendsMetadata = false

        package init() {}
    }

    /// What was sent as one frame.
    package struct SentFrame: Sendable {
        package var captured: MonotonicTime
        package var isKeyFrame: Bool
        package var rtpTimestamp: UInt32
    }

    package let configuration: Configuration
    /// Gives the bytes of a frame, from its number and whether a key frame is needed; synthetic ones when nil.
    package var makeFrame: ((_ number: UInt64, _ wantsKeyFrame: Bool) -> (bytes: [UInt8], isKeyFrame: Bool))?
    /// By frame number.
    package private(set) var frames: [SentFrame] = []
    package private(set) var keyFrameRequests = 0
    package private(set) var nackedNumbers = 0
    package private(set) var retransmissions = 0
    package private(set) var packetsSent = 0
    package private(set) var feedbackReports = 0
    package private(set) var receiverReports = 0

    private let start: MonotonicTime
    private var vp8: VP8Packetizer
    private var vp9: VP9Packetizer
    private var packetized = PacketizedFrame()
    private var nextFrame: MonotonicTime?
    private var nextReport: MonotonicTime
    private var wantsKeyFrame = true
    private var lastKeyFrame: MonotonicTime?
    private var sequenceNumber: UInt16
    private var rtxSequenceNumber: UInt16 = 40_000
    private var transportSequenceNumber: UInt16 = 65_000
    /// Packets not yet on their way, with the time they may leave.
    private var queue: [(due: MonotonicTime, packet: Outgoing)] = []
    private var paceFreeAt: MonotonicTime
    /// The repair budget has been used up to this time; never more than a second ahead of now.
    private var repairsPaidUntil: MonotonicTime
    private var unwrapper = SequenceUnwrapper()
    private var history = SequenceRing<Sent>(capacity: 1024)

    private struct Outgoing {
        var header: RTPHeader
        var payload: [UInt8]
        var isRetransmission = false
    }

    private struct Sent {
        var header: RTPHeader
        var payload: [UInt8]
        var lastSent: MonotonicTime
    }

    package init(_ configuration: Configuration, start: MonotonicTime) {
        self.configuration = configuration
        self.start = start
        vp8 = VP8Packetizer(firstPictureID: 0x7FF0)
        vp9 = VP9Packetizer(firstPictureID: 0x7FF0)
        nextFrame = start
        nextReport = start
        paceFreeAt = start
        repairsPaidUntil = start
        sequenceNumber = configuration.firstSequenceNumber
    }

    package func nextDeadline() -> MonotonicTime? {
        [nextFrame, queue.first?.due, nextFrame == nil ? nil : nextReport].compactMap(\.self).min()
    }

    /// No more frames; what waits still leaves, and requests are still answered.
    package mutating func stop() { nextFrame = nil }

    /// Makes the frames that are due and hands out the datagrams that leave by `now`: RTP and RTCP.
    package mutating func poll(now: MonotonicTime, send: (_ datagram: [UInt8], _ isRTCP: Bool) -> Void) {
        while let due = nextFrame, due <= now {
            addFrame(captured: due)
            nextFrame = start.adding(nanoseconds: Int64(frames.count) * 1_000_000_000 / Int64(configuration.framesPerSecond))
        }
        while let first = queue.first, first.due <= now {
            queue.removeFirst()
            send(egress(first.packet, now: now), false)
        }
        if nextFrame != nil, nextReport <= now {
            nextReport = now.adding(milliseconds: 1_000)
            send(senderReport(now: now), true)
        }
    }

    package mutating func handleRTCP(_ datagram: RawSpan, now: MonotonicTime) {
        guard let packets = try? RTCPPacket.parseCompound(datagram) else { return }
        for packet in packets {
            switch packet {
            case .genericNACK(let nack) where nack.mediaSSRC == configuration.ssrc:
                nackedNumbers += nack.sequenceNumbers.count
                for number in nack.sequenceNumbers { resend(number, now: now) }
            case .pictureLossIndication(let request) where request.mediaSSRC == configuration.ssrc: requestKeyFrame()
            case .fullIntraRequest(let request) where request.entries.contains(where: { $0.ssrc == configuration.ssrc }):
                requestKeyFrame()
            case .transportFeedback: feedbackReports += 1
            case .receiverReport: receiverReports += 1
            default: break
            }
        }
    }

    private mutating func requestKeyFrame() {
        keyFrameRequests += 1
        wantsKeyFrame = true
    }

    // MARK: Frames

    private mutating func addFrame(captured: MonotonicTime) {
        let number = UInt64(frames.count)
        let mayMakeKey = lastKeyFrame.map { captured.milliseconds(since: $0) >= Double(configuration.keyFrameIntervalMilliseconds) } ?? true
        let asksKey = wantsKeyFrame && mayMakeKey
        var (bytes, isKeyFrame) =
            makeFrame?(number, asksKey)
            ?? (
                SyntheticFrame.bytes(
                    number: number, codec: configuration.codec, isKeyFrame: asksKey,
                    count: asksKey ? configuration.keyFrameBytes : configuration.frameBytes), asksKey
            )
        if isKeyFrame {
            wantsKeyFrame = false
            lastKeyFrame = captured
        }
        if configuration.sendsMetadata {
            var writer = ByteWriter()
            let micros = UInt64(clamping: captured.nanoseconds / 1_000)
            FrameTrailer.write(
                FrameMetadata(frameID: number + 1, captureTimeMicros: micros, userData: FrameUserData([1, 2, 3])), into: &writer)
            bytes += writer.bytes
        }
        let elapsed90kHz = captured.nanoseconds(since: start) / 1_000 * 9 / 100
        let timestamp = configuration.firstTimestamp &+ UInt32(truncatingIfNeeded: elapsed90kHz)
        frames.append(SentFrame(captured: captured, isKeyFrame: isKeyFrame, rtpTimestamp: timestamp))
        packetize(bytes, isKeyFrame: isKeyFrame, timestamp: timestamp, now: captured)
    }

    private mutating func packetize(_ bytes: [UInt8], isKeyFrame: Bool, timestamp: UInt32, now: MonotonicTime) {
        switch configuration.codec {
        case .vp8: vp8.packetize(bytes.span.bytes, into: &packetized)
        case .vp9: vp9.packetize(bytes.span.bytes, isKeyFrame: isKeyFrame, size: (640, 360), into: &packetized)
        }
        for (index, range) in packetized.payloads.enumerated() {
            let header = RTPHeader(
                marker: index == packetized.payloads.count - 1, payloadType: configuration.payloadType, sequenceNumber: sequenceNumber,
                timestamp: timestamp, ssrc: configuration.ssrc)
            sequenceNumber &+= 1
            enqueue(Outgoing(header: header, payload: packetized.withPayload(range) { $0.copy() }), now: now)
        }
    }

    private mutating func resend(_ number: UInt16, now: MonotonicTime) {
        let place = unwrapper.peek(number)
        guard var sent = history[place], now.milliseconds(since: sent.lastSent) >= Double(configuration.resendIntervalMilliseconds)
        else { return }
        let cost = Int64(Double(sent.payload.count + 40) * 8e9 / configuration.repairBitsPerSecond)
        repairsPaidUntil = max(repairsPaidUntil, now).adding(nanoseconds: cost)
        guard repairsPaidUntil <= now.adding(milliseconds: 1_000) else {
            repairsPaidUntil = repairsPaidUntil.adding(nanoseconds: -cost)
            return
        }
        sent.lastSent = now
        history[place] = sent
        retransmissions += 1
        var header = sent.header
        var payload = sent.payload
        if let payloadType = configuration.rtxPayloadType {
            header.payloadType = payloadType
            header.ssrc = configuration.rtxSSRC
            header.sequenceNumber = rtxSequenceNumber
            rtxSequenceNumber &+= 1
            payload = [UInt8(number >> 8), UInt8(number & 0xFF)] + payload
        }
        enqueue(Outgoing(header: header, payload: payload, isRetransmission: true), now: now)
    }

    private mutating func enqueue(_ packet: Outgoing, now: MonotonicTime) {
        let due = max(paceFreeAt, now)
        paceFreeAt = due.adding(nanoseconds: Int64(Double(packet.payload.count + 40) * 8e9 / configuration.pacingBitsPerSecond))
        if packet.isRetransmission {
            // Repairs go before new media.
            let place = queue.firstIndex { !$0.packet.isRetransmission } ?? queue.count
            queue.insert((place < queue.count ? queue[place].due : due, packet), at: place)
        } else {
            queue.append((due, packet))
        }
    }

    // MARK: Leaving

    private mutating func egress(_ packet: Outgoing, now: MonotonicTime) -> [UInt8] {
        packetsSent += 1
        let ids = configuration.extensionIDs
        var extensions: [HeaderExtension] = []
        if ids.mid != 0 { extensions.append(.mid(configuration.mid, id: ids.mid)) }
        if ids.transportSequenceNumber != 0 {
            extensions.append(.transportSequenceNumber(transportSequenceNumber, id: ids.transportSequenceNumber))
            transportSequenceNumber &+= 1
        }
        if ids.absoluteSendTime != 0 {
            // 6.18 fixed-point seconds.
            let time = UInt32(truncatingIfNeeded: (now.nanoseconds << 18) / 1_000_000_000) & 0xFF_FFFF
            extensions.append(.absoluteSendTime(time, id: ids.absoluteSendTime))
        }
        if !packet.isRetransmission {
            let place = unwrapper.unwrap(packet.header.sequenceNumber)
            history[place] = Sent(header: packet.header, payload: packet.payload, lastSent: now)
        }
        var writer = ByteWriter(reservingCapacity: 1_250)
        packet.header.write(into: &writer, extensions: extensions)
        writer.write(packet.payload)
        return writer.bytes
    }

    private func senderReport(now: MonotonicTime) -> [UInt8] {
        let elapsed90kHz = now.nanoseconds(since: start) / 1_000 * 9 / 100
        let report = SenderReport(
            ssrc: configuration.ssrc, ntp: NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000 &+ now.nanoseconds),
            rtpTimestamp: configuration.firstTimestamp &+ UInt32(truncatingIfNeeded: elapsed90kHz),
            packetCount: UInt32(truncatingIfNeeded: packetsSent), octetCount: 0)
        var writer = ByteWriter()
        RTCPPacket.senderReport(report).write(into: &writer)
        return writer.bytes
    }
}
