import RTCBase
import RTCEngine
import RTCSimulation
import RTCWire
import Testing

/// Two engines in virtual time: one sends, the other receives; both directions are simulated links. The encoder of each
/// video section makes frames of the size it was told, key frames when asked, and none while the section is congested.
struct TwoPeers: ~Copyable {
    struct Frame {
        var number: UInt64
        var isKeyFrame: Bool
        var capturedAt: MonotonicTime
        var completeAt: MonotonicTime
        var timestamp: UInt32
        var metadata: FrameMetadata?
    }

    struct Packet {
        var time: MonotonicTime
        var bytes: [UInt8]
    }

    struct Encoder {
        var codec = VideoCodec.vp9
        /// Nil follows `.sendRate`.
        var fixedBitsPerSecond: Int64?
        var keyFrameFactor = 4.0
        var isOn = true
        var capturesMetadata = false
        var wantsKeyFrame = true
        var rate: Int64 = 0
        var isCongested = false
        var obeysCongestion = true
        var number: UInt64 = 0
        var skipped = 0
        var captured: [UInt64: MonotonicTime] = [:]
    }

    static let extensionIDs = {
        var ids = HeaderExtensionIDs()
        ids.mid = 9
        ids.absoluteSendTime = 2
        ids.transportSequenceNumber = 4
        return ids
    }()

    var sender: PeerEngine
    var receiver: PeerEngine
    var forward: SimulatedLink
    var backward: SimulatedLink
    var encoders: [Int: Encoder] = [:]
    var audioSections: [Int] = []
    var out = EngineOutputs()
    private(set) var now = start
    private(set) var frames: [Int: [Frame]] = [:]
    private(set) var audio: [AudioArrival] = []
    /// RTP as it left.
    private(set) var sent: [Packet] = []
    private(set) var sentReports: [RTCPPacket] = []
    private(set) var feedback: [RTCPPacket] = []
    private(set) var events: [EngineEvent] = []
    private(set) var keyFrameRequests: [MonotonicTime] = []
    private(set) var violations: [String] = []
    /// When the sender's timer ran.
    private(set) var wakes: [MonotonicTime] = []
    /// The sender does not run within these.
    var stalls: [Range<MonotonicTime>] = []

    private var nextFrame = start
    private var nextAudio = start
    private var audioSamples: UInt32 = 0
    private var receiverOut = EngineOutputs()

