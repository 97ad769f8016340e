internal import RTCBase
internal import RTCEngine
internal import RTCTransport
internal import RTCWire

// Streams in, and the doorway to the decode threads.
extension PeerCore {
    func startMedia(_ session: NegotiatedSession) {
        engine = PeerEngine(
            session: session, localSSRC: UInt32.random(in: 1...UInt32.max), cname: offerConfiguration.cname, pool: framePool,
            send: SendSettings(limits: bitrateLimits, seed: UInt64.random(in: 0...UInt64.max), ntpOffset: Self.wallClockOffset()))
        senders = Array(repeating: nil, count: session.sections.count)
        receivers = session.sections.enumerated().map { index, section in
            guard section.accepted, section.receives, let track = remoteTracks[section.trackName] else { return nil }
            track.resetFirstFrameTime()
            switch section.kind {
            case .video:
                let executor = self.executor
                // The worker asks from its own thread; the request is made on the network thread.
                let box = WeakCore(self)
                return .video(
                    VideoDecodeWorker(track: track) {
                        executor.execute { box.core?.requestKeyFrame(section: index) }
                    })
            case .audio:
                return .audio(AudioWorker(track: track))
            }
        }
    }

    func requestKeyFrame(section: Int) {
        guard !isClosed, engine != nil else { return }
        let now = executor.now
        engine?.requestKeyFrame(section: section, now: now, into: &outputs)
        drain(now: now)
    }

    func setReceiving(_ isReceiving: Bool, track: String) {
        guard !isClosed, let index = session?.sections.firstIndex(where: { $0.trackName == track }) else { return }
        let now = executor.now
        engine?.setReceiving(isReceiving, section: index, now: now)
        if case .audio(let worker) = receivers[index] { worker.setReceiving(isReceiving) }
        rearm()
    }

    /// Audio payloads leave while the packet is still in the scratch buffer: one copy, into the jitter buffer.
    func deliverAudio(from packet: RawSpan) {
        guard !outputs.audio.isEmpty else { return }
        for arrival in outputs.audio {
            guard case .audio(let worker) = receivers[arrival.section] else { continue }
            worker.insert(
                packet.extracting(arrival.payload), sequence: arrival.sequence, timestamp: arrival.timestamp, arrival: arrival.arrival)
        }
        outputs.audio.removeAll(keepingCapacity: true)
    }

    var inboundStatistics: [PeerStatistics.Inbound] {
        guard let session else { return [] }
        return session.sections.enumerated().compactMap { index, section -> PeerStatistics.Inbound? in
            guard section.receives, section.accepted else { return nil }
            guard let stream = engine?.statistics(section: index) else { return nil }
            var result = PeerStatistics.Inbound(
                track: section.trackName, kind: section.kind, ssrc: stream.ssrc ?? 0,
                codec: section.kind == .audio ? "opus" : stream.codec?.rawValue,
                packetsReceived: Int(stream.packetsReceived), packetsLost: Int(stream.packetsLost),
                bytesReceived: Int(stream.bytesReceived), retransmittedPackets: Int(stream.retransmittedReceived),
                jitterSeconds: stream.jitterSeconds, nackCount: Int(stream.nacksSent), pliCount: Int(stream.plisSent),
                firCount: Int(stream.firsSent), framesAssembled: Int(stream.framesAssembled), framesDecoded: 0,
                framesDropped: Int(stream.framesDropped), keyFrames: Int(stream.keyFrames), decodeErrors: 0,
                totalDecodeSeconds: 0, totalAssembleSeconds: 0, width: 0, height: 0)
            if case .video(let worker) = receivers[index] {
                let counts = worker.counts
                result.framesDecoded = Int(counts.decoded)
                result.framesDropped += Int(counts.dropped)
                result.decodeErrors = Int(counts.decodeErrors)
                result.lastDecodeError = counts.lastDecodeError.map { "\($0)" }
                result.totalDecodeSeconds = Double(counts.decodeNanoseconds) / 1e9
                result.totalAssembleSeconds = Double(counts.assembleNanoseconds) / 1e9
                result.width = counts.width
                result.height = counts.height
                result.playoutDelayMilliseconds = Double(counts.playoutDelayNanoseconds) / 1e6
            }
            if case .audio(let worker) = receivers[index] {
                result.audio = PeerStatistics.InboundAudio(worker.statistics)
                result.decodeErrors = Int(worker.decodeErrors)
            }
            return result
        }
    }
}

/// Where one section's media goes.
enum MediaReceiver {
    case video(VideoDecodeWorker)
    case audio(AudioWorker)

    func submit(_ frame: EncodedFrame) {
        if case .video(let worker) = self { worker.submit(frame) }
    }

    func stop() {
        switch self {
        case .video(let worker): worker.stop()
        case .audio(let worker): worker.stop()
        }
    }
}

/// A weak way back to the network thread's object for other threads: they only carry it; `core` is read on the
/// network thread alone.
final class WeakCore: @unchecked Sendable {  // protected by being read on the network thread only
    private(set) weak var core: PeerCore?
    init(_ core: PeerCore) { self.core = core }
}
