import CAllocationCounter
import PeerTestSupport
import RTCBase
import Synchronization
import Testing

@testable import RTCPeer

@Suite("LocalTrack", .timeLimit(.minutes(2)))
struct LocalTrackTests {
    private final class Frames: Sendable {
        let list = Mutex<[EncodedFrame]>([])
        var count: Int { list.withLock { $0.count } }
    }

    private let frames = Frames()
    /// Its pictures come from the heap, where they can be counted.
    private let track = LocalTrack(name: "webcam", kind: .video, pool: FrameBufferPool(maxCached: 3))

    private func attached() -> VideoEncodeWorker {
        let frames = frames
        let worker = VideoEncodeWorker(codec: .vp8, bitsPerSecond: 500_000, onCeiling: { _ in }) { frame in
            frames.list.withLock { $0.append(frame) }
        }
        track.attach(worker)
        return worker
    }

    private func encode(_ worker: VideoEncodeWorker, number: Int, _ metadata: FrameMetadata = FrameMetadata()) async {
        let before = frames.count
        track.push(width: 64, height: 48, number: number, metadata: metadata)
        #expect(await eventually { frames.count == before + 1 })
        worker.tookFrame()
    }

    @Test("wire protocol §7.3: which frames carry a trailer, numbered from 1, with the given capture time or the push's")
    func trailers() async {
        let worker = attached()
        let before = UInt64(NetworkThread.now().nanoseconds / 1000)
        await encode(worker, number: 0)
        await encode(worker, number: 1, FrameMetadata(frameID: 77, userData: []))
        await encode(worker, number: 2, FrameMetadata(userData: [1, 2, 3]))
        await encode(worker, number: 3, FrameMetadata(captureTimeMicros: before - 1234))
        await encode(worker, number: 4)
        await encode(worker, number: 5, FrameMetadata(captureTimeMicros: 42, userData: [9]))
        worker.stop()
        let after = UInt64(NetworkThread.now().nanoseconds / 1000)
        let got = frames.list.withLock { $0.map(\.metadata) }
        #expect(got.map { $0?.frameID } == [nil, nil, 1, 2, nil, 3])
        #expect(got[2]?.userData == [1, 2, 3])
        #expect((before...after).contains(got[2]?.captureTimeMicros ?? 0))
        #expect(got[3]?.captureTimeMicros == before - 1234 && got[3]?.userData == nil)
        #expect(got[5]?.captureTimeMicros == 42 && got[5]?.userData == [9])
    }

    @Test("RTP times are those of the capture times, one clock for all tracks")
    func captureTimes() async {
        let worker = attached()
        let now = UInt64(NetworkThread.now().nanoseconds / 1000)
        for number in 0..<5 {
            await encode(worker, number: number, FrameMetadata(captureTimeMicros: now - 500_000 + UInt64(number) * 40_000))
        }
        worker.stop()
        let times = frames.list.withLock { $0.map(\.rtpTimestamp) }
        #expect(times.first == UInt32(truncatingIfNeeded: CaptureStamper.ticks(micros: Int64(now) - 500_000)))
        #expect(zip(times, times.dropFirst()).allSatisfy { abs(Int($1 &- $0) - 3600) <= 1 })
    }

    @Test("T-22 a push makes no copy of the picture and asks for no memory of its size", .enabled(if: callocation_is_available() == 1))
    func allocations() async {
        let worker = attached()
        let pixels = PushedPictures.bgra(width: 640, height: 360, number: 3)
        func push() { pixels.withUnsafeBytes { _ = track.push(bgra: $0, width: 640, height: 360) } }
        // With a full house: one picture being encoded, one waiting, one being made.
        for _ in 0..<50 {
            push()
            while worker.counts.encoded == 0 { await Task.yield() }
        }
        let before = callocation_counts_now()
        for _ in 0..<100 { push() }
        let after = callocation_counts_now()
        worker.stop()
        // A picture has 345600 bytes as I420 and 921600 as BGRA. The last of the three blocks may come now; the rest are the
        // small boxes around the pictures.
        #expect(after.bytes - before.bytes < 450_000, "\(after.bytes - before.bytes) bytes in 100 pushes")
    }

    @Test("a buffer that does not fit its size is refused and counted, and the next is taken")
    func refusals() async {
        let worker = attached()
        let pixels = [UInt8](repeating: 0, count: 64 * 48 * 4 - 1)
        #expect(!pixels.withUnsafeBytes { track.push(bgra: $0, width: 64, height: 48) })
        #expect(!pixels.withUnsafeBytes { track.push(bgra: $0, width: 0, height: 48) })
        #expect(!pixels.withUnsafeBytes { track.push(bgra: $0, width: -1, height: 48) })
        #expect(!pixels.withUnsafeBytes { track.push(bgra: $0, width: 1 << 40, height: 1 << 40) })
        #expect(track.counts.dropped == 4)
        await encode(worker, number: 1)
        worker.stop()
    }

    @Test("several threads may push at once; what is encoded keeps the order of the pushes")
    func manyThreads() async {
        let worker = attached()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<100 { track.push(width: 64, height: 48, number: number) }
                }
            }
        }
        #expect(
            await eventually {
                let counts = track.counts; return counts.encoded + counts.dropped == 400
            })
        worker.stop()
        let times = frames.list.withLock { $0.map(\.rtpTimestamp) }
        #expect(zip(times, times.dropFirst()).allSatisfy { Int32(bitPattern: $1 &- $0) > 0 })
    }

    @Test("a worker that is not the present one takes nothing away when it is detached")
    func detach() {
        let first = attached()
        let second = attached()
        track.detach(first)
        #expect(track.isPublished)
        track.detach(second)
        #expect(!track.isPublished)
        first.stop()
        second.stop()
    }
}
