import CAllocationCounter
import RTCBase
import RTCEngine
import RTCSimulation
import Testing

/// Counts with the process's own malloc; not available under a sanitizer or without glibc.
@Suite(.enabled(if: callocation_is_available() == 1, "allocations cannot be counted here"))
struct SendAllocationTests {
    private static var isDebug: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }

    @Test(
        "after a warm-up neither a frame nor its packets allocate anything, with and without trailers, nor does audio",
        .enabled(if: !isDebug, "a debug build allocates in unspecialised code; use -c release"), arguments: VideoCodec.allCases,
        [false, true])
    func steadyState(codec: VideoCodec, hasMetadata: Bool) {
        let rate = Bitrate(bitsPerSecond: 4_000_000)
        var engine = PeerEngine(
            session: TwoPeers.session(1, true, isSender: true), localSSRC: 7, cname: "cname", pool: FrameBufferPool(),
            send: SendSettings(limits: BitrateLimits(min: rate, start: rate, max: rate), seed: 1))
        var out = EngineOutputs()
        var now = start
        engine.startSending(section: 0, now: now, into: &out)
        engine.startSending(section: 1, now: now, into: &out)
        let bytes = SyntheticFrame.bytes(number: 1, codec: codec, isKeyFrame: false, count: 14_000)
        let metadata = hasMetadata ? FrameMetadata(frameID: 7, captureTimeMicros: 8, userData: FrameUserData([1, 2, 3])) : nil
        let audio = [0xF8] + [UInt8](repeating: 1, count: 79)
        let (warmUp, count) = (150, 450)
        var (packets, reports) = (0, 0)
        var allocations = 0
        for index in 0..<count {
            let frame = TwoPeers.frame(bytes, codec: codec, isKeyFrame: index == 0, captured: now, metadata: metadata)
            let next = now.adding(nanoseconds: 33_333_333)
            let before = callocation_counts_now()
            engine.sendVideo(frame, section: 0, now: now, into: &out)
            engine.sendAudio(audio.span.bytes, rtpTimestamp: UInt32(index) &* 1600, section: 1, now: now, into: &out)
            while let deadline = engine.nextDeadline(), deadline < next {
                engine.handleTimeout(now: max(deadline, now), into: &out)
                now = max(deadline, now)
                if index >= warmUp { (packets, reports) = (packets + out.rtpPackets.count, reports + out.rtcpPackets.count) }
                out.removeAll()
            }
            if index >= warmUp { allocations += Int(callocation_counts_now().allocations - before.allocations) }
            out.removeAll()
            now = next
        }
        #expect(packets > 2_000 && reports > 5)
        #expect(allocations == 0)
    }
}
