import Foundation
import RTCBase
import RTCCodec
import RTCPeer
import RTCSimulation

/// What the whole process spends on publishing 720p at 30 pictures per second, next to the encoder and the conversion to
/// I420 alone, given the same pictures, pace and bitrate in the same run. The whole is two connections of ours over
/// loopback: push, encode, packets, pacing, encryption, sockets, and the far end too, up to whole frames; only the
/// decoder is left out.
enum PublishBenchmark {
    @concurrent
    static func run(_ options: BenchmarkOptions, into report: inout BenchmarkReport) async throws {
        for codec in [VideoCodec.vp9, .vp8] {
            let name = "publish/\(codec.rawValue.lowercased())-720p30"
            guard options.includes(name) else { continue }
            let pictures = BGRAPictures(count: 24)
            let call = try await PublishedCall(codec: codec)
            let frames = options.isSmoke ? 60 : 300
            // The rate settles and buffers fill before anything is counted.
            _ = play(pictures, count: 60) { call.push($0) }
            var whole: [Double] = []
            var bare: [Double] = []
            var threads = ThreadTimes()
            for round in 0..<(options.isSmoke ? 1 : 3) {
                let before = ThreadTimes.now()
                let encodedBefore = await call.outbound.framesEncoded
                let spent = play(pictures, count: frames) { call.push($0) }
                threads.add(.now(), since: before)
                // On a busy machine pictures are replaced before their turn: what counts is what became a frame.
                let encoded = await call.outbound.framesEncoded - encodedBefore
                whole.append(spent / Double(max(1, encoded)) / 1e6)
                let rate = await call.targetBitrate
                let encoder = try BareEncoder(codec: codec, bitsPerSecond: rate)
                _ = play(pictures, count: 15) { encoder.encode($0) }
                bare.append(play(pictures, count: frames) { encoder.encode($0) } / Double(frames) / 1e6)
                print(
                    "\(name) round \(round + 1): \(encoded) of \(frames) encoded at \(rate / 1000) kbit/s; the bare encoder made "
                        + "\(encoder.bytes * 8 * 30 / (frames + 15) / 1000) kbit/s")
            }
            let outbound = await call.outbound
            print(
                "\(name): \(outbound.framesEncoded) encoded, \(outbound.framesSent) sent, \(outbound.framesDropped) dropped, "
                    + "\(outbound.bytesSent / 1000) kB in \(outbound.packetsSent) packets, \(outbound.width)x\(outbound.height)")
            print("\(name) by thread: \(threads.summary(frames: frames * whole.count))")
            report.add(name, unit: "ms/frame", samples: whole, reference: ("bare encoder + conversion", bare))
            await call.end()
        }
    }

    /// Shows pictures at 30 per second and returns the nanoseconds of processor time that the process spent.
    private static func play(_ pictures: BGRAPictures, count: Int, _ push: (UnsafeRawBufferPointer) -> Void) -> Double {
        let began = NetworkThread.now()
        let before = processNanoseconds
        for number in 0..<count {
            let due = began.adding(nanoseconds: Int64(number) * 33_333_333)
            let wait = due.nanoseconds(since: NetworkThread.now())
            if wait > 0 { usleep(UInt32(wait / 1000)) }
            push(pictures[number])
        }
        // The last one's turn.
        usleep(33_000)
        return processNanoseconds - before
    }

    private static var processNanoseconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }

    fileprivate static let width = 1280
    fileprivate static let height = 720
}

/// The reference: what a caller would do with the two codec classes alone. Used on one thread.
private final class BareEncoder {
    private let encoder: VPXEncoder
    private let pool = FrameBufferPool(maxCached: 3)
    private var time: UInt32 = 0
    private(set) var bytes = 0

    init(codec: VideoCodec, bitsPerSecond: Int) throws {
        encoder = try VPXEncoder(settings: .init(codec: codec, bitsPerSecond: bitsPerSecond))
    }

    func encode(_ pixels: UnsafeRawBufferPointer) {
        guard
            var picture = PixelConverter.bgraToI420(
                pixels, width: PublishBenchmark.width, height: PublishBenchmark.height, pool: pool)
        else { return }
        time &+= 3000
        picture.rtpTimestamp = time
        bytes += (try? encoder.encode(picture, pool: pool))?.bytes.count ?? 0
    }
}

/// Two connections of this process, one publishing to the other.
private final class PublishedCall: Sendable {
    private let track = LocalTrack(name: "webcam", kind: .video)
    private let offerer: PeerConnection
    private let answerer: PeerConnection

