// Feedback into the controller: numbers and times checked against what was sent, each packet told once.

package import RTCBase
package import RTCWire

extension CongestionController {
    /// Transport-wide feedback. Lost, repeated, reordered and senseless reports cost accuracy and nothing else.
    package mutating func handle(_ feedback: TransportFeedback, now: MonotonicTime) {
        statistics.feedbackReports &+= 1
        guard let base = history.unwrap(feedback.baseSequenceNumber) else {
            statistics.unknownNumbers &+= UInt64(feedback.packets.count)
            return
        }
        var arrival = delay.referenceNanoseconds(feedback.referenceTime64ms)
        var newestSend: MonotonicTime?
        var acknowledged = 0
        noteUntold(before: base, now: now, arrival: arrival)
        for (index, status) in feedback.packets.enumerated() {
            let number = base &+ Int64(index)
            switch status {
            case .notReceived: onMissing(number, now: now)
            case .received(let delta):
                arrival = arrival &+ Int64(delta) &* 250_000
                guard let packet = onReceived(number, arrival: arrival, now: now) else { continue }
                acknowledged += 1
                newestSend = max(newestSend ?? packet.time, packet.time)
            }
        }
        toldEnd = max(toldEnd ?? 0, min(base &+ Int64(feedback.packets.count), (history.newest ?? 0) &+ 1))
        guard acknowledged > 0, let newestSend else { return }
        if lastFeedback == nil { lastFeedback = now }
        roundTrip.add(now.nanoseconds(since: newestSend), now: now)
        onProgress(now: now)
    }

    private mutating func onMissing(_ number: Int64, now: MonotonicTime) {
        guard let entry = history.mark(number, .lost, now: now) else {
            statistics.unknownNumbers &+= 1
            return
        }
        guard entry.state != .lost, entry.state != .acknowledged else { return }
        statistics.packetsLost &+= 1
        loss.add(isLost: true, sent: entry.packet.time)
    }

    /// The packet, if this is the first word of its arrival.
    private mutating func onReceived(_ number: Int64, arrival: Int64, now: MonotonicTime) -> SentPacket? {
        guard let entry = history.mark(number, .acknowledged, now: now) else {
            statistics.unknownNumbers &+= 1
            return nil
        }
        guard entry.state != .acknowledged else { return nil }
        statistics.packetsAcknowledged &+= 1
        if entry.state == .lost {
            // It came after the report that called it lost (CC-05).
            statistics.packetsLost -= 1
            loss.repair()
        } else {
            loss.add(isLost: false, sent: entry.packet.time)
        }
        delay.onArrival(entry.packet, arrival: arrival, isCounted: entry.state == .untold)
        if entry.packet.probe != nil, let result = probeResults.onArrival(entry.packet, arrival: arrival) { onProbe(result, now: now) }
        return entry.packet
    }

    /// Numbers that no report spoke of, because it was lost: taken as arrived for the rate, as nothing for the loss.
    private mutating func noteUntold(before base: Int64, now: MonotonicTime, arrival: Int64) {
        guard let toldEnd, base > toldEnd else { return }
        for number in max(toldEnd, base - Int64(SentPacketHistory.capacity))..<base {
            guard let entry = history[number], entry.state == .outstanding || entry.state == .expired else { continue }
            _ = history.mark(number, .untold, now: now)
            delay.addUntold(byteCount: entry.packet.byteCount, arrival: arrival)
        }
    }

    private mutating func onProgress(now: MonotonicTime) {
        if let lastFeedback {
            let seconds = Double(now.nanoseconds(since: lastFeedback)) / 1e9
            // Several parts of one report come together; a report after an outage is no interval.
            if seconds > 0.005, seconds < 0.5 { feedbackInterval += (seconds - feedbackInterval) / 8 }
        }
        lastFeedback = now
        silentWakes = 0
        let hadSilence = beforeSilence != nil
        beforeSilence = nil
        let response = (roundTrip.nanoseconds ?? 0) + Int64(feedbackInterval * 1e9) + Self.responseMargin
        let before = delay.rate.estimate
        // A pacer that is held by the window is no idle application.
        let sent = sentRate.bitsPerSecond(milliseconds: 500) ?? 0
        let isAppLimited = sent < estimate * Self.appLimitedShare
        let overuses = delay.update(
            isAppLimited: isAppLimited, usualLoss: loss.usualFraction, responseNanoseconds: response, now: now)
        if overuses {
            statistics.overuses &+= 1
            probes.onDrop(from: before, now: now)
        } else if hadSilence {
            probes.onDrop(from: before * 2, now: now)
        }
        loss.update(
            carried: delay.acked.bitsPerSecond(milliseconds: 500), estimate: estimate, isQueueing: !delay.isQuiet,
            responseNanoseconds: response, now: now)
        loss.release(above: delay.rate.estimate)
        if delay.isQuiet { probes.poll(estimate: estimate, ceiling: ceiling, isAppLimited: isAppLimited, now: now) }
        statistics.minimumRoundTripNanoseconds = roundTrip.nanoseconds ?? 0
        statistics.queueingDelayMilliseconds = delay.queue.floorMilliseconds
        statistics.acknowledgedBitsPerSecond = Int64(delay.acked.bitsPerSecond(milliseconds: 500) ?? 0)
    }

    private mutating func onProbe(_ result: ProbeEstimator.Result, now: MonotonicTime) {
        statistics.probesAnswered &+= 1
        let found = result.bitsPerSecond * (result.isFull ? Self.fullProbeShare : Self.partialProbeShare)
        if !delay.rate.isDraining, found > delay.rate.estimate { delay.rate.set(found) }
        probes.onResult(result, estimate: estimate, ceiling: ceiling, now: now)
    }

    /// A frame until the new rate shows.
    private static let responseMargin: Int64 = 40_000_000
    private static let appLimitedShare = 0.7
    private static let fullProbeShare = 0.9
    private static let partialProbeShare = 0.85
}

// MARK: Peers without transport-wide feedback

extension CongestionController {
    /// The fraction lost of a receiver report, in 1/256 (RFC 3550 §6.4.1); used while there is nothing better.
    package mutating func handleLoss(fraction: UInt8, roundTripNanoseconds: Int64?, now: MonotonicTime) {
        guard lastFeedback == nil else { return }
        reported.update(
            fraction: Double(fraction) / 256, roundTripNanoseconds: roundTripNanoseconds, start: delay.rate.estimate,
            sent: sentRate.bitsPerSecond(milliseconds: 500), limits: limits.range, now: now)
    }

    /// REMB (draft-alvestrand-rmcat-remb): what the peer measured itself.
    package mutating func handleREMB(_ bitrate: Bitrate, now: MonotonicTime) {
        guard lastFeedback == nil, bitrate.bitsPerSecond > 0 else { return }
        remb = Double(bitrate.bitsPerSecond)
        reported.begin(delay.rate.estimate)
    }
}
