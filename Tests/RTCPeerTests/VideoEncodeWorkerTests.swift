import Dispatch
import PeerTestSupport
import RTCBase
import RTCTransport
import RTCCodec
import Synchronization
import Testing

@testable import RTCPeer

/// What a worker made, and a way to hold its thread up.
private final class EncodedLog: Sendable {
    private struct State {
        var frames: [EncodedFrame] = []
        var ceilings: [Int] = []
    }

    private let state = Mutex(State())
    /// Taken before each frame: with a value of 0 the encode thread waits in its hand-over.
    let gate = DispatchSemaphore(value: 0)

    func append(_ frame: EncodedFrame) {
        state.withLock { $0.frames.append(frame) }
        gate.wait()
    }
    func append(ceiling: Int) { state.withLock { $0.ceilings.append(ceiling) } }

    var frames: [EncodedFrame] { state.withLock { $0.frames } }
    var ceilings: [Int] { state.withLock { $0.ceilings } }
}

@Suite("VideoEncodeWorker", .timeLimit(.minutes(2)))
struct VideoEncodeWorkerTests {
    private let log = EncodedLog()
    private let track = LocalTrack(name: "webcam", kind: .video)

    /// An attached worker. `isOpen` lets every frame pass; otherwise each waits for a signal of the gate.
    private func start(_ codec: VideoCodec = .vp8, bitsPerSecond: Int = 1_000_000, isOpen: Bool = true) -> VideoEncodeWorker {
        let log = log
        let worker = VideoEncodeWorker(
            codec: codec, bitsPerSecond: bitsPerSecond, onCeiling: { log.append(ceiling: $0) }, onFrame: { log.append($0) })
        track.attach(worker)
        if isOpen { for _ in 0..<1000 { log.gate.signal() } }
        return worker
    }

    /// Pushes one picture and waits for its frame.
    private func encode(_ worker: VideoEncodeWorker, width: Int = 160, height: Int = 90, number: Int) async {
        let before = log.frames.count
        track.push(width: width, height: height, number: number)
        #expect(await eventually { log.frames.count == before + 1 })
        worker.tookFrame()
    }

    private func numbers(_ frames: [EncodedFrame]) throws -> [Int] {
        let pool = FrameBufferPool()
        let codec = frames.first?.codec ?? .vp8
        let decoder = try VPXDecoder(codec: codec)
        return try frames.compactMap { frame in try decoder.decode(frame, pool: pool).map(PushedPictures.number) }
    }

    @Test("pictures come out in order, the first as a key frame, with growing times", arguments: [VideoCodec.vp8, .vp9])
    func order(codec: VideoCodec) async throws {
        let worker = start(codec)
        for number in 0..<10 { await encode(worker, number: number) }
        worker.stop()
        let frames = log.frames
        #expect(frames.map(\.isKeyFrame) == [true] + [Bool](repeating: false, count: 9))
        #expect(frames.map(\.codec) == [VideoCodec](repeating: codec, count: 10))
        #expect(zip(frames, frames.dropFirst()).allSatisfy { Int32(bitPattern: $1.rtpTimestamp &- $0.rtpTimestamp) > 0 })
        #expect(try numbers(frames) == Array(0..<10))
        #expect(track.counts == .init(pushed: 10, encoded: 10, dropped: 0))
    }

    @Test("while the encoder is busy the newest picture wins, and whoever pushes does not wait")
    func newestWins() async throws {
        let worker = start(isOpen: false)
        track.push(width: 160, height: 90, number: 1)
        #expect(await eventually { log.frames.count == 1 })
        // The thread now waits with its first frame; all of these come meanwhile.
        for number in 2...50 { track.push(width: 160, height: 90, number: number) }
        log.gate.signal()
        #expect(await eventually { log.frames.count == 2 })
        log.gate.signal()
        worker.stop()
        #expect(try numbers(log.frames) == [1, 50])
        #expect(worker.counts.replaced == 48)
        #expect(track.counts == .init(pushed: 50, encoded: 2, dropped: 48))
    }

