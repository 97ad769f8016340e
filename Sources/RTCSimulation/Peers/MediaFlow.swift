// One direction of media between two whole engines: encoder, sending `PeerEngine`, receiving `PeerEngine`, and a record of
// what was made and what arrived. The owner moves time and holds the links; a flow puts its datagrams into them and takes
// those with its tag out. What must never happen is collected in `violations`.

import RTCBase
import RTCEngine
import RTCWire

final class MediaFlow {
    struct Settings: Sendable {
        var call = SimulatedCall()
        var encoder = SyntheticEncoder.Settings()
        var limits = BitrateLimits()
        /// From then on the encoder may make this much; in order of time. Before: the encoder's own most.
        var ceilings: [(time: MonotonicTime, bitsPerSecond: Int64)] = []
        var begin: MonotonicTime
        var end: MonotonicTime
        var seed: UInt64
        /// The round trip the transport would measure.
        var roundTripNanoseconds: Int64
    }

    private(set) var report = FlowReport()
    private(set) var violations: [String] = []

    private let settings: Settings
    private let index: Int
    private var encoder: SyntheticEncoder
    private var sender: PeerEngine
    private var receiver: PeerEngine
    private var sent = EngineOutputs()
    private var received = EngineOutputs()
    private var isSending = false
    /// No more media is made; what waits still leaves, and what is lost is still repaired.
    private var hasEnded = false
    private var hasStopped = false
    private var nextFrame: MonotonicTime
    private var framesDue: Int64 = 0
    private var nextAudio: MonotonicTime?
    private var audioPayload: [UInt8]
    /// Index of the next change of what the encoder may make.
    private var nextCeiling = 0
    /// Capture times and key marks by frame number.
    private var frames: [(captured: MonotonicTime, isKeyFrame: Bool)] = []
    private var largestFrameBytes = 0
    private var audioTimes: [MonotonicTime] = []
    private var newestFrame = -1
    private var lastDelivery: MonotonicTime?
    private var arrivedBytes = 0

