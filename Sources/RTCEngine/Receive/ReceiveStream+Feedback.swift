// Third part of `ReceiveStream`: what is asked of the sender and when. In: deadlines, requests of the decoder, pause and
// resume. Out: NACK (RFC 4585 §6.2.1), PLI and FIR, and the stream's numbers for reports and the app.

package import RTCBase
package import RTCWire

extension ReceiveStream {
    /// A decoder cannot go on without a key frame.
    package mutating func requestKeyFrame(now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs) {
        guard isReceiving, ssrc != nil else { return }
        isKeyFrameForced = true
        requester.need(now: now)
        sendDue(now: now, context: &context, into: &out)
    }

    /// While the track is paused nothing is stored, assembled or asked for.
    package mutating func setReceiving(_ on: Bool) {
        guard on != isReceiving else { return }
        isReceiving = on
        let (number, retransmission) = (highest, retransmissionSSRC)
        restart()
        highest = number
        retransmissionSSRC = retransmission
        isKeyFrameForced = false
        requester.satisfied()
    }

    /// The earliest moment at which `handleTimeout` has something to do.
    package func nextDeadline(roundTrip: RoundTripEstimator) -> MonotonicTime? {
        guard isReceiving, ssrc != nil else { return nil }
        var deadline = wait?.deadline
        if usesNACK {
            deadline = earlier(deadline, nacks.nextDeadline)
            deadline = earlier(deadline, tail.due)
        }
        if !awaitsKeyFrame { deadline = earlier(deadline, requester.nextDeadline(roundTrip: roundTrip.pathNanoseconds)) }
        return deadline
    }

    package mutating func handleTimeout(now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs) {
        guard isReceiving, ssrc != nil else { return }
        if let wait, wait.deadline <= now { drain(now: now, context: &context, into: &out) }
        sendDue(now: now, context: &context, into: &out)
    }

    package mutating func makeReportBlock(now: MonotonicTime) -> ReportBlock? {
        guard let ssrc, statistics.hasReceived else { return nil }
        return statistics.makeReportBlock(ssrc: ssrc, now: now)
    }

    package var snapshot: ReceiveStreamStatistics {
        var result = counts
        result.ssrc = ssrc
        result.codec = codec
        result.packetsReceived = statistics.packetsReceived
        result.bytesReceived = statistics.bytes
        result.packetsLost = statistics.packetsLost
        result.jitterSeconds = statistics.jitterSeconds
        return result
    }

    /// A key frame is on its way in, and not overdue: another request would only double it.
    var awaitsKeyFrame: Bool {
        guard let head = buffer.head else { return false }
        return newestKeyFrame >= head && !(wait?.isOverdue ?? false)
    }

    /// When the rest of the last frame does not come, nothing newer may follow for long (a model that has gone idle), so
    /// the packet after the highest one is asked for without proof that it exists.
    mutating func updateTail(now: MonotonicTime) {
        guard usesNACK, assembler.isInsideFrame, let highest else { return tail.due = nil }
        guard tail.number != highest + 1 else { return }
        tail = TailProbe(number: highest + 1, tries: 0, due: now.adding(nanoseconds: Self.tailDelay))
    }

    mutating func sendDue(now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs) {
        guard let ssrc else { return }
        if usesNACK { sendRequests(for: ssrc, now: now, context: &context, into: &out) }
        guard !awaitsKeyFrame,
            let request = requester.takeRequest(now: now, roundTrip: context.roundTrip.pathNanoseconds)
        else { return }
        let sender = context.localSSRC
        switch request {
        case .pictureLoss:
            counts.plisSent &+= 1
            out.appendRTCP { PictureLossIndication(senderSSRC: sender, mediaSSRC: ssrc).write(into: &$0) }
        case .fullIntra(let sequence):
            counts.firsSent &+= 1
            out.appendRTCP { FullIntraRequest(senderSSRC: sender, entries: [.init(ssrc: ssrc, sequence: sequence)]).write(into: &$0) }
        }
    }

    mutating func sendRequests(
        for ssrc: UInt32, now: MonotonicTime, context: inout ReceiveContext, into out: inout EngineOutputs
    ) {
        let interval = context.roundTrip.repeatInterval
        repeat {
            requestList.removeAll(keepingCapacity: true)
            nacks.takeDue(now: now, interval: interval, into: &requestList)
            if let due = tail.due, due <= now, requestList.count < NackTracker.maxPerRequest {
                requestList.append(UInt16(truncatingIfNeeded: tail.number))
                tail.tries += 1
                tail.due = tail.tries < Self.maxTailTries ? now.adding(nanoseconds: interval) : nil
            }
            guard !requestList.isEmpty else { return }
            counts.nacksSent &+= 1
            let request = GenericNACK(senderSSRC: context.localSSRC, mediaSSRC: ssrc, sequenceNumbers: requestList)
            out.appendRTCP { request.write(into: &$0) }
        } while requestList.count == NackTracker.maxPerRequest
    }

    /// Less than a frame at 30 fps, more than a paced sender leaves between packets of one frame.
    private static let tailDelay: Int64 = 25_000_000
    private static let maxTailTries = 4
}
