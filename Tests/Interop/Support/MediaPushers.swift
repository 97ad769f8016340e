import Foundation
import Glibc
import Reactor
import Synchronization

/// A thread that does something at a steady pace, by absolute deadlines.
final class Pacemaker: Sendable {
    private let isStopped = Atomic<Bool>(false)
    private let beats = Atomic<Int>(0)
    private let failures = Recorder<any Error>()

    var beatCount: Int { beats.load(ordering: .relaxed) }
    var errors: [any Error] { failures.values }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Calls `body` with 0, 1, 2, … every `seconds` until stopped, or until it throws.
    func run(every seconds: Double, _ body: @escaping @Sendable (Int) throws -> Void) async {
        await ChildProcess.offPool { [self] in
            var begin = timespec()
            clock_gettime(CLOCK_MONOTONIC, &begin)
            let start = begin.tv_sec * 1_000_000_000 + begin.tv_nsec
            var index = 0
            while !isStopped.load(ordering: .relaxed) {
                do {
                    try body(index)
                } catch {
                    failures.add(error)
                    return
                }
                index += 1
                beats.store(index, ordering: .relaxed)
                let due = start + Int(Double(index) * seconds * 1e9)
                var deadline = timespec(tv_sec: due / 1_000_000_000, tv_nsec: due % 1_000_000_000)
                while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nil) == EINTR {}
            }
        }
    }
}

/// Pushes numbered pictures and a tone into a client's inputs, as a camera and a microphone would, until stopped.
final class Studio: Sendable {
    let camera = Pacemaker()
    let microphone = Pacemaker()
    private let tasks = Mutex<[Task<Void, Never>]>([])

    /// Pictures of `painter`, numbered from 0.
    ///
    /// - Parameter tag: what goes with a picture besides it.
    func film(
        _ painter: PicturePainter, into track: Track, framesPerSecond: Double = 30,
        tag: @escaping @Sendable (Int) -> (userData: Data?, captureTimeUs: Int64?) = { _ in (nil, nil) }
    ) {
        let camera = self.camera
        add(
            Task {
                await camera.run(every: 1 / framesPerSecond) { index in
                    painter.paint(counter: index)
                    let (userData, captureTime) = tag(index)
                    try painter.pixels.withUnsafeBytes { pixels in
                        try Self.push(pixels, painter, userData, captureTime, into: track)
                    }
                }
            })
    }

    private static func push(
        _ pixels: UnsafeRawBufferPointer, _ painter: PicturePainter, _ userData: Data?, _ captureTime: Int64?, into track: Track
    ) throws {
        let (width, height) = (UInt32(painter.width), UInt32(painter.height))
        if let userData {
            try userData.withUnsafeBytes {
                try track.pushFrame(pixels, width: width, height: height, userData: $0, captureTimeUs: captureTime)
            }
        } else {
            try track.pushFrame(pixels, width: width, height: height, captureTimeUs: captureTime)
        }
    }

    /// A sine, in chunks of so many milliseconds.
    func sing(_ frequency: Double, into track: Track, sampleRate: Int = 48_000, channels: Int = 1, chunkMilliseconds: Double = 10) {
        let microphone = self.microphone
        let seconds = chunkMilliseconds / 1000
        add(
            Task {
                await microphone.run(every: seconds) { index in
                    // Chunks need not be whole numbers of samples: the sum of them is right.
                    let first = Int(Double(index) * seconds * Double(sampleRate))
                    let last = Int(Double(index + 1) * seconds * Double(sampleRate))
                    let samples = (first..<last).flatMap { position in
                        let value = Int16(10_000 * sin(2 * .pi * frequency * Double(position) / Double(sampleRate)))
                        return [Int16](repeating: value, count: channels)
                    }
                    try track.pushFrame(samples, sampleRate: UInt32(sampleRate), channels: UInt32(channels))
                }
            })
    }

    private func add(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }

    /// Stops both and waits for them.
    func close() async {
        camera.stop()
        microphone.stop()
        let running = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in running { await task.value }
    }
}
