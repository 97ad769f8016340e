import RTCBase
import RTCCodec
import ReactorCore
import Synchronization
import Testing

@testable import ReactorTesting

/// A library in virtual time, coding on the caller's thread, and what a model sends to it.
final class RecordingStage: Sendable {
    private struct State {
        var now = MonotonicTime(milliseconds: 50_000)
        var unixMilliseconds: Int64 = 1_800_000_000_000
        var isHeldUp = false
        var waiting: [SessionRecorder] = []
        var frame = 0
        var phase = 0
    }

    private let state: Mutex<State>
    let library: RecordingLibrary
    /// The library's sleeps, each with what ends it; only of a stage that sweeps.
    let sleeps = BacklogQueue<(Duration, CheckedContinuation<Void, Never>)>(capacity: 8)
    let width: Int
    let height: Int
    static let toneHertz = 880.0

    init(settings: RecordingSettings = RecordingSettings(), width: Int = 320, height: Int = 180, sweeps: Bool = false) {
        let box = StateBox()
        let sleeps = sleeps
        self.width = width
        self.height = height
        state = Mutex(State())
        library = RecordingLibrary(
            settings: settings,
            environment: .init(
                now: { box.stage?.now ?? MonotonicTime(nanoseconds: 0) },
                unixMilliseconds: { box.stage?.unixMilliseconds ?? 0 },
                schedule: { box.stage?.schedule($0) ?? false },
                sleep: { duration in
                    guard sweeps else { throw CancellationError() }
                    await withCheckedContinuation { _ = sleeps.put((duration, $0)) }
                }))
        box.set(self)
    }

    var now: MonotonicTime { state.withLock { $0.now } }
    var unixMilliseconds: Int64 { state.withLock { $0.unixMilliseconds } }
    var framesPushed: Int { state.withLock { $0.frame } }

    func advance(seconds: Double) {
        state.withLock { state in
            state.now = state.now.adding(nanoseconds: Int64(seconds * 1e9))
            state.unixMilliseconds += Int64(seconds * 1000)
        }
    }

    /// While held up, the worker does nothing.
    func setHeldUp(_ isHeldUp: Bool) {
        let waiting = state.withLock { state in
            state.isHeldUp = isHeldUp
            defer { if !isHeldUp { state.waiting.removeAll() } }
            return isHeldUp ? [] : state.waiting
        }
        for recorder in waiting { recorder.work() }
    }

    private func schedule(_ recorder: SessionRecorder) -> Bool {
        let isHeldUp = state.withLock { state in
            if state.isHeldUp { state.waiting.append(recorder) }
            return state.isHeldUp
        }
        if !isHeldUp { recorder.work() }
        return true
    }

    /// What a model of 30 pictures a second and with blocks of 20 ms sends in so much time; the clock goes on with it.
    func play(_ recorder: SessionRecorder, seconds: Double, pictures: Bool = true, sound: Bool = true) {
        let ticks = Int((seconds * 150).rounded())  // of 1/150 s: a picture each five, a block each three
        for tick in 0..<ticks {
            if pictures, tick % 5 == 0 { pushPicture(recorder) }
            advance(seconds: 1.0 / 150)
            if sound, tick % 3 == 2 { pushTone(recorder, samples: 960) }
        }
    }

    func pushPicture(_ recorder: SessionRecorder, width: Int? = nil, height: Int? = nil) {
        let number = state.withLock { state in
            defer { state.frame += 1 }
            return state.frame
        }
        let (width, height) = (width ?? self.width, height ?? self.height)
        let pixels = NumberedPicture.bgra(number, width: width, height: height)
        pixels.withUnsafeBytes { recorder.push(bgra: $0, width: width, height: height) }
    }

    func pushTone(_ recorder: SessionRecorder, samples count: Int, rate: Int = 48_000, channels: Int = 1) {
        let start = state.withLock { state in
            defer { state.phase += count }
            return state.phase
        }
        let tone = Tone.samples(hertz: Self.toneHertz, rate: rate, channels: channels, from: start, count: count)
        tone.withUnsafeBufferPointer { recorder.push(samples: $0, sampleRate: rate, channels: channels) }
    }

    func recorder(id: String? = nil, pictureRate: Double? = 30, hasSound: Bool = true) throws -> SessionRecorder {
        try #require(library.makeRecorder(id: id, pictureRate: pictureRate, hasSound: hasSound))
    }
}

/// The library's environment and the stage know each other.
private final class StateBox: Sendable {
    private let held = Mutex<Weak?>(nil)
    var stage: RecordingStage? { held.withLock { $0?.stage } }
    func set(_ stage: RecordingStage) { held.withLock { $0 = Weak(stage: stage) } }
    private struct Weak: Sendable { weak let stage: RecordingStage? }
}

/// What a clip request and its playlist say, and the file that they lead to.
struct LoadedClip {
    var ready: ClipReady
    var playlist: String
    var initSegment: [UInt8]
    var chunks: [[UInt8]]