    @concurrent
    init(codec: VideoCodec) async throws {
        var configuration = PeerConfiguration()
        configuration.videoCodecs = [codec]
        let up = AsyncStream<Void>.makeStream()
        offerer = try await PeerConnection(
            configuration: configuration, tracks: [TrackDeclaration(name: "webcam", kind: .video, direction: .sendonly)],
            remoteTracks: [:], localTracks: ["webcam": track]
        ) { event in
            if case .dtlsConnected = event { up.continuation.finish() }
        }
        answerer = try await PeerConnection(
            configuration: configuration, tracks: [TrackDeclaration(name: "webcam", kind: .video, direction: .recvonly)],
            remoteTracks: [:]
        ) { _ in }
        let offer = try await offerer.makeOffer()
        let answer = try await answerer.makeAnswer(to: offer.sdp)
        _ = try await offerer.apply(answer: answer.sdp)
        for await _ in up.stream {}
        // A rate that 720p uses whole, and that nothing on the way changes.
        try await offerer.setBitrateLimits(min: 2_500_000, start: 2_500_000, max: 2_500_000)
        try await offerer.setPublishing(true, track: "webcam")
    }

    func push(_ pixels: UnsafeRawBufferPointer) {
        track.push(bgra: pixels, width: PublishBenchmark.width, height: PublishBenchmark.height)
    }

    var outbound: PeerStatistics.Outbound {
        get async {
            await offerer.statistics.outbound.first ?? PeerStatistics.Outbound(track: "webcam", kind: .video, ssrc: 0)
        }
    }

    var targetBitrate: Int { get async { max(100_000, await outbound.targetBitrate) } }

    func end() async {
        await offerer.close()
        await answerer.close()
    }
}

/// A pattern that scrolls, with grain, so that an encoder has to spend its bitrate. Played forwards and backwards.
private final class BGRAPictures {
    private let memory: [UnsafeMutableRawBufferPointer]

    init(count: Int) {
        var generator = SplitMix64(seed: 11)
        let noise = (0..<65_536).map { _ in UInt8(truncatingIfNeeded: generator.next() & 15) }
        memory = (0..<count).map { index in
            let width = PublishBenchmark.width
            let pixels = UnsafeMutableRawBufferPointer.allocate(byteCount: width * PublishBenchmark.height * 4, alignment: 64)
            let words = pixels.bindMemory(to: UInt32.self)
            for y in 0..<PublishBenchmark.height {
                for x in 0..<width {
                    let wave = ((x + index * 4) / 8 ^ (y + index * 2) / 8) & 0x3F
                    let grain = Int(noise[(y * 131 + x * 7 + index * 8191) & 65_535])
                    let value = UInt32(64 + wave * 2 + grain)
                    words[y * width + x] = 0xFF00_0000 | value << 16 | (value ^ 0x10) << 8 | value
                }
            }
            return pixels
        }
    }

    deinit { for pixels in memory { pixels.deallocate() } }

    subscript(number: Int) -> UnsafeRawBufferPointer {
        let period = 2 * (memory.count - 1)
        let position = number % period
        return UnsafeRawBufferPointer(memory[position < memory.count ? position : period - position])
    }
}

/// Processor time of this process's threads by name, in nanoseconds, as Linux counts it.
private struct ThreadTimes {
    private var byName: [String: Int64] = [:]

    static func now() -> ThreadTimes {
        var times = ThreadTimes()
        let folder = "/proc/self/task"
        for id in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard let name = try? String(contentsOfFile: "\(folder)/\(id)/comm", encoding: .utf8),
                let schedule = try? String(contentsOfFile: "\(folder)/\(id)/schedstat", encoding: .utf8),
                let spent = schedule.split(separator: " ").first.flatMap({ Int64($0) })
            else { continue }
            let key = name.trimmingCharacters(in: .whitespacesAndNewlines)
            times.byName[key.hasPrefix("reactor") ? key : "pushing and others", default: 0] += spent
        }
        return times
    }

    mutating func add(_ later: ThreadTimes, since earlier: ThreadTimes) {
        for (name, value) in later.byName { byName[name, default: 0] += value - (earlier.byName[name] ?? 0) }
    }

    func summary(frames: Int) -> String {
        byName.sorted { $0.value > $1.value }
            .map { "\($0.key) \(String(format: "%.3f", Double($0.value) / Double(max(1, frames)) / 1e6)) ms/frame" }
            .joined(separator: ", ")
    }
}
