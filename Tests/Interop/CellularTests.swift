import Foundation
import Reactor
import Testing

extension Interop {
    /// Publishing over recorded cellular uplinks, played by `net-relay` on real sockets: this client, then the vendor's.
    @Suite("Cellular uplinks", .timeLimit(.minutes(30)))
    struct CellularTests {
        static let traces = [
            "ATT-LTE-driving-2016.down", "ATT-LTE-driving-2016.up", "Verizon-LTE-short.down", "Verizon-LTE-short.up",
            "TMobile-UMTS-driving.up", "Verizon-EVDO-driving.down",
        ]

        private static let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../shared/vectors")
            .standardized.path
        /// A frame older than this when the model reads it is of no use to it.
        private static let inTimeMilliseconds = 400.0
        private static let seconds = 25.0

        struct Shown {
            var frames = 0
            var inTime = 0
            var seconds = 0
            var latencies: [Double] = []

            mutating func add(frames: Int, latency: Double) {
                self.frames += frames
                seconds += 1
                latencies.append(latency)
                if latency >= 0, latency <= CellularTests.inTimeMilliseconds { inTime += frames }
            }

            func report(_ slug: String) {
                measured("\(slug)_shown", Double(frames), "frames")
                measured("\(slug)_in_time", Double(inTime), "frames")
                measured("\(slug)_latency_p50", percentile(latencies, 0.5), "ms")
            }
        }

        /// The sum of all six counts: where the link carries what the vendor's client makes at most (2.5 Mbit/s), both show every
        /// frame. Takes six minutes, so only in a full run.
        @Test(
            "Over real uplinks the model gets more frames in time from this client than from the vendor's",
            .enabled(if: Settings.isFull, "takes six minutes"),
            .enabled(if: FileManager.default.fileExists(atPath: directory + "/cellular-traces")))
        func uplinks() async throws {
            var (ours, theirs) = (0, 0)
            for trace in Self.traces {
                let options = ["--trace-up", Self.directory + "/cellular-traces/" + trace, "--delay", "20", "--queue", "1000"]
                let slug = "uplink_" + trace.replacing("-", with: "_").replacing(".", with: "_").lowercased()
                let mine = try await withRuntime { runtime in
                    try await RelayProcess.with(runtime, options) { try await Self.ours($0.url) }
                }
                mine.report(slug + "_ours")
                let other = try await withRuntime { runtime in
                    try await RelayProcess.with(runtime, options) { try await Self.theirs($0.url) }
                }
                other.report(slug + "_theirs")
                #expect(Double(mine.inTime) >= Double(other.inTime) * 0.8, "\(trace)")
                ours += mine.inTime
                theirs += other.inTime
            }
            measured("uplinks_in_time_ours", Double(ours), "frames")
            measured("uplinks_in_time_theirs", Double(theirs), "frames")
            #expect(ours > theirs)
        }

        private static func ours(_ url: String) async throws -> Shown {
            let reactor = try client(url)
            try await reactor.connect()
            try await reactor.sendCommand("set_video", ["width": 320, "height": 180, "fps": 30])
            let webcam = try reactor.track("webcam")
            let reports = InputReports(reactor)
            let studio = Studio()
            try await webcam.publish()
            studio.film(PicturePainter(width: 1280, height: 720, detail: 0.25, noiseShare: 0), into: webcam)
            try await Task.sleep(for: .seconds(seconds))
            await studio.close()
            try await reactor.disconnect()
            reactor.close()
            var shown = Shown()
            for report in reports.all { shown.add(frames: report.frames, latency: report.latencyMilliseconds) }
            return shown
        }

        private static func theirs(_ url: String) async throws -> Shown {
            let client = try ChildProcess(
                RuntimeProcess.peers + "/official-client",
                [
                    "--url", url, "--seconds", "\(seconds)", "--warmup", "0", "--video", "320x180@30", "--publish", "1280x720@30",
                    "--no-read",
                ])
            let output = await client.finish().output
            // Its log comes before its report.
            let json = output.range(of: "{\n").map { output[$0.lowerBound...] } ?? ""
            let document = try #require(try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any], "\(output)")
            var shown = Shown()
            for report in document["input_reports"] as? [[String: Any]] ?? [] {
                shown.add(frames: (report["frames"] as? Double).map { Int($0) } ?? 0, latency: report["latency_ms"] as? Double ?? -1)
            }
            return shown
        }
    }
}
