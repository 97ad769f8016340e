import Foundation
import RTCPeer
import Reactor
import Testing

extension Interop {
    /// Streams through `net-relay`.
    @Suite("Lossy network")
    struct LossyNetworkTests {
        struct Case: Sendable, CustomTestStringConvertible {
            var codec = "VP9"
            var size = "640x360"
            var testDescription: String { "\(codec) \(size)" }
            var slug: String { "\(codec.lowercased())_\(size)" }
        }

        @Test(
            "2 % loss, 50 ms delay, 10 ms jitter: at least 97 % of the frames and no freeze over 1 s",
            arguments: [Case(), Case(size: "1280x720"), Case(codec: "VP8")])
        func twoPercent(_ stream: Case) async throws {
            try await withRuntime(["WEBRTC_VIDEO_CODECS": stream.codec, "PROBE_SIZE": stream.size]) { runtime in
                try await RelayProcess.with(runtime, ["--loss", "2", "--delay", "50", "--jitter", "10"]) { relay in
                    let reactor = try client(relay.url)
                    let begin = Stopwatch()
                    try await reactor.connect()
                    measured("lossy_\(stream.slug)_connect", begin.milliseconds, "ms")
                    let report = StreamReport()
                    let track = try reactor.track("main_video")
                    let watching = Task { try await report.watch(track) }
                    #expect(await eventually(within: 5) { report.frames > 30 })
                    // As the incumbent was measured: after a warm-up.
                    try await Task.sleep(for: .seconds(2))
                    report.restart()
                    let load = MachineLoad.now
                    try await Task.sleep(for: .seconds(Settings.seconds))
                    measured("lossy_\(stream.slug)_cores_free", MachineLoad.now.freeShare(since: load) * 100, "%")
                    let stats = try await reactor.stats()
                    let peer = try #require(await reactor.peerStatistics()?.inbound.first { $0.track == "main_video" })
                    let counters = track.counters
                    watching.cancel()
                    try await reactor.disconnect()
                    reactor.close()
                    let seen = report.snapshot
                    let video = try #require(stats.inbound.first { $0.trackName == "main_video" })
                    measured("lossy_\(stream.slug)_share", seen.share * 100, "%")
                    // What the newest-frame slot replaced: a repaired gap lets several frames through at once.
                    measured("lossy_\(stream.slug)_replaced_in_slot", Double(counters.dropped), "frames")
                    measured("lossy_\(stream.slug)_decode_errors", Double(peer.decodeErrors), "frames")
                    measured("lossy_\(stream.slug)_fps", seen.fps, "fps")
                    measured("lossy_\(stream.slug)_longest_gap", seen.longestGapSeconds * 1000, "ms")
                    measured("lossy_\(stream.slug)_latency_p50", percentile(seen.agesMilliseconds, 0.5), "ms")
                    measured("lossy_\(stream.slug)_latency_p95", percentile(seen.agesMilliseconds, 0.95), "ms")
                    measured("lossy_\(stream.slug)_nacks", Double(video.nackCount), "packets")
                    measured("lossy_\(stream.slug)_plis", Double(video.pliCount), "requests")
                    #expect(seen.share >= 0.97, "missing \(seen.missing); \(counters); \(video)")
                    #expect(seen.longestGapSeconds < 1)
                    #expect(seen.unreadable == 0, "\(seen.unreadableSizes)")
                    #expect(seen.isInOrder)
                    // Metadata travels inside the frame's own bytes. When frames reach the runtime's encoder in a bunch, it now
                    // and then sends a picture with the metadata of the one before.
                    #expect(seen.metadataWrong.count <= seen.counters.count / 100, "\(seen.metadataWrong)")
                }
            }
        }

