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
        /// Frames before the first readable one.
        var blankAtStart = 0
        /// Black pictures: the runtime begins each connection with one when the model has none ready (wire protocol §6.6).
        var black = 0
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
        let isBlack = blocks == nil && Self.isBlack(frame)
        state.withLock { state in
            let size = "\(frame.width)x\(frame.height)"
            state.times.append(time)
            guard let blocks else {
                if isBlack {
                    state.black += 1
                } else if state.counters.isEmpty {
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

    /// No pixel of a coarse grid has any light. The probe's own pictures have white cells in every row of blocks.
    private static func isBlack(_ frame: VideoFrame) -> Bool {
        frame.pixels.withUnsafeBytes { (pixels: UnsafeRawBufferPointer) -> Bool in
            let width = Int(frame.width)
            for y in stride(from: 0, to: Int(frame.height), by: 4) {
                for x in stride(from: 0, to: width, by: 4) {
                    let offset = (y * width + x) * 4
                    for channel in offset..<(offset + 3) where pixels[channel] > 40 { return false }
                }
            }
            return true
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
    /// Gaps of more than three times the mean one and more than 150 ms over it, as the vendor's client was measured.
    var freezes: Int {
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        guard !gaps.isEmpty else { return 0 }
        let mean = gaps.reduce(0, +) / Double(gaps.count)
        return gaps.count { $0 > max(3 * mean, mean + 0.15) }
    }
    /// Frame numbers between the first and the last seen that were not seen.
    var missing: [Int] { counters.isEmpty ? [] : Set((counters.min() ?? 0)...(counters.max() ?? 0)).subtracting(counters).sorted() }
    var isInOrder: Bool { zip(counters, counters.dropFirst()).allSatisfy { $0 <= $1 } }
    var fps: Double { times.count < 2 ? 0 : Double(times.count - 1) / (times[times.count - 1] - times[0]) }
}
