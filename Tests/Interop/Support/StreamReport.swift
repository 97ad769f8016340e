import Foundation
import Reactor
import Synchronization

/// What was seen of a probe's video track.
final class StreamReport: Sendable {
    struct State: Sendable {
        /// Counters in the order they were shown.
        var counters: [Int] = []
        /// Frames whose blocks could not be read, after the first readable one.
        var unreadable = 0
        /// Frames before the first readable one: the runtime may begin with a black picture.
        var blankAtStart = 0
        var metadataMissing = 0
        /// Frame numbers in the metadata that are not the one in the picture, with their place in the stream.
        var metadataWrong: [String] = []
        var agesMilliseconds: [Double] = []
        var sizes: [String: Int] = [:]
        /// Sizes of unreadable frames.
        var unreadableSizes: [String: Int] = [:]
        var times: [Double] = []
    }

    private let clock = Stopwatch()
    private let state = Mutex(State())

    func add(_ frame: VideoFrame) {
        let blocks = CounterBlocks(frame)
        let time = clock.seconds
        var number: Int?
        if let userData = frame.userData, let object = try? JSONSerialization.jsonObject(with: userData) as? [String: Any] {
            number = (object["n"] as? NSNumber)?.intValue
        }
        state.withLock { state in
            let size = "\(frame.width)x\(frame.height)"
            state.times.append(time)
            guard let blocks else {
                if state.counters.isEmpty {
                    state.blankAtStart += 1
                } else {
                    state.unreadable += 1
                    state.unreadableSizes[size, default: 0] += 1
                }
                return
            }
            state.sizes[size, default: 0] += 1
            state.counters.append(blocks.counter)
            state.agesMilliseconds.append(Double(blocks.ageMilliseconds))
            if let number {
                if number != blocks.counter {
                    state.metadataWrong.append("frame \(state.counters.count): picture \(blocks.counter), metadata \(number)")
                }
            } else {
                state.metadataMissing += 1
            }
        }
    }

    /// Forgets what was seen, for a warm-up.
    func restart() { state.withLock { $0 = State() } }

    var snapshot: State { state.withLock { $0 } }
    var frames: Int { state.withLock { $0.counters.count } }
    func has(size: String) -> Bool { state.withLock { $0.sizes[size] != nil } }
    var newest: Int? { state.withLock { $0.counters.last } }

    /// Watches a track until the task is cancelled.
    func watch(_ track: Track) async throws {
        for await frame in try track.videoFrames { add(frame) }
    }
}

extension StreamReport.State {
    var span: Int { counters.isEmpty ? 0 : (counters.max() ?? 0) - (counters.min() ?? 0) + 1 }
    var distinct: Int { Set(counters).count }
    /// Share of the frame numbers between the first and the last seen that were seen.
    var share: Double { span == 0 ? 0 : Double(distinct) / Double(span) }
    var longestGapSeconds: Double { zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .infinity }
    /// Frame numbers between the first and the last seen that were not seen.
    var missing: [Int] { counters.isEmpty ? [] : Set((counters.min() ?? 0)...(counters.max() ?? 0)).subtracting(counters).sorted() }
    var isInOrder: Bool { zip(counters, counters.dropFirst()).allSatisfy { $0 <= $1 } }
    var fps: Double { times.count < 2 ? 0 : Double(times.count - 1) / (times[times.count - 1] - times[0]) }
}
