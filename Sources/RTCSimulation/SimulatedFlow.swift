// One flow of `FlowSimulation`: encoder, pacer and controller on one side, the feedback of the other side.

import RTCBase
import RTCEngine
import RTCWire

struct SimulatedFlow {
    private(set) var controller: CongestionController
    /// Feedback that arrived and was not read yet.
    var feedback: [[UInt8]] = []
    private(set) var skippedFrames = 0
    let begin: MonotonicTime

    private let settings: FlowSimulation.Flow
    private let index: Int
    private var generator: SplitMix64
    private var demand: [(atSeconds: Double, bitsPerSecond: Int64)]
    private let start: MonotonicTime
    private var wanted: Double?

    // Sender
    private var queue: [Int] = []
    private var queuedBytes = 0
    private var nextFrame: MonotonicTime
    private var nextAudio: MonotonicTime
    private var nextSend: MonotonicTime
    private var probe: (probe: Probe, bytes: Int, packets: Int)?
    private var number: Int64 = 65_530
    private var sentTimes: [MonotonicTime] = Array(repeating: MonotonicTime(nanoseconds: 0), count: 65_536)
    private var packets: [RTCPPacket] = []

    // Receiver
    private var builder = TransportFeedbackBuilder()
    private var waiting: [UInt16] = []
    private var outputs = EngineOutputs()

    init(_ settings: FlowSimulation.Flow, index: Int, start: MonotonicTime, seed: UInt64) {
        self.settings = settings
        self.index = index
        self.start = start
        generator = SplitMix64(seed: seed)
        begin = start.adding(nanoseconds: Int64(settings.startSeconds * 1e9))
        demand = settings.demand
        nextFrame = begin
        nextAudio = begin
        nextSend = begin
        controller = CongestionController(limits: settings.limits, now: begin)
    }

    func isStalled(_ now: MonotonicTime) -> Bool { settings.senderStalls.contains { $0.contains(now) } }

    /// The time the packet was sent.
    mutating func arrive(_ datagram: [UInt8]) -> MonotonicTime {
        let value = UInt16(datagram[0]) << 8 | UInt16(datagram[1])
        waiting.append(value)
        return sentTimes[Int(value)]
    }

    func nextDeadline(now: MonotonicTime) -> MonotonicTime? {
        if now < begin { return begin }
        var next = min(nextFrame, settings.audioBytes > 0 ? nextAudio : nextFrame)
        if !queue.isEmpty || probe != nil, canSend { next = min(next, nextSend) }
        if let deadline = controller.nextDeadline() { next = min(next, deadline) }
        if let stall = settings.senderStalls.first(where: { $0.contains(now) }) { next = stall.upperBound }
        if let deadline = builder.nextDeadline { next = min(next, receiverTime(max(deadline, now))) }
        if !waiting.isEmpty { next = min(next, receiverTime(now)) }
        return next
    }

    private func receiverTime(_ time: MonotonicTime) -> MonotonicTime {
        settings.receiverStalls.first { $0.contains(time) }?.upperBound ?? time
    }

    private var canSend: Bool {
        guard let window = controller.targets.congestionWindow else { return true }
        return controller.outstanding < window
    }

    mutating func step(now: MonotonicTime, forward: inout SimulatedLink, backward: inout SimulatedLink) {
        if receiverTime(now) == now { receive(now: now, backward: &backward) }
        guard now >= begin, !isStalled(now) else { return }
        for report in feedback {
            guard (try? RTCPPacket.parseCompound(report.span.bytes, into: &packets)) != nil else { continue }
            for case .transportFeedback(let packet) in packets { controller.handle(packet, now: now) }
        }
        feedback.removeAll(keepingCapacity: true)
        while let change = demand.first, start.adding(nanoseconds: Int64(change.atSeconds * 1e9)) <= now {
            wanted = Double(change.bitsPerSecond)
            controller.setDemand(Bitrate(bitsPerSecond: change.bitsPerSecond), now: now)
            demand.removeFirst()
        }
        if let deadline = controller.nextDeadline(), deadline <= now { controller.handleTimeout(now: now) }
        encode(now: now)
        if settings.audioBytes > 0, nextAudio <= now {
            nextAudio = max(nextAudio.adding(milliseconds: 20), now.adding(milliseconds: 1))
            send(settings.audioBytes, probe: nil, now: now, forward: &forward)
        }
        pace(now: now, forward: &forward)
    }

