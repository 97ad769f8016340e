// All engine parts of one connection behind one set of calls; the only thing the shell drives. In: unprotected RTP and
// RTCP datagrams, encoded media, requests of decoders and the app, time. Out: everything in `EngineOutputs`. A received
// packet's way: header and extensions, transport-wide feedback, the section it belongs to, then its stream (video) or
// straight on (audio); what is sent goes through `SendSide`. RFC 3550, RFC 4588, RFC 9143 §9.2. Left out: negotiation, data
// channels, playout.

package import RTCBase
import RTCWire

/// The media engine of one negotiated connection. A value owned by one actor; it does no IO and knows no clock.
package struct PeerEngine: ~Copyable, Sendable {
    /// What a payload type means in a section.
    private enum PayloadRole: Sendable {
        case none
        case video(VideoCodec)
        case retransmission(VideoCodec)
        case opus
    }

    /// The stream behind a section; indices into the arrays below, so that nothing is moved per packet.
    private enum Receiver: Sendable {
        case none
        case video(Int)
        case audio(Int)
    }

    private struct Section: Sendable {
        var receiver: Receiver
        /// By payload type.
        var roles: [PayloadRole]
    }

    private var sections: [Section]
    private var video: [ReceiveStream] = []
    private var audio: [AudioReceiveStream] = []
    private var router: ReceiveRouter
    /// One numbering of extension ids holds for the whole bundle (RFC 9143 §9.1).
    private let extensionIDs: HeaderExtensionIDs
    private let usesTransportFeedback: Bool
    private var feedback = TransportFeedbackBuilder()
    private var scheduler: RTCPScheduler
    private var context: ReceiveContext
    /// The blocks of the receiver report being made; kept for their memory.
    private var reportBlocks: [ReportBlock] = []
    /// The packets of the RTCP datagram being handled; kept for its memory.
    private var received: [RTCPPacket] = []
    /// The media source named in transport-wide feedback: the latest one.
    private var lastMediaSSRC: UInt32 = 0
    var sending: SendSide
    private var synchronizer: MediaSynchronizer
    /// The wall clock at `MonotonicTime` zero.
    private let ntpOffset: NTPTimestamp

    package init(
        session: NegotiatedSession, localSSRC: UInt32, cname: String, pool: FrameBufferPool, send: SendSettings = SendSettings()
    ) {
        router = ReceiveRouter(sections: session.sections)
        scheduler = RTCPScheduler(localSSRC: localSSRC, cname: cname)
        context = ReceiveContext(localSSRC: localSSRC, pool: pool)
        var ids = HeaderExtensionIDs()
        var reports = false
        sections = []
        for (index, section) in session.sections.enumerated() {
            var receiver = Receiver.none
            if section.accepted, section.receives {
                ids.merge(section.extensionIDs)
                reports = reports || (section.usesTransportFeedback && section.extensionIDs.transportSequenceNumber != 0)
                switch section.kind {
                case .video:
                    receiver = .video(video.count)
                    video.append(ReceiveStream(section: index, negotiated: section, usesFrameMetadata: session.usesFrameMetadata))
                case .audio:
                    receiver = .audio(audio.count)
                    audio.append(AudioReceiveStream(section: index))
                }
            }
            sections.append(Section(receiver: receiver, roles: Self.roles(of: section)))
        }
        synchronizer = MediaSynchronizer(kinds: session.sections.map { $0.accepted && $0.receives ? $0.kind : nil })
        sending = SendSide(session: session, cname: cname, settings: send)
        ntpOffset = send.ntpOffset
        extensionIDs = ids
        usesTransportFeedback = reports
    }

    /// One RTP packet, SRTP removed. Nothing of it is kept but what is copied; `out.audio` refers into it.
    package mutating func handleRTP(_ packet: RawSpan, now: MonotonicTime, into out: inout EngineOutputs) {
        guard let header = try? RTPHeader(parsing: packet) else { return context.drops.count(.malformedRTP) }
        let values = HeaderExtensionValues(parsing: packet, header: header, ids: extensionIDs)
        scheduler.start(now: now)
        if usesTransportFeedback, let number = values.transportSequenceNumber { feedback.record(number, now: now) }
        guard let index = router.route(header, mid: values.mid, packet: packet) else {
            context.drops.count(.unknownStream)
            return sendDueReports(now: now, into: &out)
        }
        lastMediaSSRC = header.ssrc
        let (frames, arrivals) = (out.frames.count, out.audio.count)
        switch (sections[index].receiver, sections[index].roles[Int(header.payloadType & 0x7F)]) {
        case (.video(let stream), .video(let codec)):
            video[stream].handleMedia(packet, header: header, codec: codec, now: now, context: &context, into: &out)
        case (.video(let stream), .retransmission(let codec)):
            video[stream].handleRetransmission(packet, header: header, codec: codec, now: now, context: &context, into: &out)
        case (.audio(let stream), .opus):
            audio[stream].handle(packet, header: header, now: now, context: &context, into: &out)
        default:
            context.drops.count(.unknownStream)
        }
        noteFrames(from: frames, in: out)
        for arrival in out.audio[arrivals...] {
            synchronizer.noteArrival(section: arrival.section, ssrc: arrival.ssrc, timestamp: arrival.timestamp, arrival: now)
        }
        sendDueReports(now: now, into: &out)
    }

    /// One RTCP datagram, SRTCP removed, compound or reduced size.
    package mutating func handleRTCP(_ packet: RawSpan, now: MonotonicTime, into out: inout EngineOutputs) {
        do {
            try RTCPPacket.parseCompound(packet, into: &received)
        } catch {
            return context.drops.count(.malformedRTCP)
        }
        for item in received {
            switch item {
            case .senderReport(let report):
                handle(report, now: now, into: &out)
                handle(report.reports, now: now, into: &out)
            case .receiverReport(let report): handle(report.reports, now: now, into: &out)
            case .goodbye(let goodbye):
                for ssrc in goodbye.ssrcs {
                    guard let section = router.section(of: ssrc) else { continue }
                    out.events.append(.goodbye(section: section, ssrc: ssrc))
                }
            case .genericNACK(let request): sending.handle(request, now: now, into: &out)
            case .pictureLossIndication(let request): sending.handle(request, now: now, into: &out)
            case .fullIntraRequest(let request): sending.handle(request, now: now, into: &out)
            case .transportFeedback(let feedback): sending.handle(feedback, now: now, into: &out)
            case .receiverEstimatedMaxBitrate(let estimate): sending.handle(estimate, now: now, into: &out)
            case .sourceDescription, .unknown: break
            }
        }
        sendDueReports(now: now, into: &out)
    }

    /// The decoder of `section` cannot go on without a key frame.
    package mutating func requestKeyFrame(section: Int, now: MonotonicTime, into out: inout EngineOutputs) {
        guard let stream = videoStream(section) else { return }
        video[stream].requestKeyFrame(now: now, context: &context, into: &out)
    }

    /// The app paused or resumed the track; while paused its packets are counted and reported, and not used.
    package mutating func setReceiving(_ on: Bool, section: Int, now: MonotonicTime) {
        guard sections.indices.contains(section) else { return }
        switch sections[section].receiver {
        case .video(let stream): video[stream].setReceiving(on)
        case .audio(let stream): audio[stream].setReceiving(on)
        case .none: break
        }
    }

    /// What a transport measured; used until answered requests tell it better.
    package mutating func updateRoundTripTime(nanoseconds: Int64) { context.roundTrip.report(nanoseconds: nanoseconds) }

    /// The present estimate, for tests and statistics.
    package var roundTripNanoseconds: Int64 { context.roundTrip.nanoseconds }

    /// When to call `handleTimeout`; nil when nothing is pending.
    package func nextDeadline() -> MonotonicTime? {
        var deadline = earlier(scheduler.nextDeadline, usesTransportFeedback ? feedback.nextDeadline : nil)
        for index in video.indices { deadline = earlier(deadline, video[index].nextDeadline(roundTrip: context.roundTrip)) }
        return earlier(deadline, sending.nextDeadline())
    }

    package mutating func handleTimeout(now: MonotonicTime, into out: inout EngineOutputs) {
        let frames = out.frames.count
        for index in video.indices { video[index].handleTimeout(now: now, context: &context, into: &out) }
        noteFrames(from: frames, in: out)
        sending.handleTimeout(now: now, into: &out)
        sendDueReports(now: now, into: &out)
    }

    package var drops: DropCounters {
        var drops = context.drops
        drops.merge(sending.drops)
        return drops
    }

    /// Nil for a section that receives nothing.
    package func statistics(section: Int) -> ReceiveStreamStatistics? {
        guard sections.indices.contains(section) else { return nil }
        switch sections[section].receiver {
        case .video(let stream):
            var snapshot = video[stream].snapshot
            if let offset = synchronizer.audioOffset(ofVideo: section) {
                snapshot.audioOffsetSeconds = Double(offset.nanoseconds) / 1e9
                snapshot.isAudioOffsetFromReports = offset.isFromReports
            }
            return snapshot
        case .audio(let stream): return audio[stream].snapshot
        case .none: return nil
        }
    }

    /// When the sender made what has this timestamp, on its own wall clock; nil before the stream's first sender report.
    package func senderTime(section: Int, rtpTimestamp: UInt32) -> NTPTimestamp? {
        synchronizer.senderTime(section: section, timestamp: rtpTimestamp)
    }

    private mutating func noteFrames(from first: Int, in out: EngineOutputs) {
        for (section, frame) in out.frames[first...] {
            synchronizer.noteArrival(section: section, ssrc: frame.ssrc, timestamp: frame.rtpTimestamp, arrival: frame.completeTime)
        }
    }

    private func videoStream(_ section: Int) -> Int? {
        guard sections.indices.contains(section), case .video(let stream) = sections[section].receiver else { return nil }
        return stream
    }

    private mutating func handle(_ report: SenderReport, now: MonotonicTime, into out: inout EngineOutputs) {
        guard let section = router.section(of: report.ssrc) else { return }
        switch sections[section].receiver {
        case .video(let stream):
            guard video[stream].ssrc == report.ssrc else { return }
            video[stream].handleSenderReport(report, now: now)
        case .audio(let stream):
            guard audio[stream].ssrc == report.ssrc else { return }
            audio[stream].handleSenderReport(report, now: now)
        case .none: return
        }
        synchronizer.handleReport(section: section, ssrc: report.ssrc, ntp: report.ntp, rtpTimestamp: report.rtpTimestamp)
        out.events.append(
            .senderReport(section: section, ssrc: report.ssrc, ntp: report.ntp, rtpTimestamp: report.rtpTimestamp, arrival: now))
    }

    /// What the peer says about our streams.
    private mutating func handle(_ blocks: [ReportBlock], now: MonotonicTime, into out: inout EngineOutputs) {
        let ntp = ntpOffset.adding(nanoseconds: now.nanoseconds)
        for block in blocks {
            guard let roundTrip = sending.handle(block, ntp: ntp, now: now, into: &out) else { continue }
            context.roundTrip.report(nanoseconds: roundTrip)
        }
    }

    mutating func sendDueReports(now: MonotonicTime, into out: inout EngineOutputs) {
        if usesTransportFeedback {
            feedback.writeDue(now: now, senderSSRC: context.localSSRC, mediaSSRC: lastMediaSSRC, into: &out)
        }
        let starts = sending.takeStartsReporting()
        if starts { scheduler.startSending(now: now) }
        let isDue = scheduler.takeDue(now: now)
        guard isDue || starts else { return }
        reportBlocks.removeAll(keepingCapacity: true)
        if isDue { makeReportBlocks(now: now) }
        guard sending.reports else {
            if scheduler.hasReceived { scheduler.writeReport(reportBlocks, into: &out) }
            return
        }
        out.appendRTCP { sending.writeReports(reportBlocks, ntpOffset: ntpOffset, now: now, into: &$0) }
    }

    private mutating func makeReportBlocks(now: MonotonicTime) {
        for index in video.indices { if let block = video[index].makeReportBlock(now: now) { reportBlocks.append(block) } }
        for index in audio.indices { if let block = audio[index].makeReportBlock(now: now) { reportBlocks.append(block) } }
    }

    private static func roles(of section: NegotiatedSection) -> [PayloadRole] {
        var roles = [PayloadRole](repeating: .none, count: 128)
        for (payloadType, codec) in section.videoCodecs where payloadType < 128 { roles[Int(payloadType)] = .video(codec) }
        for payloadType in section.opusPayloadTypes where payloadType < 128 { roles[Int(payloadType)] = .opus }
        for (payloadType, repaired) in section.rtxPayloadTypes where payloadType < 128 {
            if let codec = section.videoCodecs[repaired] { roles[Int(payloadType)] = .retransmission(codec) }
        }
        return roles
    }
}

extension HeaderExtensionIDs {
    /// Takes over what is not known yet.
    fileprivate mutating func merge(_ other: HeaderExtensionIDs) {
        if mid == 0 { mid = other.mid }
        if transportSequenceNumber == 0 { transportSequenceNumber = other.transportSequenceNumber }
        if absoluteSendTime == 0 { absoluteSendTime = other.absoluteSendTime }
        if streamID == 0 { streamID = other.streamID }
        if repairedStreamID == 0 { repairedStreamID = other.repairedStreamID }
        if audioLevel == 0 { audioLevel = other.audioLevel }
    }
}