    init(
        videoSections: Int = 1, hasAudio: Bool = false, forward: LinkConditions = LinkConditions(delayMilliseconds: 20),
        backward: LinkConditions = LinkConditions(delayMilliseconds: 20), seed: UInt64 = 1, settings: SendSettings? = nil,
        rtx: Bool = true, mid: String = "0", transportFeedback: Bool = true
    ) {
        let sending = Self.session(videoSections, hasAudio, isSender: true, rtx: rtx, mid: mid, transportFeedback: transportFeedback)
        let receiving = Self.session(videoSections, hasAudio, isSender: false, rtx: rtx, mid: mid, transportFeedback: transportFeedback)
        let wallClock = NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000)
        sender = PeerEngine(
            session: sending, localSSRC: 0xAAAA, cname: "sender", pool: FrameBufferPool(),
            send: settings ?? SendSettings(seed: seed, ntpOffset: wallClock))
        receiver = PeerEngine(session: receiving, localSSRC: 0xBBBB, cname: "receiver", pool: FrameBufferPool())
        self.forward = SimulatedLink(forward, seed: seed)
        self.backward = SimulatedLink(backward, seed: seed &+ 1)
        for section in 0..<videoSections { encoders[section] = Encoder() }
        if hasAudio { audioSections = [videoSections] }
    }

    static func session(
        _ videoSections: Int, _ hasAudio: Bool, isSender: Bool, rtx: Bool = true, mid: String = "0", transportFeedback: Bool = true
    ) -> NegotiatedSession {
        var sections: [NegotiatedSection] = []
        for index in 0..<videoSections {
            var section = NegotiatedSection(mid: index == 0 ? mid : String(index), kind: .video, trackName: "video\(index)")
            section.receives = !isSender
            section.sends = isSender
            section.videoCodecs = [98: .vp9, 96: .vp8]
            section.preferredPayloadType = 98
            if rtx { section.rtxPayloadTypes = [99: 98, 97: 96] }
            section.localSSRC = UInt32(1000 + index)
            section.localRTXSSRC = rtx ? UInt32(2000 + index) : nil
            section.extensionIDs = extensionIDs
            (section.usesNACK, section.usesPLI, section.usesFIR) = (true, true, true)
            section.usesTransportFeedback = transportFeedback
            sections.append(section)
        }
        if hasAudio {
            sections.append(
                NegotiatedSection(
                    mid: "a", kind: .audio, trackName: "audio", receives: !isSender, sends: isSender, preferredPayloadType: 111,
                    opusPayloadTypes: [111], localSSRC: 3000, extensionIDs: extensionIDs, usesTransportFeedback: transportFeedback))
        }
        return NegotiatedSession(
            usernameFragment: "abcd", password: "abcdefghijklmnopqrstuv", fingerprints: [], isDTLSClient: true,
            usesFrameMetadata: true, sections: sections)
    }

    mutating func publish() {
        for section in encoders.keys.sorted() + audioSections { sender.startSending(section: section, now: now, into: &out) }
        drainSender()
    }

    /// Runs the sender's engine and everything after it.
    mutating func withSender(_ body: (inout PeerEngine, MonotonicTime, inout EngineOutputs) -> Void) {
        body(&sender, now, &out)
        drainSender()
    }

    mutating func run(milliseconds: Int64) {
        let limit = now.adding(milliseconds: milliseconds)
        while let next = nextDeadline(), next <= limit {
            if next < now { violations.append("a deadline \(now.milliseconds(since: next)) ms in the past") }
            now = max(now, next)
            step()
        }
        now = limit
    }

    private func isStalled(_ time: MonotonicTime) -> Range<MonotonicTime>? { stalls.first { $0.contains(time) } }

    private func nextDeadline() -> MonotonicTime? {
        var own = [sender.nextDeadline()]
        if encoders.values.contains(where: \.isOn) { own.append(nextFrame) }
        if !audioSections.isEmpty { own.append(nextAudio) }
        own.append(backward.nextDeadline())
        let earliest = own.compactMap(\.self).min().map { time in isStalled(time)?.upperBound ?? time }
        return [earliest, receiver.nextDeadline(), forward.nextDeadline()].compactMap(\.self).min()
    }

    private mutating func step() {
        if isStalled(now) == nil { stepSender() }
        while let datagram = forward.receive(now: now) {
            // As the demultiplexer tells them apart (RFC 5761 §4).
            if (192...223).contains(datagram[1]) {
                receiver.handleRTCP(datagram.span.bytes, now: now, into: &receiverOut)
            } else {
                receiver.handleRTP(datagram, now: now, into: &receiverOut)
            }
            drainReceiver()
        }
        if let due = receiver.nextDeadline(), due <= now {
            receiver.handleTimeout(now: now, into: &receiverOut)
            drainReceiver()
            if let again = receiver.nextDeadline(), again <= now { violations.append("the receiver's deadline does not move on") }
        }
    }

    private mutating func stepSender() {
        while let datagram = backward.receive(now: now) {
            feedback += (try? RTCPPacket.parseCompound(datagram.span.bytes)) ?? []
            sender.handleRTCP(datagram.span.bytes, now: now, into: &out)
            drainSender()
        }
        if nextFrame <= now {
            // What a camera showed while the process did not run is gone.
            while nextFrame <= now { nextFrame = nextFrame.adding(nanoseconds: 33_333_333) }
            for section in encoders.keys.sorted() { encode(section) }
        }
        if !audioSections.isEmpty, nextAudio <= now {
            nextAudio = nextAudio.adding(milliseconds: 20)
            // Opus, 20 ms, one frame: configuration 31.
            let payload = [0xF8] + [UInt8](repeating: 7, count: 79)
            for section in audioSections {
                sender.sendAudio(payload.span.bytes, rtpTimestamp: audioSamples, section: section, now: now, into: &out)
            }
            audioSamples &+= 960
            drainSender()
        }
        if let due = sender.nextDeadline(), due <= now {
            wakes.append(now)
            sender.handleTimeout(now: now, into: &out)
            drainSender()
            if let again = sender.nextDeadline(), again <= now { violations.append("the sender's deadline does not move on") }
        }
    }

    private mutating func encode(_ section: Int) {
        guard var encoder = encoders[section], encoder.isOn else { return }
        defer { encoders[section] = encoder }
        guard !(encoder.isCongested && encoder.obeysCongestion) else {
            encoder.skipped += 1
            return
        }
        let isKeyFrame = encoder.wantsKeyFrame
        encoder.wantsKeyFrame = false
        let rate = encoder.fixedBitsPerSecond ?? encoder.rate
        let size = max(40, Int(Double(rate) / 8 / 30 * (isKeyFrame ? encoder.keyFrameFactor : 1)))
        let bytes = SyntheticFrame.bytes(number: encoder.number, codec: encoder.codec, isKeyFrame: isKeyFrame, count: size)
        encoder.captured[encoder.number] = now
        let metadata = FrameMetadata(
            frameID: encoder.number + 1, captureTimeMicros: UInt64(now.nanoseconds / 1000), userData: FrameUserData([1, 2, 3]))
        encoder.number += 1
        let frame = Self.frame(
            bytes, codec: encoder.codec, isKeyFrame: isKeyFrame, captured: now, metadata: encoder.capturesMetadata ? metadata : nil)
        encoders[section] = encoder
        sender.sendVideo(frame, section: section, now: now, into: &out)
        drainSender()
        encoder = encoders[section] ?? encoder
    }

    static func frame(
        _ bytes: [UInt8], codec: VideoCodec, isKeyFrame: Bool, captured: MonotonicTime, metadata: FrameMetadata? = nil
    ) -> EncodedFrame {
        EncodedFrame(
            codec: codec, bytes: MediaBytes(copying: bytes.span.bytes), isKeyFrame: isKeyFrame,
            rtpTimestamp: UInt32(truncatingIfNeeded: captured.nanoseconds / 100_000 * 9), ssrc: 0, metadata: metadata,
            firstPacketTime: captured, completeTime: captured)
    }

    private mutating func drainSender() {
        for range in out.rtpPackets {
            let packet = Array(out.rtpBytes[range])
            if packet.count + 16 > 1200 { violations.append("a packet of \(packet.count) bytes") }
            sent.append(Packet(time: now, bytes: packet))
            forward.send(packet, now: now)
        }
        for range in out.rtcpPackets {
            let datagram = Array(out.rtcpBytes[range])
            sentReports += (try? RTCPPacket.parseCompound(datagram.span.bytes)) ?? []
            forward.send(datagram, now: now)
        }
        for event in out.events {
            switch event {
            case .sendRate(let section, let rate): encoders[section]?.rate = rate
            case .keyFrameRequested(let section):
                encoders[section]?.wantsKeyFrame = true
                keyFrameRequests.append(now)
            case .congested(let section, let isCongested): encoders[section]?.isCongested = isCongested
            default: break
            }
        }
        events += out.events
        out.removeAll()
    }

    private mutating func drainReceiver() {
        for range in receiverOut.rtcpPackets { backward.send(Array(receiverOut.rtcpBytes[range]), now: now) }
        for (section, frame) in receiverOut.frames {
            guard let number = frame.bytes.withBytes({ SyntheticFrame.number(of: $0) }) else {
                violations.append("a frame of section \(section) has other bytes than were sent")
                continue
            }
            if let last = frames[section]?.last, last.number >= number { violations.append("frame \(number) after \(last.number)") }
            frames[section, default: []].append(
                Frame(
                    number: number, isKeyFrame: frame.isKeyFrame, capturedAt: encoders[section]?.captured[number] ?? now,
                    completeAt: now, timestamp: frame.rtpTimestamp, metadata: frame.metadata))
        }
        audio += receiverOut.audio
        receiverOut.removeAll()
    }

    /// From capture to the complete frame at the receiver.
    func latency(section: Int = 0, percentile: Double) -> Double {
        let sorted = (frames[section] ?? []).map { $0.completeAt.milliseconds(since: $0.capturedAt) }.sorted()
        return sorted.isEmpty ? .infinity : sorted[min(sorted.count - 1, Int(Double(sorted.count) * percentile))]
    }

    /// RTP packets of one SSRC with their headers.
    func packets(of ssrc: UInt32) -> [(header: RTPHeader, packet: Packet)] {
        sent.compactMap { packet in
            guard let header = try? RTPHeader(parsing: packet.bytes.span.bytes), header.ssrc == ssrc else { return nil }
            return (header, packet)
        }
    }
}