    private mutating func receive(now: MonotonicTime, backward: inout SimulatedLink) {
        for value in waiting { builder.record(value, now: now) }
        waiting.removeAll(keepingCapacity: true)
        builder.writeDue(now: now, senderSSRC: 1, mediaSSRC: 2, into: &outputs)
        for range in outputs.rtcpPackets { backward.send(Array(outputs.rtcpBytes[range]), tag: index, now: now) }
        outputs.removeAll()
    }

    /// A frame is due: it has the size that the rate of the moment gives it, unless half a second waits already.
    private mutating func encode(now: MonotonicTime) {
        guard nextFrame <= now else { return }
        while nextFrame <= now { nextFrame = nextFrame.adding(nanoseconds: Self.frameInterval) }
        let rate = min(Double(controller.targets.estimate.bitsPerSecond), wanted ?? .infinity)
        if Double(queuedBytes) * 8 > rate * 2 {
            queue.removeAll(keepingCapacity: true)
            queuedBytes = 0
        }
        guard Double(queuedBytes) * 8 < rate / 2 else {
            skippedFrames += 1
            return
        }
        let spread = 1 + settings.frameSpread * (2 * generator.nextUnit() - 1)
        var left = max(Int(rate * spread / 8 / 30), 60)
        while left > 0 {
            let size = min(left, Self.packetBytes)
            queue.append(max(size, 60))
            queuedBytes += max(size, 60)
            left -= size
        }
    }

    private mutating func pace(now: MonotonicTime, forward: inout SimulatedLink) {
        if probe == nil, let next = controller.takeProbe() { probe = (next, 0, 0) }
        // What a late wake may send at once.
        nextSend = max(nextSend, now.adding(milliseconds: -5))
        while nextSend <= now {
            var rate = Double(controller.targets.pacing.bitsPerSecond)
            if var running = probe {
                rate = Double(running.probe.rate.bitsPerSecond)
                let size = takePacket() ?? Self.packetBytes
                send(size, probe: running.probe.cluster, now: now, forward: &forward)
                running.bytes += size
                running.packets += 1
                let isOver = running.bytes >= running.probe.minimumBytes && running.packets >= running.probe.minimumPackets
                probe = isOver ? nil : running
                if isOver, let next = controller.takeProbe() { probe = (next, 0, 0) }
                nextSend = nextSend.adding(nanoseconds: Int64(Double(size) * 8e9 / rate))
            } else {
                guard canSend, let size = takePacket() else { return }
                send(size, probe: nil, now: now, forward: &forward)
                nextSend = nextSend.adding(nanoseconds: Int64(Double(size) * 8e9 / rate))
            }
        }
    }

    private mutating func takePacket() -> Int? {
        guard !queue.isEmpty else { return nil }
        let size = queue.removeFirst()
        queuedBytes -= size
        return size
    }

    private mutating func send(_ size: Int, probe: Int?, now: MonotonicTime, forward: inout SimulatedLink) {
        let value = UInt16(truncatingIfNeeded: number)
        var datagram = [UInt8](repeating: 0, count: size)
        datagram[0] = UInt8(value >> 8)
        datagram[1] = UInt8(value & 0xFF)
        controller.onSent(SentPacket(number: number, byteCount: size, time: now, probe: probe))
        sentTimes[Int(value)] = now
        number += 1
        forward.send(datagram, tag: index, now: now)
    }

    private static let frameInterval: Int64 = 33_333_333
    private static let packetBytes = 1_200
}
