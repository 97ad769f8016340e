import RTCBase
import RTCEngine
import RTCSimulation

/// A sender and an engine over two links in virtual time. The sender makes a key frame first, and after every picture
/// loss indication.
struct LossyCall: ~Copyable {
    struct Delivery {
        var index: Int
        var isKeyFrame: Bool
        var latencyMilliseconds: Double
        var time: MonotonicTime
    }

    var sender: MediaSender
    var engine: PeerEngine
    var toReceiver: SimulatedLink
    var toSender: SimulatedLink
    private(set) var deliveries: [Delivery] = []
    private(set) var sentFrames: [(bytes: [UInt8], isKeyFrame: Bool, at: MonotonicTime)] = []
    /// A delivered frame whose bytes are not those sent, or whose reference was not delivered.
    private(set) var violations: [String] = []

    private var clock = VirtualClock()
    private var out = EngineOutputs()
    private var pending: [(at: MonotonicTime, packet: [UInt8])] = []
    private var answeredRequests = 0
    private var indexOfTimestamp: [UInt32: Int] = [:]

    init(codec: VideoCodec, downlink: LinkConditions, uplink: LinkConditions, seed: UInt64) {
        sender = MediaSender(codec: codec)
        engine = MediaSender.engine()
        toReceiver = SimulatedLink(downlink, seed: seed)
        toSender = SimulatedLink(uplink, seed: seed &+ 1)
        sender.roundTripNanoseconds = Int64((downlink.delayMilliseconds + uplink.delayMilliseconds) * 1e6)
    }

    var now: MonotonicTime { clock.now }

    /// Sends `frames` one per 33 ms, each paced over `pacing` of that, then waits a second.
    mutating func run(frames: [(bytes: [UInt8], isKeyFrame: Bool)], pacing: Double = 0.6) {
        let interval: Int64 = 33_333_333
        for (bytes, isKeyFrame) in frames {
            let index = sentFrames.count
            let timestamp = UInt32(truncatingIfNeeded: 4_294_900_000 + index * 3000)
            sentFrames.append((bytes, isKeyFrame, now))
            indexOfTimestamp[timestamp] = index
            let packets = sender.packets(bytes, isKeyFrame: isKeyFrame, timestamp: timestamp, now: now)
            for (number, packet) in packets.enumerated() {
                let offset = Int64(Double(interval) * pacing * Double(number) / Double(packets.count))
                pending.append((now.adding(nanoseconds: offset), packet))
            }
            step(until: now.adding(nanoseconds: interval))
        }
        step(until: now.adding(milliseconds: 1000))
    }

    /// A live encoder of `kilobits` per second that answers picture loss indications with a key frame.
    mutating func runLive(seconds: Int, kilobits: Int) {
        let size = kilobits * 1000 / 8 / 30
        for index in 0..<(seconds * 30) {
            let isKeyFrame = index == 0 || sender.pliCount + sender.firCount > answeredRequests
            answeredRequests = sender.pliCount + sender.firCount
            let bytes = testFrame(sentFrames.count, isKeyFrame: isKeyFrame, count: isKeyFrame ? size * 3 : size)
            runOne(bytes, isKeyFrame: isKeyFrame)
        }
        step(until: now.adding(milliseconds: 1000))
    }

    private mutating func runOne(_ bytes: [UInt8], isKeyFrame: Bool) {
        let index = sentFrames.count
        let timestamp = UInt32(truncatingIfNeeded: 4_294_900_000 + index * 3000)
        sentFrames.append((bytes, isKeyFrame, now))
        indexOfTimestamp[timestamp] = index
        let packets = sender.packets(bytes, isKeyFrame: isKeyFrame, timestamp: timestamp, now: now)
        for (number, packet) in packets.enumerated() {
            pending.append((now.adding(nanoseconds: Int64(number) * 20_000_000 / Int64(packets.count)), packet))
        }
        step(until: now.adding(nanoseconds: 33_333_333))
    }

    private mutating func step(until limit: MonotonicTime) {
        while true {
            let due = [pending.first?.at, toReceiver.nextDeadline(), toSender.nextDeadline(), engine.nextDeadline()]
            guard let next = due.compactMap(\.self).min(), next <= limit else { break }
            clock.advance(to: max(next, now))
            while let first = pending.first, first.at <= now {
                toReceiver.send(first.packet, now: now)
                pending.removeFirst()
            }
            while let packet = toReceiver.receive(now: now) {
                engine.handleRTP(packet, now: now, into: &out)
                drain()
            }
            while let datagram = toSender.receive(now: now) {
                for answer in sender.handleRTCP(datagram, now: now) { toReceiver.send(answer, now: now) }
            }
            if let deadline = engine.nextDeadline(), deadline <= now {
                engine.handleTimeout(now: now, into: &out)
                drain()
                if let again = engine.nextDeadline(), again <= now { violations.append("deadline does not move on") }
            }
        }
        clock.advance(to: limit)
    }

    private mutating func drain() {
        for range in out.rtcpPackets { toSender.send(Array(out.rtcpBytes[range]), now: now) }
        for (_, frame) in out.frames { check(frame) }
        out.removeAll()
    }

    private mutating func check(_ frame: EncodedFrame) {
        guard let index = indexOfTimestamp[frame.rtpTimestamp] else { return violations.append("unknown timestamp") }
        let sent = sentFrames[index]
        if frame.bytes.withBytes({ $0.copy() }) != sent.bytes { violations.append("frame \(index): other bytes than sent") }
        if frame.isKeyFrame != sent.isKeyFrame { violations.append("frame \(index): key frame flag") }
        if let last = deliveries.last?.index, last >= index { violations.append("frame \(index) after \(last)") }
        if !frame.isKeyFrame, deliveries.last?.index != index - 1 { violations.append("frame \(index): its reference is missing") }
        deliveries.append(
            Delivery(index: index, isKeyFrame: frame.isKeyFrame, latencyMilliseconds: now.milliseconds(since: sent.at), time: now))
    }

    /// Milliseconds from the first packet's sending to delivery, over all delivered frames.
    func latency(percentile: Double) -> Double {
        let sorted = deliveries.map(\.latencyMilliseconds).sorted()
        return sorted.isEmpty ? .infinity : sorted[min(sorted.count - 1, Int(Double(sorted.count) * percentile))]
    }

    /// Sum of gaps between deliveries that a viewer sees as a freeze, in milliseconds.
    var frozenMilliseconds: Double {
        zip(deliveries, deliveries.dropFirst()).map { $1.time.milliseconds(since: $0.time) }.filter { $0 > 183 }.reduce(0, +)
    }
}
