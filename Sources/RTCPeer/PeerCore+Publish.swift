internal import RTCBase
internal import RTCEngine
internal import RTCTransport

#if canImport(Glibc)
    private import Glibc
#elseif canImport(Darwin)
    private import Darwin
#endif

// Streams out: encode threads in front of the engine, SRTP and ICE behind it.
extension PeerCore {
    // MARK: Publish and unpublish

    func setPublishing(_ on: Bool, track: String) throws(PeerError) {
        guard !isClosed, engine != nil, let session else { throw PeerError(.invalidState, "the connection is not up") }
        guard let index = session.sections.firstIndex(where: { $0.trackName == track && $0.accepted && $0.sends }),
            let local = localTracks[track], local.kind == session.sections[index].kind
        else {
            throw PeerError(.negotiation, "track \"\(track)\" cannot be sent on this connection")
        }
        if on {
            try startSender(section: index, track: local, negotiated: session.sections[index])
        } else {
            stopSender(section: index)
        }
    }

    private func startSender(section index: Int, track: LocalTrack, negotiated: NegotiatedSection) throws(PeerError) {
        guard senders[index] == nil else { return }
        let executor = self.executor
        let box = WeakCore(self)
        switch negotiated.kind {
        case .video:
            guard let payloadType = negotiated.preferredPayloadType, let codec = negotiated.videoCodecs[payloadType] else {
                throw PeerError(.negotiation, "no codec was agreed for track \"\(track.name)\"")
            }
            publishCount += 1
            let publish = publishCount
            let worker = VideoEncodeWorker(
                codec: codec, bitsPerSecond: Int(bitrateLimits.start.bitsPerSecond),
                onCeiling: { ceiling in
                    executor.execute { box.core?.setCeiling(ceiling, section: index, publish: publish) }
                },
                onFrame: { frame in
                    executor.execute { box.core?.sendVideo(frame, section: index, publish: publish) }
                })
            senders[index] = .video(VideoSender(worker: worker, track: track, publish: publish))
            track.attach(worker)
        case .audio:
            publishCount += 1
            let publish = publishCount
            let worker = AudioEncodeWorker { packet, timestamp in
                executor.execute { box.core?.sendAudio(packet, timestamp: timestamp, section: index, publish: publish) }
            }
            senders[index] = .audio(AudioSender(worker: worker, track: track, publish: publish))
            track.attach(worker)
        }
        let now = executor.now
        engine?.startSending(section: index, now: now, into: &outputs)
        drain(now: now)
    }

    private func stopSender(section index: Int) {
        guard let sender = senders[index] else { return }
        sender.stop()
        senders[index] = nil
        let now = executor.now
        engine?.stopSending(section: index, now: now, into: &outputs)
        drain(now: now)
    }

    /// The connection ends: nothing is told to the engine, which goes too.
    func stopSenders() {
        for sender in senders { sender?.stop() }
        senders = []
    }

    func videoSender(_ section: Int) -> VideoSender? {
        guard senders.indices.contains(section), case .video(let sender) = senders[section] else { return nil }
        return sender
    }

    // MARK: From the encode threads

    private func sendVideo(_ frame: EncodedFrame, section: Int, publish: UInt64) {
        // What an unpublished track has left behind is not sent, not even when it is published again.
        guard !isClosed, let sender = videoSender(section), sender.publish == publish else { return }
        sender.worker.tookFrame()
        let now = executor.now
        engine?.sendVideo(frame, section: section, now: now, into: &outputs)
        drain(now: now)
    }

    private func sendAudio(_ packet: MediaBytes, timestamp: UInt32, section: Int, publish: UInt64) {
        guard !isClosed, senders.indices.contains(section), case .audio(let sender) = senders[section], sender.publish == publish
        else { return }
        sender.worker.tookPacket()
        let now = executor.now
        packet.withBytes { bytes in
            engine?.sendAudio(bytes, rtpTimestamp: timestamp, section: section, now: now, into: &outputs)
        }
        drain(now: now)
    }

    private func setCeiling(_ ceiling: Int, section: Int, publish: UInt64) {
        guard !isClosed, let sender = videoSender(section), sender.publish == publish else { return }
        var changed = sender
        changed.ceiling = ceiling
        senders[section] = .video(changed)
        applyCeiling(section: section)
    }

    // MARK: Rates

    func setBitrateLimits(min: Int?, start: Int?, max: Int?) throws(PeerError) {
        guard !isClosed else { throw PeerError(.invalidState, "the connection is closed") }
        if let min { bitrateLimits.min = Bitrate(bitsPerSecond: Int64(min)) }
        if let start { bitrateLimits.start = Bitrate(bitsPerSecond: Int64(start)) }
        if let max { bitrateLimits.max = Bitrate(bitsPerSecond: Int64(max)) }
        bitrateLimits = bitrateLimits.ordered
        guard engine != nil else { return }
        let now = executor.now
        engine?.setBitrateLimits(bitrateLimits, now: now, into: &outputs)
        // A maximum that the app asks for is what a track may use, whatever its pictures would need.
        if max != nil {
            hasExplicitMaximum = true
            for index in senders.indices { applyCeiling(section: index) }
        }
        drain(now: now)
    }

    func setBitrateLimits(track: String, min: Int?, max: Int?) throws(PeerError) {
        guard !isClosed else { throw PeerError(.invalidState, "the connection is closed") }
        var limits = trackLimits[track] ?? TrackBitrateLimits()
        if let min { limits.min = min }
        if let max { limits.max = max }
        trackLimits[track] = limits
        for (index, sender) in senders.enumerated() where sender?.track.name == track {
            applyCeiling(section: index)
            if let sender = videoSender(index), let rate = sender.engineRate { setSendRate(rate, section: index) }
        }
    }