    var file: [UInt8] { chunks.reduce(initSegment) { $0 + $1 } }
    var lines: [String] { playlist.split(separator: "\n").map(String.init) }
    var names: [String] { lines.filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: "/").last.map(String.init) } }
    var durations: [String] { lines.filter { $0.hasPrefix("#EXTINF:") }.map { String($0.dropFirst(8).dropLast()) } }

    init(_ answer: ClipAnswer, in library: RecordingLibrary) throws {
        let ready = try #require(answer.ready)
        guard case .ready(let text) = library.playlist(recording: ready.sessionID, start: ready.startMarker, end: ready.endMarker) else {
            throw NotThere()
        }
        self.ready = ready
        playlist = text
        let lines = text.split(separator: "\n").map(String.init)
        let map = try #require(lines.first { $0.hasPrefix("#EXT-X-MAP:URI=\"") })
        initSegment = try Self.load(String(map.dropFirst(16).dropLast()), in: library, isInit: true)
        chunks = try lines.filter { !$0.hasPrefix("#") }.map { try Self.load($0, in: library, isInit: false) }
    }

    private static func load(_ path: String, in library: RecordingLibrary, isInit expected: Bool) throws -> [UInt8] {
        let parts = path.split(separator: "/").map(String.init)
        try #require(parts.count == 4 && path.hasPrefix("/clips/chunks/"))
        guard case .bytes(let bytes, let isInit) = library.segment(recording: parts[2], name: parts[3]), isInit == expected else {
            throw NotThere()
        }
        return bytes
    }

    struct NotThere: Error {}
}

extension ClipAnswer {
    var ready: ClipReady? { if case .ready(let ready) = self { ready } else { nil } }
}

/// A picture that says its number: sixteen blocks, black or white, over a background that moves.
enum NumberedPicture {
    static func bgra(_ number: Int, width: Int, height: Int) -> [UInt8] {
        func row(_ grey: (Int) -> Int) -> [UInt8] {
            (0..<width).flatMap { x -> [UInt8] in
                let value = UInt8(grey(x))
                return [value, value, value, 255]
            }
        }
        let blocks = row { number >> ($0 * 16 / width) & 1 == 1 ? 235 : 20 }
        let background = row { ($0 + number * 3) & 127 + 60 }
        var pixels: [UInt8] = []
        pixels.reserveCapacity(width * height * 4)
        for y in 0..<height { pixels += y < height / 2 ? blocks : background }
        return pixels
    }

    static func number(_ frame: PlanarFrame) -> Int {
        (0..<16).reduce(0) { number, bit in
            let x = frame.width * (2 * bit + 1) / 32
            return number | (frame.planeY[frame.height / 4 * frame.strideY + x] > 126 ? 1 << bit : 0)
        }
    }
}

enum Tone {
    static func samples(hertz: Double, rate: Int, channels: Int = 1, from start: Int = 0, count: Int) -> [Int16] {
        [Int16](unsafeUninitializedCapacity: count * channels) { buffer, written in
            written = count * channels
            for index in 0..<written {
                let turn = Double(start + index / channels) * hertz / Double(rate)
                buffer.initializeElement(at: index, to: Int16(sine(turn - turn.rounded(.down)) * 12_000))
            }
        }
    }

    /// From upward crossings of zero.
    static func hertz(_ samples: ArraySlice<Int16>, rate: Int = 48_000) -> Double {
        var crossings: [Double] = []
        for index in samples.indices.dropFirst() where samples[index - 1] < 0 && samples[index] >= 0 {
            let (a, b) = (Double(samples[index - 1]), Double(samples[index]))
            crossings.append(Double(index - 1) + a / (a - b))
        }
        guard let first = crossings.first, let last = crossings.last, crossings.count > 1 else { return 0 }
        return Double(crossings.count - 1) * Double(rate) / (last - first)
    }

    /// Of turns; Bhaskara's formula is within 0.2 %, which a tone may be.
    private static func sine(_ turn: Double) -> Double {
        let half = turn < 0.5 ? turn : turn - 0.5
        let x = half * 2 * (1 - half * 2)
        return (turn < 0.5 ? 1 : -1) * 16 * x / (5 - 4 * x)
    }
}

/// Decodes the tracks of loaded chunks with the engine's own decoders.
enum ChunkDecoder {
    static func pictures(_ chunks: [[UInt8]]) throws -> [(time: Double, frame: PlanarFrame)] {
        let decoder = try VPXDecoder(codec: .vp9)
        let pool = FrameBufferPool()
        var result: [(time: Double, frame: PlanarFrame)] = []
        for chunk in chunks {
            let fragment = try #require(MP4Fragment.parse(chunk).first { $0.track == 1 })
            var time = fragment.decodeTime
            for sample in fragment.samples {
                let zero = MonotonicTime(nanoseconds: 0)
                let frame = EncodedFrame(
                    codec: .vp9, bytes: MediaBytes(copying: sample.bytes.span.bytes), isKeyFrame: sample.isSync, rtpTimestamp: 0,
                    ssrc: 0, firstPacketTime: zero, completeTime: zero)
                result.append((Double(time) / 15_360, try #require(try decoder.decode(frame, pool: pool))))
                time += sample.duration
            }
        }
        return result
    }

    /// The first sample is where the first chunk's sound begins.
    static func sound(_ chunks: [[UInt8]]) throws -> [Int16] {
        let decoder = try OpusDecoder()
        var output = [Int16](repeating: 0, count: decoder.maxSamplesPerChannel)
        var result: [Int16] = []
        for chunk in chunks {
            for sample in MP4Fragment.parse(chunk).first(where: { $0.track == 2 })?.samples ?? [] {
                let count = try output.withUnsafeMutableBufferPointer { try decoder.decode(sample.bytes.span.bytes, into: $0) }
                result += output[..<count]
            }
        }
        return result
    }
}