    /// Numbers of the frames that come of pictures pushed this many milliseconds after one that is being encoded.
    private func encoded(pushedAfter milliseconds: [Int64]) async throws -> [Int] {
        let worker = start(isOpen: false)
        let begin = NetworkExecutor.now()
        let pool = FrameBufferPool()
        for (number, delay) in ([0] + milliseconds).enumerated() {
            let picture = PushedPictures.planes(width: 160, height: 90, number: number, pool: pool)
            worker.submit(
                .init(
                    picture: picture, number: UInt64(number + 1), rtpTimestamp: UInt32(delay * 90),
                    pushed: begin.adding(nanoseconds: delay * 1_000_000)))
            if number == 0 { #expect(await eventually { log.frames.count == 1 }) }
        }
        let waiting = milliseconds.count - Int(worker.counts.replaced)
        for _ in 0..<waiting + 1 { log.gate.signal() }
        #expect(await eventually { log.frames.count == waiting + 1 })
        worker.stop()
        return try numbers(log.frames)
    }

    @Test(
        "at a camera's pace one picture more waits for a thread that is late; of three the oldest goes, of a burst the one before",
        arguments: [
            ([33], [0, 1]), ([33, 66], [0, 1, 2]), ([33, 66, 100], [0, 2, 3]), ([33, 34, 35], [0, 3]), ([33, 66, 67], [0, 1, 3]),
        ])
    func late(pushed: [Int64], expected: [Int]) async throws { #expect(try await encoded(pushedAfter: pushed) == expected) }

    @Test("RTP-19 a requested key frame is the next one, once")
    func keyFrame() async {
        let worker = start()
        for number in 0..<3 { await encode(worker, number: number) }
        worker.requestKeyFrame()
        worker.requestKeyFrame()
        for number in 3..<6 { await encode(worker, number: number) }
        worker.stop()
        #expect(log.frames.map(\.isKeyFrame) == [true, false, false, true, false, false])
        #expect(worker.counts.keyFrames == 2)
    }

    @Test("a new rate is followed without a key frame", arguments: [VideoCodec.vp8, .vp9])
    func rate(codec: VideoCodec) async {
        let worker = start(codec, bitsPerSecond: 2_000_000)
        for number in 0..<20 { await encode(worker, width: 320, height: 180, number: number * 7) }
        worker.setRate(bitsPerSecond: 150_000)
        for number in 20..<40 { await encode(worker, width: 320, height: 180, number: number * 7) }
        worker.stop()
        let frames = log.frames
        #expect(frames.dropFirst().allSatisfy { !$0.isKeyFrame })
        let high = frames[10..<20].reduce(0) { $0 + $1.bytes.count }
        let low = frames[30..<40].reduce(0) { $0 + $1.bytes.count }
        #expect(low < high, "\(low) against \(high)")
    }

    @Test("while the network is behind pictures are skipped, counted, and not even converted")
    func congested() async {
        let worker = start()
        await encode(worker, number: 0)
        worker.setCongested(true)
        for number in 1...5 { track.push(width: 160, height: 90, number: number) }
        worker.setCongested(false)
        await encode(worker, number: 6)
        worker.stop()
        #expect(worker.counts.skipped == 5)
        #expect(log.frames.count == 2)
    }

    @Test("a network thread that takes nothing gets no more than eight frames")
    func handedOver() async {
        let worker = start()
        for number in 0..<8 {
            track.push(width: 160, height: 90, number: number)
            #expect(await eventually { log.frames.count == number + 1 })
        }
        track.push(width: 160, height: 90, number: 8)
        #expect(worker.counts.skipped == 1)
        worker.tookFrame()
        track.push(width: 160, height: 90, number: 9)
        #expect(await eventually { log.frames.count == 9 })
        worker.stop()
    }

    @Test("VID-10 sizes change between pictures, odd ones too", arguments: [VideoCodec.vp8, .vp9])
    func sizes(codec: VideoCodec) async throws {
        let worker = start(codec, bitsPerSecond: 4_000_000)
        let sizes = [(320, 180), (641, 361), (1280, 720), (160, 90), (853, 479), (1, 1), (320, 180)]
        for (width, height) in sizes { await encode(worker, width: width, height: height, number: 5) }
        worker.stop()
        let pool = FrameBufferPool()
        let decoder = try VPXDecoder(codec: codec)
        let decoded = try log.frames.map { frame in try #require(try decoder.decode(frame, pool: pool)) }
        #expect(decoded.map(\.width) == sizes.map(\.0) && decoded.map(\.height) == sizes.map(\.1))
        #expect(log.ceilings.count >= sizes.count)
        #expect((log.ceilings.max() ?? 0) >= ResolutionAdapter.ceiling(width: 1280, height: 720))
    }

    @Test("the thread ends with stop, and what is pushed afterwards is nothing")
    func stop() async {
        let worker = start()
        await encode(worker, number: 0)
        worker.stop()
        track.detach(worker)
        #expect(!track.push(width: 160, height: 90, number: 1))
        #expect(!track.isPublished)
        weak let released = worker
        _ = consume worker
        #expect(await eventually { released == nil })
        #expect(log.frames.count == 1)
    }
}