    func setSendRate(_ bitsPerSecond: Int, section: Int) {
        guard var sender = videoSender(section) else { return }
        sender.engineRate = bitsPerSecond
        senders[section] = .video(sender)
        let limits = trackLimits[sender.track.name]
        sender.worker.setRate(bitsPerSecond: Swift.max(limits?.min ?? 0, Swift.min(limits?.max ?? .max, bitsPerSecond)))
    }

    private func applyCeiling(section: Int) {
        guard let sender = videoSender(section), let natural = sender.ceiling else { return }
        let explicit = trackLimits[sender.track.name]?.max ?? (hasExplicitMaximum ? Int(bitrateLimits.max.bitsPerSecond) : nil)
        let ceiling = explicit ?? natural
        let now = executor.now
        engine?.setVideoCeiling(Bitrate(bitsPerSecond: Int64(ceiling)), section: section, now: now, into: &outputs)
        drain(now: now)
    }

    // MARK: Out

    /// Protects and sends what the engine has written: RTP in order, then RTCP.
    func sendMedia() {
        // Before there are keys nothing can leave; nothing is published then.
        guard let srtp, let ice else { return drops.count(.sendFailed, by: UInt64(outputs.rtpPackets.count)) }
        outputs.rtpBytes.withUnsafeBytes { bytes in
            for range in outputs.rtpPackets { protectAndSend(bytes, range, isRTCP: false, srtp: srtp, ice: ice) }
        }
        outputs.rtcpBytes.withUnsafeBytes { bytes in
            for range in outputs.rtcpPackets { protectAndSend(bytes, range, isRTCP: true, srtp: srtp, ice: ice) }
        }
    }

    private func protectAndSend(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, isRTCP: Bool, srtp: SRTPSession, ice: ICEAgent
    ) {
        guard range.count + 64 <= sendScratch.count else { return drops.count(.oversizePacket) }
        sendScratch.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[range]))
        guard let count = srtp.protect(sendScratch, count: range.count, isRTCP: isRTCP) else { return drops.count(.srtpOther) }
        send(UnsafeRawBufferPointer(rebasing: sendScratch[..<count]), over: ice)
    }

    /// The wall clock at the monotonic clock's zero, for sender reports.
    static func wallClockOffset() -> NTPTimestamp {
        var wall = timespec()
        clock_gettime(CLOCK_REALTIME, &wall)
        let nanoseconds = Int64(wall.tv_sec) &* 1_000_000_000 &+ Int64(wall.tv_nsec)
        return NTPTimestamp(unixNanoseconds: nanoseconds &- NetworkExecutor.now().nanoseconds)
    }

    // MARK: Readings

    var availableOutgoingBitrate: Int? {
        guard senders.contains(where: { $0 != nil }), let targets = engine?.sendTargets else { return nil }
        return Int(targets.estimate.bitsPerSecond)
    }

    var outboundStatistics: [PeerStatistics.Outbound] {
        guard let session else { return [] }
        return session.sections.enumerated().compactMap { index, section -> PeerStatistics.Outbound? in
            guard section.sends, section.accepted, let stream = engine?.sendStatistics(section: index) else { return nil }
            var result = PeerStatistics.Outbound(track: section.trackName, kind: section.kind, ssrc: stream.ssrc)
            result.codec = section.kind == .audio ? "opus" : stream.codec?.rawValue
            result.packetsSent = Int(stream.packetsSent)
            result.bytesSent = Int(stream.bytesSent)
            result.retransmittedPackets = Int(stream.retransmittedPackets)
            result.targetBitrate = Int(stream.targetBitsPerSecond)
            result.framesSent = Int(stream.framesSent)
            result.framesDropped = Int(stream.framesDropped)
            result.keyFrames = Int(stream.keyFramesSent)
            result.nackCount = Int(stream.nacksReceived)
            result.pliCount = Int(stream.plisReceived)
            result.firCount = Int(stream.firsReceived)
            result.roundTripNanoseconds = stream.roundTripSeconds.map { Int64($0 * 1e9) }
            result.fractionLost = stream.fractionLost
            result.packetsLost = Int(stream.packetsLost)
            if let counts = videoSender(index)?.worker.counts {
                result.framesEncoded = Int(counts.encoded)
                result.framesDropped += Int(counts.dropped)
                result.framesPerSecond = counts.framesPerSecond
                result.width = counts.width
                result.height = counts.height
                result.totalEncodeSeconds = Double(counts.encodeNanoseconds) / 1e9
            }
            return result
        }
    }
}

/// The encode worker of a published section, and what it was told.
struct VideoSender {
    let worker: VideoEncodeWorker
    let track: LocalTrack
    let publish: UInt64
    /// What the pushed pictures can use; nil before the first.
    var ceiling: Int?
    /// What the engine allows.
    var engineRate: Int?

    init(worker: VideoEncodeWorker, track: LocalTrack, publish: UInt64) {
        self.worker = worker
        self.track = track
        self.publish = publish
    }
}

struct AudioSender {
    let worker: AudioEncodeWorker
    let track: LocalTrack
    let publish: UInt64
}

/// Where one section's media comes from.
enum MediaSender {
    case video(VideoSender)
    case audio(AudioSender)

    var track: LocalTrack {
        switch self {
        case .video(let sender): sender.track
        case .audio(let sender): sender.track
        }
    }

    func stop() {
        switch self {
        case .video(let sender):
            sender.track.detach(sender.worker)
            sender.worker.stop()
        case .audio(let sender):
            sender.track.detach(sender.worker)
            sender.worker.stop()
        }
    }
}

/// Bounds that the app set for one track's encoder, bits per second.
struct TrackBitrateLimits {
    var min: Int?
    var max: Int?
}
