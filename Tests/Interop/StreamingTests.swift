import Foundation
import RTCPeer
import Reactor
import Testing

extension Interop {
    /// The main job: the model's video arrives whole, readable and in time.
    @Suite("Streaming")
    struct StreamingTests {
        struct Case: Sendable, CustomTestStringConvertible {
            var codec: String
            var size: String
            var testDescription: String { "\(codec) \(size)@30" }
            var slug: String { "\(codec.lowercased())_\(size)" }
        }

        static let cases = ["VP9", "VP8"].flatMap { codec in ["640x360", "1280x720"].map { Case(codec: codec, size: $0) } }

        @Test("At least 99 % of the frame numbers arrive, each readable, with their metadata", arguments: cases)
        func steadyStream(_ stream: Case) async throws {
            try await withRuntime(["WEBRTC_VIDEO_CODECS": stream.codec, "PROBE_SIZE": stream.size]) { runtime in
                let reactor = try client(runtime.url)
                let begin = Stopwatch()
                try await reactor.connect()
                let track = try reactor.track("main_video")
                let report = StreamReport()
                let watching = Task { try await report.watch(track) }
                #expect(await eventually(within: 5) { report.frames > 0 }, "no frame arrived")
                measured("stream_\(stream.slug)_first_frame", begin.milliseconds, "ms")
                // The first second holds the sender's start; it is counted as well, but not for CPU time.
                try await Task.sleep(for: .seconds(1))
                let cpu = ProcessUsage.cpuSeconds
                let watch = Stopwatch()
                // Ten at least: the runtime itself skips a number now and then, and of five seconds two are over one percent.
                let seconds = max(Settings.seconds, 10)
                try await Task.sleep(for: .seconds(seconds))
                let cpuShare = (ProcessUsage.cpuSeconds - cpu) / watch.seconds
                let stats = try await reactor.stats()
                let peer = try #require(await reactor.peerStatistics()?.inbound.first { $0.track == "main_video" })
                let counters = track.counters
                watching.cancel()
                try await reactor.disconnect()
                reactor.close()

                let seen = report.snapshot
                measured("stream_\(stream.slug)_share", seen.share * 100, "%")
                measured("stream_\(stream.slug)_missing", Double(seen.span - seen.distinct), "frames")
                measured("stream_\(stream.slug)_fps", seen.fps, "fps")
                measured("stream_\(stream.slug)_latency_p50", percentile(seen.agesMilliseconds, 0.5), "ms")
                measured("stream_\(stream.slug)_latency_p95", percentile(seen.agesMilliseconds, 0.95), "ms")
                measured("stream_\(stream.slug)_longest_gap", seen.longestGapSeconds * 1000, "ms")
                measured("stream_\(stream.slug)_cpu", cpuShare, "s/s")
                measured("stream_\(stream.slug)_rss", Double(ProcessUsage.now.residentKB) / 1024, "MB")
                let video = try #require(stats.inbound.first { $0.trackName == "main_video" })
                measured("stream_\(stream.slug)_dropped", Double(video.framesDropped), "frames")
                measured("stream_\(stream.slug)_decode_errors", Double(peer.decodeErrors), "frames")
                #expect(video.codec == stream.codec.lowercased() || video.codec == stream.codec)
                #expect(seen.share >= 0.99, "missing \(seen.missing); \(counters); \(video)")
                #expect(seen.unreadable == 0, "\(seen.unreadableSizes)")
                #expect(Array(seen.sizes.keys) == [stream.size])
                #expect(seen.isInOrder)
                #expect(seen.metadataWrong.isEmpty)
                #expect(seen.metadataMissing == 0)
                #expect(peer.decodeErrors <= 1, "\(peer)")
                #expect(video.framesDropped <= 1, "\(peer)")
                #expect(Double(seen.counters.count) > seconds * 25)
            }
        }

        @Test("A size changed by set_video while streaming arrives, up and down, without a stall", arguments: ["VP9", "VP8"])
        func sizeChanges(_ codec: String) async throws {
            try await withRuntime(["WEBRTC_VIDEO_CODECS": codec]) { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                let report = StreamReport()
                let track = try reactor.track("main_video")
                let watching = Task { try await report.watch(track) }
                #expect(await eventually(within: 5) { report.has(size: "640x360") })
                for (width, height) in [(1280, 720), (320, 180), (854, 480), (640, 360), (1280, 720), (640, 360)] {
                    let before = report.snapshot.sizes["\(width)x\(height)"] ?? 0
                    let begin = Stopwatch()
                    try await reactor.sendCommand(
                        "set_video", ["width": .number(Double(width)), "height": .number(Double(height)), "fps": 30])
                    let arrived = await eventually(within: 3) { (report.snapshot.sizes["\(width)x\(height)"] ?? 0) > before + 20 }
                    #expect(arrived, "\(width)x\(height) did not arrive: \(report.snapshot.sizes)")
                    measured("resize_\(codec.lowercased())_\(width)x\(height)_21_frames", begin.milliseconds, "ms")
                }
                let stats = try await reactor.stats()
                let peer = try #require(await reactor.peerStatistics()?.inbound.first { $0.track == "main_video" })
                watching.cancel()
                try await reactor.disconnect()
                let seen = report.snapshot
                let video = try #require(stats.inbound.first { $0.trackName == "main_video" })
                measured("resize_\(codec.lowercased())_share", seen.share * 100, "%")
                measured("resize_\(codec.lowercased())_longest_gap", seen.longestGapSeconds * 1000, "ms")
                #expect(seen.unreadable == 0, "\(seen.unreadableSizes)")
                #expect(seen.longestGapSeconds < 1)
                #expect(seen.share >= 0.99, "missing \(seen.missing); \(track.counters); \(video)")
                #expect(seen.metadataWrong.isEmpty)
                #expect(peer.decodeErrors <= 1, "\(peer)")
                #expect(video.framesDropped <= 1, "\(peer)")
            }
        }
    }
}