        @Test(
            "A hard 360p picture (6 Mbit/s) at 2, 5 and 10 % loss, 50 ms: latency p50 at most 300 ms, at most 3 freezes",
            .enabled(if: Settings.isFull, "a full run: it needs a server with a core of its own"), arguments: [2, 5, 10])
        func hardPicture(_ loss: Int) async throws {
            try await withRuntime(["PROBE_SIZE": "640x360", "PROBE_DETAIL": "0.25"]) { runtime in
                try await RelayProcess.with(runtime, ["--loss", "\(loss)", "--delay", "50"]) { relay in
                    let reactor = try client(relay.url)
                    try await reactor.connect()
                    let report = StreamReport()
                    let track = try reactor.track("main_video")
                    let watching = Task { try await report.watch(track) }
                    #expect(await eventually(within: 10) { report.frames > 30 })
                    // As the incumbent was measured: after a warm-up.
                    try await Task.sleep(for: .seconds(3))
                    let before = try await reactor.stats().inbound.first { $0.trackName == "main_video" }
                    report.restart()
                    let seconds = max(Settings.seconds, 10)
                    try await Task.sleep(for: .seconds(seconds))
                    let seen = report.snapshot
                    let video = try #require(try await reactor.stats().inbound.first { $0.trackName == "main_video" })
                    let peer = try #require(await reactor.peerStatistics()?.inbound.first { $0.track == "main_video" })
                    watching.cancel()
                    try await reactor.disconnect()
                    reactor.close()
                    measured("hard_\(loss)_rate", Double(video.bytesReceived - (before?.bytesReceived ?? 0)) * 8 / seconds / 1000, "kbit/s")
                    measured("hard_\(loss)_share", seen.share * 100, "%")
                    measured("hard_\(loss)_playout_delay", peer.playoutDelayMilliseconds, "ms")
                    measured("hard_\(loss)_latency_min", seen.agesMilliseconds.min() ?? 0, "ms")
                    measured("hard_\(loss)_latency_p50", percentile(seen.agesMilliseconds, 0.5), "ms")
                    measured("hard_\(loss)_latency_p95", percentile(seen.agesMilliseconds, 0.95), "ms")
                    measured("hard_\(loss)_freezes", Double(seen.freezes), "")
                    measured("hard_\(loss)_longest_gap", seen.longestGapSeconds * 1000, "ms")
                    measured("hard_\(loss)_nacks", Double(video.nackCount), "packets")
                    measured("hard_\(loss)_plis", Double(video.pliCount), "requests")
                    #expect(percentile(seen.agesMilliseconds, 0.5) <= 300)
                    #expect(seen.freezes <= 3)
                    #expect(seen.isInOrder)
                    #expect(seen.unreadable == 0)
                }
            }
        }

        @Test("Commands and messages survive loss: each answered, in the end")
        func commands() async throws {
            try await withRuntime(["PROBE_FPS": "5"]) { runtime in
                try await RelayProcess.with(runtime, ["--loss", "5", "--delay", "25", "--jitter", "5"]) { relay in
                    let reactor = try client(relay.url)
                    try await reactor.connect()
                    var times: [Double] = []
                    for index in 0..<100 {
                        let begin = Stopwatch()
                        let reply = try await reactor.sendCommand("echo", ["payload": .string("\(index)")])
                        times.append(begin.milliseconds)
                        #expect(reply?.data?["payload"]?.stringValue == "\(index)")
                    }
                    measured("lossy_echo_p50", percentile(times, 0.5), "ms")
                    measured("lossy_echo_p95", percentile(times, 0.95), "ms")
                    measured("lossy_echo_max", times.max() ?? 0, "ms")
                    try await reactor.disconnect()
                }
            }
        }

        @Test("ICE-07 a 3 s outage, lost checks and all, is survived without leaving .ready, and frames come again")
        func outage() async throws {
            try await withRuntime { runtime in
                try await RelayProcess.with(runtime, ["--outage", "3:3"]) { relay in
                    let reactor = try client(relay.url)
                    let statuses = Recorder<ReactorStatus>()
                    let errors = Recorder<ReactorError>()
                    let subscriptions = [reactor.onStatus { statuses.add($0) }, reactor.onError { errors.add($0) }]
                    try await reactor.connect()
                    let report = StreamReport()
                    let track = try reactor.track("main_video")
                    let watching = Task { try await report.watch(track) }
                    try await Task.sleep(for: .seconds(8))
                    let atEight = report.snapshot
                    let reply = try await reactor.sendCommand("echo", ["payload": "after the outage"])
                    #expect(reply?.data?["payload"] == "after the outage")
                    #expect(await eventually(within: 3) { report.frames > atEight.counters.count + 30 }, "no frames after the outage")
                    watching.cancel()
                    let seen = report.snapshot
                    measured("outage_3s_longest_gap", seen.longestGapSeconds * 1000, "ms")
                    #expect(seen.longestGapSeconds > 2, "there was no outage: the test shows nothing")
                    #expect(seen.longestGapSeconds < 4.5)
                    #expect(reactor.status == .ready)
                    #expect(statuses.values == [.connecting, .waiting, .ready])
                    #expect(errors.values.isEmpty)
                    for subscription in subscriptions { subscription.cancel() }
                    try await reactor.disconnect()
                }
            }
        }
    }
}
