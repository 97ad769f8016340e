internal import Foundation
internal import Reactor
internal import Synchronization

/// A thread that pushes until its input ends, it is told to stop, or the track takes no more.
final class Feeder: Sendable {
    private struct State {
        var result: Result<Void, any Error>?
        var waiter: CheckedContinuation<Void, any Error>?
    }

    private let state = Mutex(State())
    private let stopped = Atomic(false)

    var isStopped: Bool { stopped.load(ordering: .relaxed) }
    func stop() { stopped.store(true, ordering: .relaxed) }

    init(_ name: String, _ body: @escaping @Sendable (Feeder) throws -> Void) {
        let thread = Thread { [self] in
            let result = Result { try body(self) }
            let waiter = state.withLock { state in
                state.result = result
                return state.waiter.take()
            }
            waiter?.resume(with: result)
        }
        thread.name = name
        thread.start()
    }

    /// Waits for its end; a cancelled task stops it. For one task.
    func finished() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    if state.result == nil { state.waiter = continuation }
                    return state.result
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            stop()
        }
    }

    /// Sleeps, in pieces so short that stopping is not noticed.
    func sleep(microseconds: Int64) {
        var left = microseconds
        while left > 0, !isStopped {
            let piece = min(left, 50_000)
            usleep(UInt32(piece))
            left -= piece
        }
    }
}

struct VideoFeeder: Sendable {
    let track: Track
    let video: PushCommand.Video
    let input: UncheckedInput?
    let report: PushReport

    func start() -> Feeder { Feeder("push-video") { try run($0) } }

    private func run(_ feeder: Feeder) throws {
        let (width, height) = (video.width, video.height)
        guard let count = video.format.byteCount(width: UInt32(width), height: UInt32(height)) else { return }
        var pixels = [UInt8](repeating: 255, count: count)
        let pattern = input == nil ? TestPattern(width: width, height: height) : nil
        var pace = Pace(perSecond: video.rate)
        var number = 0
        while !feeder.isStopped {
            let block = try pixels.withUnsafeMutableBytes { buffer in
                guard let input else { return RawInput.Block.full }
                return try input.input.read(into: buffer) { feeder.isStopped }
            }
            guard block == .full else {
                if case .end(let left) = block, left > 0 {
                    Terminal.error("reactor: the input ended within a frame; its last \(left) bytes were not sent")
                }
                return
            }
            feeder.sleep(microseconds: pace.delay(now: Reactor.timeMicros()))
            guard !feeder.isStopped else { return }
            try pixels.withUnsafeMutableBytes { buffer in
                pattern?.draw(number, milliseconds: Int(Reactor.timeMicros() / 1000), into: buffer)
                try push(UnsafeRawBufferPointer(buffer))
            }
            report.pushedFrame()
            number += 1
        }
    }

    private func push(_ pixels: UnsafeRawBufferPointer) throws {
        let (width, height) = (UInt32(video.width), UInt32(video.height))
        if video.format == .bgra { return try track.pushFrame(pixels, width: width, height: height) }
        try track.pushFrame(OutgoingVideoFrame(pixels: Data(pixels), width: width, height: height, format: video.format))
    }
}

struct AudioFeeder: Sendable {
    let track: Track
    let audio: PushCommand.Audio
    let input: UncheckedInput?
    let report: PushReport

    func start() -> Feeder { Feeder("push-audio") { try run($0) } }

    private func run(_ feeder: Feeder) throws {
        let perChannel = audio.rate / 50
        let channels = audio.channels
        var pace = Pace(perSecond: 50)
        var position = 0
        while !feeder.isStopped {
            var samples = [Int16](repeating: 0, count: perChannel * channels)
            if let input {
                let block = try samples.withUnsafeMutableBytes { try input.input.read(into: $0) { feeder.isStopped } }
                // Little-endian, as every machine that runs this is.
                switch block {
                case .full: break
                case .stopped: return
                case .end(let left):
                    let whole = left / (2 * channels) * channels
                    if whole > 0 {
                        try track.pushFrame(Array(samples[..<whole]), sampleRate: UInt32(audio.rate), channels: UInt32(channels))
                    }
                    return
                }
            } else {
                let tone = TestPattern.tone(from: position, count: perChannel, rate: audio.rate)
                for (index, value) in tone.enumerated() {
                    for channel in 0..<channels { samples[index * channels + channel] = value }
                }
            }
            feeder.sleep(microseconds: pace.delay(now: Reactor.timeMicros()))
            guard !feeder.isStopped else { return }
            try track.pushFrame(samples, sampleRate: UInt32(audio.rate), channels: UInt32(channels))
            position += perChannel
            report.pushedAudio(seconds: Double(perChannel) / Double(audio.rate))
        }
    }
}