    init(_ settings: Settings, index: Int) {
        self.settings = settings
        self.index = index
        let pool = FrameBufferPool(maxCached: 32)
        encoder = SyntheticEncoder(settings.encoder, seed: settings.seed &+ 11, pool: pool)
        sender = PeerEngine(
            session: settings.call.sendingSession, localSSRC: settings.call.ssrc, cname: "sender", pool: pool,
            send: SendSettings(
                limits: settings.limits, seed: settings.seed, ntpOffset: NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000)))
        receiver = PeerEngine(
            session: settings.call.receivingSession, localSSRC: settings.call.ssrc &+ 0x100, cname: "receiver", pool: pool)
        sender.updateRoundTripTime(nanoseconds: settings.roundTripNanoseconds)
        receiver.updateRoundTripTime(nanoseconds: settings.roundTripNanoseconds)
        nextFrame = settings.begin
        nextAudio = settings.call.hasAudio ? settings.begin : nil
        audioPayload = [UInt8](repeating: 0x78, count: 81)
    }

    // MARK: Sending end

    /// What the sending end waits for, its media included.
    func nextSenderDeadline() -> MonotonicTime? {
        guard !hasStopped else { return sender.nextDeadline() }
        let media = hasEnded ? stopTime : earlier(earlier(nextFrame, nextAudio), settings.end)
        return earlier(media, sender.nextDeadline())
    }

    func runSender(now: MonotonicTime, forward: inout SimulatedLink) {
        if now >= settings.end { hasEnded = true }
        if now >= stopTime { stop(now: now, forward: &forward) }
        if !hasEnded, now >= settings.begin { makeMedia(now: now, forward: &forward) }
        if let deadline = sender.nextDeadline(), deadline <= now {
            sender.handleTimeout(now: now, into: &sent)
            if let next = sender.nextDeadline(), next <= now { violate("sender's deadline in the past after its timeout", now) }
        }
        drainSender(now: now, forward: &forward)
    }

    func handleFeedback(_ datagram: [UInt8], now: MonotonicTime, forward: inout SimulatedLink) {
        sender.handleRTCP(datagram.span.bytes, now: now, into: &sent)
        drainSender(now: now, forward: &forward)
    }

    private func makeMedia(now: MonotonicTime, forward: inout SimulatedLink) {
        if !isSending {
            isSending = true
            setCeiling(settings.encoder.maxBitsPerSecond, now: now)
            sender.startSending(section: SimulatedCall.video, now: now, into: &sent)
            if settings.call.hasAudio { sender.startSending(section: SimulatedCall.audio, now: now, into: &sent) }
            drainSender(now: now, forward: &forward)
        }
        while nextCeiling < settings.ceilings.count, settings.ceilings[nextCeiling].time <= now {
            setCeiling(settings.ceilings[nextCeiling].bitsPerSecond, now: now)
            nextCeiling += 1
        }
        while let due = nextAudio, due <= now {
            sendAudio(now: now)
            nextAudio = due.adding(milliseconds: 20)
        }
        guard nextFrame <= now else { return }
        // Of pictures that came while nobody looked only the newest is encoded.
        var captured = nextFrame
        while nextFrame <= now {
            captured = nextFrame
            framesDue += 1
            nextFrame = settings.begin.adding(nanoseconds: framesDue * 1_000_000_000 / Int64(settings.encoder.framesPerSecond))
        }
        let timestamp = UInt32(truncatingIfNeeded: captured.nanoseconds / 1_000 * 9 / 100)
        guard let frame = encoder.makeFrame(rtpTimestamp: timestamp, now: captured) else { return }
        frames.append((captured, frame.isKeyFrame))
        largestFrameBytes = max(largestFrameBytes, frame.bytes.count)
        sender.sendVideo(frame, section: SimulatedCall.video, now: now, into: &sent)
        drainSender(now: now, forward: &forward)
    }

    private func setCeiling(_ bitsPerSecond: Int64, now: MonotonicTime) {
        encoder.maxBitsPerSecond = bitsPerSecond
        sender.setVideoCeiling(Bitrate(bitsPerSecond: bitsPerSecond), section: SimulatedCall.video, now: now, into: &sent)
    }

    private func sendAudio(now: MonotonicTime) {
        let number = UInt32(truncatingIfNeeded: audioTimes.count)
        for place in 0..<4 { audioPayload[1 + place] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * place)) }
        audioTimes.append(now)
        let payload = audioPayload
        sender.sendAudio(payload.span.bytes, rtpTimestamp: number &* 960, section: SimulatedCall.audio, now: now, into: &sent)
    }

    private func stop(now: MonotonicTime, forward: inout SimulatedLink) {
        guard !hasStopped else { return }
        hasStopped = true
        sender.stopSending(section: SimulatedCall.video, now: now, into: &sent)
        if settings.call.hasAudio { sender.stopSending(section: SimulatedCall.audio, now: now, into: &sent) }
    }

    private func drainSender(now: MonotonicTime, forward: inout SimulatedLink) {
        guard !sent.isEmpty else { return }
        if hasStopped, !sent.rtpPackets.isEmpty { violate("RTP after the end of sending", now) }
        for range in sent.rtpPackets {
            if range.count > Self.maxPacketBytes { violate("packet of \(range.count) bytes", now) }
            forward.send(sent.rtpBytes.span.bytes.extracting(range), tag: index * 2, now: now)
        }
        for range in sent.rtcpPackets {
            if range.count > Self.maxPacketBytes { violate("RTCP datagram of \(range.count) bytes", now) }
            forward.send(sent.rtcpBytes.span.bytes.extracting(range), tag: index * 2 + 1, now: now)
        }
        for event in sent.events {
            switch event {
            case .keyFrameRequested(SimulatedCall.video): encoder.requestKeyFrame()
            case .sendRate(SimulatedCall.video, let rate): encoder.setRate(bitsPerSecond: rate)
            case .congested(SimulatedCall.video, let isCongested): encoder.setCongested(isCongested)
            default: break
            }
        }
        sent.removeAll()
    }

    // MARK: Receiving end

    func nextReceiverDeadline() -> MonotonicTime? { receiver.nextDeadline() }

    func runReceiver(now: MonotonicTime, backward: inout SimulatedLink) {
        guard let deadline = receiver.nextDeadline(), deadline <= now else { return }
        receiver.handleTimeout(now: now, into: &received)
        if let next = receiver.nextDeadline(), next <= now { violate("receiver's deadline in the past after its timeout", now) }
        drainReceiver(now: now, backward: &backward)
    }

    func handleArrival(_ datagram: [UInt8], isRTCP: Bool, now: MonotonicTime, backward: inout SimulatedLink) {
        if isRTCP {
            receiver.handleRTCP(datagram.span.bytes, now: now, into: &received)
        } else {
            arrivedBytes += datagram.count
            receiver.handleRTP(datagram.span.bytes, now: now, into: &received)
            for arrival in received.audio { take(arrival, of: datagram, now: now) }
        }
        drainReceiver(now: now, backward: &backward)
    }

    private func drainReceiver(now: MonotonicTime, backward: inout SimulatedLink) {
        guard !received.isEmpty else { return }
        for range in received.rtcpPackets {
            if range.count > Self.maxPacketBytes { violate("RTCP datagram of \(range.count) bytes", now) }
            backward.send(received.rtcpBytes.span.bytes.extracting(range), tag: index * 2 + 1, now: now)
        }
        for index in received.frames.indices { take(received.frames[index].frame, now: now) }
        received.removeAll()
    }

    private func take(_ frame: EncodedFrame, now: MonotonicTime) {
        guard let number = SyntheticEncoder.number(of: frame.bytes), frames.indices.contains(number) else {
            return violate("a frame with bytes that nobody made", now)
        }
        if number == newestFrame { return violate("frame \(number) came twice", now) }
        if number < newestFrame { return violate("frame \(number) came after \(newestFrame)", now) }
        let made = frames[number]
        if frame.isKeyFrame != made.isKeyFrame { violate("frame \(number) has the wrong key mark", now) }
        if settings.call.usesFrameMetadata, frame.metadata?.frameID != UInt64(number) + 1 {
            violate("frame \(number) lost its metadata", now)
        }
        newestFrame = number
        report.framesDelivered += 1
        report.latency.add(nanoseconds: now.nanoseconds(since: made.captured))
        if report.firstFrame == nil { report.firstFrame = now }
        notePause(until: now)
        lastDelivery = now
    }

    private func notePause(until now: MonotonicTime) {
        // The time to the first frame is a matter of connecting, not of a standing picture.
        guard let lastDelivery else { return }
        let pause = now.milliseconds(since: lastDelivery)
        report.longestPauseMilliseconds = max(report.longestPauseMilliseconds, pause)
        if pause > Self.longPauseMilliseconds { report.longPauses.append(lastDelivery..<now) }
    }

    private func take(_ arrival: AudioArrival, of datagram: [UInt8], now: MonotonicTime) {
        guard arrival.payload.count == audioPayload.count else { return violate("audio of \(arrival.payload.count) bytes", now) }
        let number = Int(datagram.span.bytes.uint32(at: arrival.payload.lowerBound + 1))
        guard audioTimes.indices.contains(number) else { return violate("audio that nobody made", now) }
        report.audioDelivered += 1
        report.audioLatency.add(nanoseconds: now.nanoseconds(since: audioTimes[number]))
    }

    // MARK: Measuring

    func sample(now: MonotonicTime) {
        guard isSending, !hasEnded else { return }
        let statistics = sender.sendStatistics(section: SimulatedCall.video)
        let queueSeconds = statistics?.queueSeconds ?? 0
        let rate = max(1, Double(statistics?.targetBitsPerSecond ?? 0))
        if queueSeconds > Self.maxPacerQueueSeconds + Double(largestFrameBytes * 8) / rate { violate("pacer holds \(queueSeconds) s", now) }
        report.samples.append(
            FlowSample(
                time: now, estimate: Double(sender.sendTargets.estimate.bitsPerSecond), encoderRate: Double(encoder.bitsPerSecond),
                arrivedBits: Double(arrivedBytes * 8), pacerQueueSeconds: queueSeconds,
                seenQueueMilliseconds: sender.congestionStatistics.queueingDelayMilliseconds))
        arrivedBytes = 0
    }

    /// What must hold between steps, when neither end is held off.
    func check(now: MonotonicTime) {
        if let deadline = sender.nextDeadline(), deadline < now { violate("sender's deadline in the past", now) }
        if let deadline = receiver.nextDeadline(), deadline < now { violate("receiver's deadline in the past", now) }
    }

    func finish(now: MonotonicTime) -> FlowReport {
        // A picture that never moves again counts as standing until the end.
        notePause(until: max(settings.end, lastDelivery ?? settings.end))
        report.framesMade = encoder.framesMade
        report.framesSkipped = encoder.framesSkipped
        report.keyFramesMade = encoder.keyFramesMade
        report.resolutionChanges = encoder.stepChanges
        report.audioSent = audioTimes.count
        report.send = sender.sendStatistics(section: SimulatedCall.video)
        report.congestion = sender.congestionStatistics
        report.receive = receiver.statistics(section: SimulatedCall.video)
        return report
    }

    private func violate(_ what: String, _ now: MonotonicTime) {
        // The first few tell enough.
        if violations.count < 10 { violations.append("flow \(index), \(now.milliseconds(since: settings.begin)) ms: \(what)") }
    }

    private var stopTime: MonotonicTime { settings.end.adding(milliseconds: Self.repairMilliseconds) }

    /// For the repair of what is sent last.
    private static let repairMilliseconds: Int64 = 1_200
    /// 1200 on the wire, less the longest SRTP tag (RFC 7714: 16 bytes).
    private static let maxPacketBytes = 1_184
    /// The pacer drops above 2 s at the present rate, but a key frame that has begun to leave.
    private static let maxPacerQueueSeconds = 2.1
    /// A viewer notices from about here.
    private static let longPauseMilliseconds = 200.0
}

private func earlier(_ a: MonotonicTime?, _ b: MonotonicTime?) -> MonotonicTime? {
    guard let a else { return b }
    guard let b else { return a }
    return min(a, b)
}
