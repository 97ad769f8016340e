import Foundation
import Glibc
import RTCPeer
import Reactor
import Synchronization
import Testing

extension Interop {
    /// How old the sound is that reaches the app: the model adds 1760 Hz for 100 ms to frames whose number divides by the
    /// rate, and its pictures carry the time at which they, and the sound with them, were made.
    @Suite("Audio delay")
    struct AudioDelayTests {
        @Test("the model's sound is heard at most 70 ms after it was emitted, in the median over several connections")
        func emitToCallback() async throws {
            // More emits a second shorten the wait for the runtime's pacer: the difference shows its share.
            let frameRate = Settings.environment["REACTOR_INTEROP_AUDIO_FPS"].flatMap(Int.init) ?? 30
            try await withRuntime(["PROBE_FPS": "\(frameRate)"]) { runtime in
                var all: [Double] = []
                var medians: [Double] = []
                var lastStatistics: PeerStatistics.InboundAudio?
                // The runtime's pacer adds up to a frame by chance of phase, anew for each connection.
                for _ in 0..<5 {
                    let reactor = try client(runtime.url)
                    let recorder = BurstRecorder(frameRate: frameRate)
                    let watching = Task { try await recorder.watch(try reactor.track("main_video")) }
                    let listening = Task { try await recorder.listen(to: try reactor.track("main_audio")) }
                    try await reactor.connect()
                    // The first second is the connection's.
                    try await Task.sleep(for: .seconds(1))
                    recorder.restart()
                    try await Task.sleep(for: .seconds(max(6, min(10, Settings.seconds))))
                    let statistics = await reactor.peerStatistics()?.inbound.first { $0.track == "main_audio" }
                    watching.cancel()
                    listening.cancel()
                    let delays = recorder.delaysMilliseconds
                    all += delays
                    medians.append(percentile(delays, 0.5))
                    if let audio = statistics?.audio {
                        lastStatistics = audio
                        measured("audio_delay_connection", percentile(delays, 0.5), "ms")
                        measured("audio_jitter_buffer_delay", audio.currentDelayMilliseconds, "ms")
                        measured("audio_jitter_buffer_target", audio.targetDelayMilliseconds, "ms")
                        measured("audio_network_jitter", (statistics?.jitterSeconds ?? 0) * 1000, "ms")
                        measured("audio_concealed_samples", Double(audio.concealedSamples), "samples")
                        measured("audio_accelerated_samples", Double(audio.acceleratedSamples), "samples")
                        measured("audio_expanded_samples", Double(audio.expandedSamples), "samples")
                    }
                    #expect(delays.count >= 4)
                    try await reactor.disconnect()
                    reactor.close()
                }
                measured("audio_delay_frame_rate", Double(frameRate), "frames/s")
                measured("audio_delay_ms", percentile(all, 0.5), "ms")
                measured("audio_delay_p95_ms", percentile(all, 0.95), "ms")
                measured("audio_delay_best_connection_ms", medians.min() ?? .nan, "ms")
                measured("audio_delay_worst_connection_ms", medians.max() ?? .nan, "ms")
                #expect(percentile(all, 0.5) <= Settings.limit(70, debugFactor: 3))
                let statistics = try #require(lastStatistics)
                #expect(statistics.currentDelayMilliseconds <= Settings.limit(20, debugFactor: 5))
                #expect(statistics.packetsPlayed > 200)
            }
        }
    }
}

/// When bursts of the high tone were emitted, by the pictures, and when they were heard.
private final class BurstRecorder: Sendable {
    private struct State {
        var emits: [Int: Double] = [:]
        var onsets: [Double] = []
    }

    private let frameRate: Int
    private let state = Mutex(State())

    init(frameRate: Int) { self.frameRate = frameRate }

    func watch(_ track: Track) async throws {
        for await frame in try track.videoFrames {
            guard let blocks = CounterBlocks(frame), blocks.counter % frameRate == 0 else { continue }
            let emit = Self.now - Double(blocks.ageMilliseconds)
            state.withLock { if $0.emits[blocks.counter] == nil { $0.emits[blocks.counter] = emit } }
        }
    }

    func listen(to track: Track) async throws {
        for await block in try track.audioFrames {
            let now = Self.now
            guard Self.amplitude(of: 1_760, in: block) > 3_000 else { continue }
            state.withLock { state in
                if now - (state.onsets.last ?? 0) > 500 { state.onsets.append(now) }
            }
        }
    }

    func restart() { state.withLock { $0 = State() } }

    /// From each onset back to the last emit before it.
    var delaysMilliseconds: [Double] {
        state.withLock { state in
            let emits = state.emits.values.sorted()
            return state.onsets.compactMap { onset in emits.last { $0 <= onset }.map { onset - $0 } }.filter { $0 < 900 }
        }
    }

    /// Milliseconds of the clock that the model's pictures carry.
    private static var now: Double {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Double(now.tv_sec) * 1000 + Double(now.tv_nsec) / 1e6
    }

    private static func amplitude(of frequency: Double, in block: AudioFrame) -> Double {
        let channels = max(1, Int(block.channels))
        var (real, imaginary) = (0.0, 0.0)
        let count = block.samples.count / channels
        for index in 0..<count {
            let angle = 2 * Double.pi * frequency * Double(index) / Double(block.sampleRate)
            real += Double(block.samples[index * channels]) * cos(angle)
            imaginary += Double(block.samples[index * channels]) * sin(angle)
        }
        return (real * real + imaginary * imaginary).squareRoot() * 2 / Double(max(1, count))
    }
}
