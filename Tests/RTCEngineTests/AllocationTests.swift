import CAllocationCounter
import RTCBase
import RTCEngine
import RTCSimulation
import Testing

/// What generic code does before it is specialised says nothing about a release; the benchmarks count the same in CI.
private let optimizedOnly = ConditionTrait.enabled(if: !isDebug, "a debug build allocates in unspecialised code; use -c release")
private var isDebug: Bool {
    #if DEBUG
        true
    #else
        false
    #endif
}

/// Counts with the process's own malloc; not available under a sanitizer or without glibc.
@Suite(.enabled(if: callocation_is_available() == 1, "allocations cannot be counted here"))
struct AllocationTests {
    /// Allocations of the calls that completed nothing, of those that gave out a frame, and of those that wrote RTCP.
    private struct Counts: Equatable {
        var packets = 0
        var frames = 0
        var reports = 0
        var most = 0
    }

    @Test(
        "after a warm-up a packet allocates nothing, a frame once, feedback and reports nothing", optimizedOnly,
        arguments: [VideoCodec.vp9, .vp8])
    func steadyState(codec: VideoCodec) {
        let (counts, frames, reports) = play(codec: codec, sendsMetadata: false)
        #expect(frames > 50 && reports > 50)
        #expect(counts == Counts(packets: 0, frames: frames, reports: 0, most: 1))
    }

    @Test("user data of a trailer stays in the frame's memory: still one allocation", optimizedOnly)
    func metadata() {
        let (counts, frames, _) = play(codec: .vp9, sendsMetadata: true)
        #expect(counts == Counts(packets: 0, frames: frames, reports: 0, most: 1))
    }

    @Test("the counter sees what Swift and C allocate and free on this thread")
    func counter() {
        let before = callocation_counts_now()
        let block = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 16)
        let aligned = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 64)
        let held = callocation_counts_now()
        block.deallocate()
        aligned.deallocate()
        let after = callocation_counts_now()
        #expect(held.allocations - before.allocations == 2)
        #expect(held.bytes - before.bytes >= 200)
        #expect(after.frees - held.frees == 2)
    }

    private func play(codec: VideoCodec, sendsMetadata: Bool) -> (Counts, frames: Int, reports: Int) {
        var configuration = RecordedStream.Configuration()
        configuration.codec = codec
        configuration.frameCount = 150
        configuration.sendsMetadata = sendsMetadata
        let stream = RecordedStream(configuration)
        var engine = PeerEngine(
            session: RecordedStream.session(codec: codec, usesFrameMetadata: sendsMetadata), localSSRC: 7, cname: "cname",
            pool: FrameBufferPool(maxCached: 16))
        var outputs = EngineOutputs()
        var counts = Counts()
        var (frames, reports) = (0, 0)
        // Reports of the first second leave before the counting begins.
        let warmUp = stream.datagrams[0].arrival.adding(milliseconds: 2_500)
        for datagram in stream.datagrams {
            var deadline = engine.nextDeadline()
            repeat {
                let before = callocation_counts_now()
                let isTimeout = deadline.map { $0 <= datagram.arrival } ?? false
                if let due = deadline, isTimeout {
                    engine.handleTimeout(now: due, into: &outputs)
                } else if datagram.isRTCP {
                    engine.handleRTCP(datagram.bytes.span.bytes, now: datagram.arrival, into: &outputs)
                } else {
                    engine.handleRTP(datagram.bytes.span.bytes, now: datagram.arrival, into: &outputs)
                }
                let count = Int(callocation_counts_now().allocations - before.allocations)
                if datagram.arrival >= warmUp {
                    counts.most = max(counts.most, count)
                    frames += outputs.frames.count
                    reports += outputs.rtcpPackets.count
                    if !outputs.frames.isEmpty {
                        counts.frames += count
                    } else if !outputs.rtcpPackets.isEmpty {
                        counts.reports += count
                    } else {
                        counts.packets += count
                    }
                }
                outputs.removeAll()
                deadline = isTimeout ? engine.nextDeadline() : nil
                if !isTimeout { break }
            } while true
        }
        return (counts, frames, reports)
    }
}
