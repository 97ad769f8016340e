import Foundation
import Reactor
import Synchronization
import Testing

extension Interop {
    /// How media reaches the app: audio blocks, and handlers that are slow.
    @Suite("Media delivery")
    struct MediaDeliveryTests {
        @Test("audioFrames deliver 100 blocks of 10 ms a second, with the model's tone in them")
        func audioBlocks() async throws {
            try await withRuntime { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                let audio = try await Self.listen(to: try reactor.track("main_audio"), seconds: Settings.seconds)
                try await reactor.disconnect()
                reactor.close()
                measured("audio_blocks_per_second", audio.blocksPerSecond, "blocks/s")
                measured("audio_440hz_amplitude", audio.amplitude(of: 440), "of 6000")
                measured("audio_longest_gap", audio.longestGapSeconds * 1000, "ms")
                #expect(audio.isWellFormed)
                #expect(abs(audio.blocksPerSecond - 100) <= 2)
                #expect((4000...8000).contains(audio.amplitude(of: 440)))
                // Other tones than the model's would be the decoder's or the jitter buffer's own.
                for other in [300.0, 620, 1000] { #expect(audio.amplitude(of: other) < 600, "\(other) Hz") }
            }
        }

        @Test("SW-09, T-28 a frame handler that blocks for 1 s delays neither commands nor audio, and loses old frames only")
        func blockingHandler() async throws {
            try await withRuntime { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                let track = try reactor.track("main_video")
                let handled = Recorder<CounterBlocks>()
                let isFinished = Recorder<Bool>()
                let subscription = try track.onFrame { (frame: VideoFrame) in
                    if let blocks = CounterBlocks(frame) {
                        handled.add(blocks)
                        if blocks.ageMilliseconds > 500 { isFinished.add(false) }
                    }
                    // Blocking here is what the test is about.
                    Thread.sleep(forTimeInterval: 1)
                }
                #expect(await eventually(within: 5) { handled.count >= 1 })
                async let audio = Self.listen(to: try reactor.track("main_audio"), seconds: 4)
                var times: [Double] = []
                let watch = Stopwatch()
                while watch.seconds < 4 {
                    let begin = Stopwatch()
                    try await reactor.sendCommand("echo", ["payload": "while a handler blocks"])
                    times.append(begin.milliseconds)
                    try await Task.sleep(for: .milliseconds(10))
                }
                let heard = try await audio
                subscription.cancel()
                measured("blocked_handler_echo_p50", percentile(times, 0.5), "ms")
                measured("blocked_handler_echo_max", times.max() ?? 0, "ms")
                measured("blocked_handler_audio", heard.blocksPerSecond, "blocks/s")
                #expect((times.max() ?? 0) < 500)
                #expect(abs(heard.blocksPerSecond - 100) <= 2)
                #expect((3...7).contains(handled.count), "\(handled.count)")
                // The newest frame is handed over, so what the handler gets is never a second old.
                #expect(isFinished.count == 0)
                #expect(track.counters.dropped > 60, "\(track.counters)")
                try await reactor.disconnect()
                reactor.close()
            }
        }

        @Test("Three kinds of consumers of one track each get the frames")
        func severalConsumers() async throws {
            try await withRuntime { runtime in
                let reactor = try client(runtime.url)
                let track = try reactor.track("main_video")
                let sequence = Recorder<Int>()
                let closure = Recorder<Int>()
                let raw = Recorder<Int>()
                let frames = try track.videoFrames
                let watching = Task {
                    for await frame in frames { if let blocks = CounterBlocks(frame) { sequence.add(blocks.counter) } }
                }
                let subscriptions = [
                    try track.onFrame { (frame: VideoFrame) in if let blocks = CounterBlocks(frame) { closure.add(blocks.counter) } },
                    try track.onRawFrame { frame in
                        let blocks = CounterBlocks(pixels: Data(frame.pixels), width: Int(frame.width), height: Int(frame.height))
                        if let blocks { raw.add(blocks.counter) }
                    },
                ]
                // Registered before connecting: nothing of the first frames is missed.
                try await reactor.connect()
                #expect(await eventually(within: 10) { min(sequence.count, closure.count, raw.count) > 90 })
                for recorder in [sequence, closure, raw] {
                    let values = recorder.values
                    let span = (values.last ?? 0) - (values.first ?? 0) + 1
                    #expect(
                        Double(Set(values).count) >= Double(span) * 0.95,
                        "missing \(Set((values.first ?? 0)...(values.last ?? 0)).subtracting(values).sorted()); \(track.counters)")
                }
                watching.cancel()
                for subscription in subscriptions { subscription.cancel() }
                try await reactor.disconnect()
                reactor.close()
            }
        }

        struct Heard: Sendable {
            var samples: [Int16] = []
            var blocks = 0
            var isWellFormed = true
            var times: [Double] = []

            var blocksPerSecond: Double {
                guard let first = times.first, let last = times.last, last > first else { return 0 }
                return Double(times.count - 1) / (last - first)
            }
            var longestGapSeconds: Double { zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .infinity }

            /// Amplitude of one frequency, 0 to 32767: the median over pieces of 100 ms. The runtime puts 10 ms of silence
            /// between now and then when it is late, and the tone goes on in another phase.
            func amplitude(of frequency: Double) -> Double {
                let piece = 4800
                let values = stride(from: 0, to: samples.count - piece, by: piece).map { start in
                    var real = 0.0
                    var imaginary = 0.0
                    for index in 0..<piece {
                        let phase = 2 * Double.pi * frequency * Double(index) / 48_000
                        real += Double(samples[start + index]) * cos(phase)
                        imaginary += Double(samples[start + index]) * sin(phase)
                    }
                    return (real * real + imaginary * imaginary).squareRoot() * 2 / Double(piece)
                }
                return Interop.percentile(values, 0.5)
            }
        }

        /// Takes audio blocks, after a warm-up of a second.
        private static func listen(to track: Track, seconds: Double) async throws -> Heard {
            var heard = Heard()
            var clock: Stopwatch?
            let begin = Stopwatch()
            for await block in try track.audioFrames {
                if begin.seconds < 1 { continue }
                let watch = clock ?? Stopwatch()
                clock = watch
                heard.blocks += 1
                heard.times.append(watch.seconds)
                heard.isWellFormed = heard.isWellFormed && block.sampleRate == 48_000 && block.samples.count == 480 * Int(block.channels)
                if block.channels == 1 {
                    heard.samples += block.samples
                } else {
                    heard.samples += stride(from: 0, to: block.samples.count, by: Int(max(1, block.channels))).map { block.samples[$0] }
                }
                if watch.seconds >= seconds { break }
            }
            return heard
        }
    }
}
