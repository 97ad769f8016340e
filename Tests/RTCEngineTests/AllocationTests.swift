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

    @Test("an audio packet on its way through the jitter buffer allocates nothing, a block of sound once", optimizedOnly)
    func audio() {
        var generator = SplitMix64(seed: 4)
        var buffer = AudioJitterBuffer()
        var queue = PlayoutQueue()
        let tone = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 960)
        defer { tone.deallocate() }
        for (index, sample) in SyntheticSound.tone(200, frames: 0..<960).enumerated() { tone[index] = sample }
        let packet: [UInt8] = [0x48, 0x40, 1, 2, 3]
        var (blocks, allocations) = (0, 0)
        for step in 0..<3_000 as Range<Int64> {
            let now = MonotonicTime(milliseconds: step * 10)
            let before = callocation_counts_now()
            if step % 2 == 0, !generator.chance(0.05) {
                buffer.insert(sequence: 100 + step / 2, timestamp: UInt32(step * 480), payload: packet.span.bytes, arrival: now)
            }
            while queue.pendingFrames < 480 {
                switch buffer.pull(now: now, pendingSamples: queue.pendingFrames) {
                case .silence(let count): queue.appendSilence(frames: count)
                case let decision: queue.append(tone.prefix(decision.samples))
                }
            }
            // More than the buffer would ask for.
            _ = step % 8 == 0 ? queue.expand(about: 480) : queue.accelerate(atMost: 480, care: .urgent)
            _ = buffer.adjustment(now: now, pendingSamples: queue.pendingFrames)
            let block = queue.takeBlock(frames: 480)
            let count = Int(callocation_counts_now().allocations - before.allocations)
            #expect(block.count == 480)
            if step > 200 {
                allocations += count
                blocks += 1
            }
        }
        #expect(allocations == blocks)
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
