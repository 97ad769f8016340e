// One video stream from a `SimulatedVideoSender` to a `PeerEngine` over two simulated links, in virtual time. Steps
// from deadline to deadline, checks after each step what must always hold, and reports what a viewer would have
// seen: which frames came, how late, and how long the picture stood still.

package import RTCBase
package import RTCEngine
import RTCWire

package struct StreamSimulation: ~Copyable {
    package struct Settings: Sendable {
        package var seed: UInt64
        package var forward: LinkConditions
        package var backward: LinkConditions
        /// New weather on the way to the receiver, in order of time.
        package var forwardChanges: [(at: MonotonicTime, conditions: LinkConditions)] = []
        package var seconds: Double = 30
        package var sender = SimulatedVideoSender.Configuration()
        /// Tells the engine the path's round trip as the SCTP association would.
        package var reportsRoundTrip = true
        /// Compares every byte of synthetic frames.
        package var checksContent = true
        /// What is shown in the first seconds is not judged for freezes: a viewer is measured after a warm-up.
        package var warmUpSeconds = 0.0

        package init(seed: UInt64, forward: LinkConditions, backward: LinkConditions) {
            self.seed = seed
            self.forward = forward
            self.backward = backward
        }
    }

    package struct Report: Sendable {
        package var framesSent = 0
        package var framesDelivered = 0
        /// From capture to the complete frame, ascending.
        package var latenciesMilliseconds: [Double] = []
        /// The delivered frames: when, and of which capture time.
        package var deliveries: [(captured: MonotonicTime, delivered: MonotonicTime)] = []
        /// From capture to the moment at which it is shown, after the playout delay; of the frames after the warm-up, ascending.
        package var shownLatenciesMilliseconds: [Double] = []
        /// Freezes as they are counted for interop: gaps between frames after the warm-up of more than three times the mean
        /// and 150 ms over it; of frames as shown, and as they would be shown without playout delay.
        package var freezes = 0
        package var freezesWithoutDelay = 0
        /// The largest playout delay after the warm-up.
        package var playoutDelayMilliseconds = 0.0
        /// Sum of pauses between delivered frames beyond `freezeMilliseconds`.
        package var frozenMilliseconds = 0.0
        package var longestPauseMilliseconds = 0.0
        package var keyFramesSent = 0
        package var keyFrameRequests = 0
        package var nackedNumbers = 0
        package var retransmissions = 0
        package var feedbackReports = 0
        package var receiverReports = 0
        package var packetsSent = 0
        package var statistics: ReceiveStreamStatistics?
        package var drops = DropCounters()
        /// What must never happen and did; empty in a good run.
        package var violations: [String] = []

        package func latency(percentile: Double) -> Double {
            guard !latenciesMilliseconds.isEmpty else { return .infinity }
            return latenciesMilliseconds[min(latenciesMilliseconds.count - 1, Int(Double(latenciesMilliseconds.count) * percentile / 100))]
        }

        package func shownLatency(percentile: Double) -> Double {
            guard !shownLatenciesMilliseconds.isEmpty else { return .infinity }
            let count = shownLatenciesMilliseconds.count
            return shownLatenciesMilliseconds[min(count - 1, Int(Double(count) * percentile / 100))]
        }

        package var deliveredShare: Double { framesSent > 0 ? Double(framesDelivered) / Double(framesSent) : 0 }
    }

    /// A pause longer than this counts as a frozen picture; a viewer notices from about here.
    private static let freezeMilliseconds = 200.0

    private var settings: Settings
    private var clock = VirtualClock()
    private let start: MonotonicTime
    private var sender: SimulatedVideoSender
    private var engine: PeerEngine
    private var forward: SimulatedLink
    private var backward: SimulatedLink
    private var outputs = EngineOutputs()
    private var report = Report()
    private var numberOfTimestamp: [UInt32: Int] = [:]
    private var numbered = 0
    private var delivered: Set<Int> = []
    private var newestDelivered = -1
    private var smoother = PlayoutSmoother()
    /// When the frames of `report.deliveries` were shown.
    private var shown: [MonotonicTime] = []

    package init(_ settings: Settings) {
        self.settings = settings
        start = clock.now
        var configuration = settings.sender
        configuration.extensionIDs.mid = 9
        configuration.extensionIDs.transportSequenceNumber = 4
        configuration.extensionIDs.absoluteSendTime = 2
        sender = SimulatedVideoSender(configuration, start: clock.now)
        let session = Self.session(configuration)
        engine = PeerEngine(session: session, localSSRC: 0x0BAD_CAFE, cname: "receiver", pool: FrameBufferPool())
        forward = SimulatedLink(settings.forward, seed: settings.seed)
        backward = SimulatedLink(settings.backward, seed: settings.seed &+ 0x5EED)
        if settings.reportsRoundTrip {
            engine.updateRoundTripTime(
                nanoseconds: Int64((settings.forward.delayMilliseconds + settings.backward.delayMilliseconds) * 1e6))
        }
    }

    /// The start of virtual time, to place outages.
    package static var start: MonotonicTime { VirtualClock().now }

    /// Decides by hand what is lost on the way to the receiver. The datagrams have one byte in front, 1 for RTCP.
    package mutating func loseForward(_ decide: @escaping @Sendable (_ index: Int, _ datagram: [UInt8]) -> Bool) {
        forward.mustLose = decide
    }

    package mutating func run() -> Report {
        let end = start.adding(nanoseconds: Int64(settings.seconds * 1e9))
        // What is under way when the sender stops may still arrive.
        let limit = end.adding(milliseconds: 2_000)
        while clock.now < limit {
            step()
            if clock.now >= end { sender.stop() }
            let deadlines = [
                sender.nextDeadline(), forward.nextDeadline(), backward.nextDeadline(), engine.nextDeadline(),
                settings.forwardChanges.first?.at,
            ]
            clock.advance(to: deadlines, limit: limit)
        }
        return finish()
    }

    private mutating func step() {
        let now = clock.now
        if let change = settings.forwardChanges.first, change.at <= now {
            forward.conditions = change.conditions
            settings.forwardChanges.removeFirst()
        }
        sender.poll(now: now) { datagram, isRTCP in
            // The first byte in front only exists here: it keeps RTP and RTCP apart as SRTP demultiplexing would.
            forward.send([isRTCP ? 1 : 0] + datagram, now: now)
        }
        noteSentFrames()
        while let datagram = forward.receive(now: now) {
            let packet = Array(datagram.dropFirst())
            if datagram[0] == 1 {
                engine.handleRTCP(packet.span.bytes, now: now, into: &outputs)
            } else {
                engine.handleRTP(packet.span.bytes, now: now, into: &outputs)
            }
        }
        if let deadline = engine.nextDeadline(), deadline <= now {
            engine.handleTimeout(now: now, into: &outputs)
            if let next = engine.nextDeadline(), next <= now { violate("deadline in the past after a timeout was handled") }
        }
        drain(now: now)
        while let datagram = backward.receive(now: now) { sender.handleRTCP(datagram.span.bytes, now: now) }
    }

    private mutating func drain(now: MonotonicTime) {
        for range in outputs.rtcpPackets {
            let datagram = Array(outputs.rtcpBytes[range])
            if datagram.count > 1_200 { violate("RTCP datagram of \(datagram.count) bytes") }
            backward.send(datagram, now: now)
        }
        for (_, frame) in outputs.frames { take(frame, now: now) }
        outputs.removeAll()
    }

    private mutating func take(_ frame: EncodedFrame, now: MonotonicTime) {
        guard let number = numberOfTimestamp[frame.rtpTimestamp] else { return violate("frame with a timestamp that was never sent") }
        if !delivered.insert(number).inserted { violate("frame \(number) came twice") }
        if number < newestDelivered { violate("frame \(number) came after \(newestDelivered)") }
        newestDelivered = max(newestDelivered, number)
        let sent = sender.frames[number]
        if frame.isKeyFrame != sent.isKeyFrame { violate("frame \(number) has the wrong key mark") }
        if settings.checksContent, sender.makeFrame == nil,
            frame.bytes.withBytes({ SyntheticFrame.number(of: $0) }) != UInt64(number)
        {
            violate("frame \(number) has wrong bytes")
        }
        if settings.sender.sendsMetadata, frame.metadata?.frameID != UInt64(number) + 1 { violate("frame \(number) lost its metadata") }
        report.deliveries.append((sent.captured, now))
        report.latenciesMilliseconds.append(now.milliseconds(since: sent.captured))
        show(frame, captured: sent.captured, now: now)
    }

    /// What the decode thread does with it, had it no work.
    private mutating func show(_ frame: EncodedFrame, captured: MonotonicTime, now: MonotonicTime) {
        let due = smoother.showTime(
            ssrc: frame.ssrc, timestamp: frame.rtpTimestamp, firstPacket: frame.firstPacketTime, complete: frame.completeTime)
        if let due, due.nanoseconds(since: now) > PlayoutSmoother.maxDelayNanoseconds { violate("a frame is held back for too long") }
        let time = max(now, due ?? now, shown.last ?? now)
        shown.append(time)
        guard now.milliseconds(since: start) >= settings.warmUpSeconds * 1_000 else { return }
        report.shownLatenciesMilliseconds.append(time.milliseconds(since: captured))
        report.playoutDelayMilliseconds = max(report.playoutDelayMilliseconds, Double(smoother.delayNanoseconds) / 1e6)
    }

    private mutating func noteSentFrames() {
        while numbered < sender.frames.count {
            numberOfTimestamp[sender.frames[numbered].rtpTimestamp] = numbered
            numbered += 1
        }
    }

    private mutating func violate(_ what: String) {
        // The first few tell enough.
        if report.violations.count < 10 { report.violations.append("\(clock.now.milliseconds(since: start)) ms: \(what)") }
    }

    private mutating func finish() -> Report {
        report.framesSent = sender.frames.count
        report.framesDelivered = report.deliveries.count
        report.latenciesMilliseconds.sort()
        // The first frame is a matter of connecting, not of freezing; a picture that never moves again counts.
        let times = report.deliveries.map(\.delivered) + [start.adding(nanoseconds: Int64(settings.seconds * 1e9))]
        for (earlier, later) in zip(times, times.dropFirst()) {
            let pause = later.milliseconds(since: earlier)
            report.longestPauseMilliseconds = max(report.longestPauseMilliseconds, pause)
            if pause > Self.freezeMilliseconds { report.frozenMilliseconds += pause }
        }
        report.shownLatenciesMilliseconds.sort()
        report.freezes = countFreezes(shown)
        report.freezesWithoutDelay = countFreezes(report.deliveries.map(\.delivered))
        report.keyFramesSent = sender.frames.count(where: \.isKeyFrame)
        report.keyFrameRequests = sender.keyFrameRequests
        report.nackedNumbers = sender.nackedNumbers
        report.retransmissions = sender.retransmissions
        report.feedbackReports = sender.feedbackReports
        report.receiverReports = sender.receiverReports
        report.packetsSent = sender.packetsSent
        report.statistics = engine.statistics(section: 0)
        report.drops = engine.drops
        return report
    }

    private func countFreezes(_ times: [MonotonicTime]) -> Int {
        let begin = start.adding(nanoseconds: Int64(settings.warmUpSeconds * 1e9))
        let end = start.adding(nanoseconds: Int64(settings.seconds * 1e9))
        let judged = times.filter { $0 >= begin && $0 <= end }
        guard judged.count > 1, let first = judged.first, let last = judged.last else { return 0 }
        let mean = last.milliseconds(since: first) / Double(judged.count - 1)
        return zip(judged, judged.dropFirst()).count { $1.milliseconds(since: $0) > max(3 * mean, mean + 150) }
    }

    private static func session(_ configuration: SimulatedVideoSender.Configuration) -> NegotiatedSession {
        var section = NegotiatedSection(mid: configuration.mid, kind: .video, trackName: "main_video", receives: true)
        section.videoCodecs = [configuration.payloadType: configuration.codec]
        if let rtx = configuration.rtxPayloadType { section.rtxPayloadTypes = [rtx: configuration.payloadType] }
        section.extensionIDs = configuration.extensionIDs
        section.usesNACK = true
        section.usesPLI = true
        section.usesFIR = true
        section.usesTransportFeedback = true
        section.usesReducedSizeRTCP = true
        return NegotiatedSession(
            usernameFragment: "none", password: "none", fingerprints: [], isDTLSClient: false,
            usesFrameMetadata: configuration.sendsMetadata, sections: [section])
    }
}
