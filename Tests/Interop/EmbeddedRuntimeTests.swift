import Foundation
import Reactor
import ReactorTesting
import Testing

extension Interop {
    /// Our own runtime, with clients that are not ours.
    @Suite("Embedded runtime", .timeLimit(.minutes(10)))
    struct EmbeddedRuntimeTests {
        @Test("The vendor's Python client streams both ways, commands, uploads, takes a clip and reconnects")
        func officialClient() async throws {
            let report = try await Self.officialClient([
                "--video", "640x360@30", "--publish", "640x360@30", "--mic", "880", "--commands", "1000", "--fail", "--sizes",
                "10,100000,4000000", "--upload", Settings.isOptimized ? "3000000" : "300000", "--clip", "3", "--clip-file", "/tmp/clip.mp4",
                "--reconnect", "3",
                "--seconds", "\(Int(Settings.seconds))",
            ])
            Self.expectHealthy(report)
            #expect(report["hello"]["width"].number == 640)
            #expect(report["set_video"]["type"].text == "video_set")

            let video = report["video"]
            measured("official_fps", video["fps"].number, "fps")
            measured("official_latency_p50", video["latency_ms"]["p50"].number, "ms")
            measured("official_audio_latency_p50", report["audio"]["latency_ms"]["p50"].number, "ms")
            measured("official_connect", report["connect_ms"].number, "ms")
            measured("official_first_frame", video["first_frame_ms"].number, "ms")
            #expect(video["fps"].number >= 29 * leastShare)
            // A quick run shares its machine: the model's encoder may have to leave a picture out.
            let frames = video["tagged"].number
            #expect(video["missing"].number <= (Settings.isFull ? 0 : frames / 5))
            #expect(video["unread"].number == 0 && video["reordered"].number == 0)
            #expect(frames >= 29 * leastShare * Settings.seconds)
            #expect(report["audio"]["samples"].number >= 44_000 * Settings.seconds)
            #expect(report["audio"]["latency_ms"]["n"].number >= Settings.seconds - 2)

            let inputs = report["input_reports"].list
            #expect(inputs.count >= Int(Settings.seconds) - 1)
            for input in inputs.dropFirst(2).prefix(Int(Settings.seconds) - 2) {
                #expect(input["undecoded"].number == 0 && input["missing"].number <= 30 * (1 - leastShare))
                #expect(input["width"].number == 640 && abs(input["mic_hz"].number - 880) < 10)
                #expect(input["mic_samples"].number > 40_000 && input["frames"].number >= 28 * leastShare)
            }

            let failures = report["fail"]
            #expect(failures["planned"].list.prefix(2).map(\.text) == ["ReactorError", "planned"])
            #expect(failures["crash"].list[1].text == "internal_error")
            for kind in ["unknown", "invalid", "missing"] { #expect(failures[kind].list[1].text == "invalid_command", "\(kind)") }
            measured("official_commands_p50", report["commands"]["rtt_ms"]["p50"].number, "ms")
            #expect(report["commands"]["rtt_ms"]["n"].number == 1000)
            for size in ["10", "100000", "4000000"] { #expect(report["sizes"][size].list.first?.text == "ok", "\(size)") }
            #expect(report["upload"]["sha_ok"].isTrue)
            #expect(report["clip"]["head"].text.hasPrefix("ftyp") && report["clip"]["kind"].text == "snap")
            #expect(report["reconnect_ms"].list.count == 3)
            #expect(report["reconnect_first_frame_ms"].list.allSatisfy { $0.number > 0 })
        }

        @Test("The vendor's Python clients pause, share a session, record, orphan it and stop: as with the vendor's runtime")
        func officialSession() async throws {
            let report = try await Self.withProbe { try await Self.run("official-session", at: $0, []) }
            #expect(report["exception"].isMissing, "\(report["exception"].text)")
            let outcomes = report["outcomes"]
            for (name, wanted) in Self.sessionOutcomes { #expect(outcomes[name].description == wanted, "\(name)") }
            #expect(report["errors"].list.map { $0.list.prefix(3).map(\.text).joined(separator: " ") } == Self.sessionErrors)
            guard Settings.isFull else { return }
            let theirs = try await withRuntime(model: "probe-rec") { try await Self.run("official-session", at: $0.url, []) }
            for (name, wanted) in Self.sessionOutcomes { #expect(theirs["outcomes"][name].description == wanted, "\(name), vendor") }
        }

        @Test("The vendor's Python client through a path that loses 2 %: the relay's, and our own", arguments: ["relay", "conditions"])
        func lossy(_ path: String) async throws {
            let arguments = [
                "--video", "640x360@30", "--publish", "640x360@30", "--mic", "880", "--commands", "200", "--seconds",
                "\(Int(Settings.seconds))",
            ]
            let report =
                if path == "relay" {
                    try await Self.withProbe { url in
                        try await RelayProcess.with(url: url, ["--loss", "2", "--delay", "20"]) {
                            try await Self.run("official-client", at: $0.url, arguments)
                        }
                    }
                } else {
                    try await Self.officialClient(arguments, network: NetworkConditions(loss: 0.02, delay: .milliseconds(20), seed: 4))
                }
            Self.expectHealthy(report)
            measured("official_lossy_\(path)_fps", report["video"]["fps"].number, "fps")
            measured("official_lossy_\(path)_frozen", report["video"]["frozen_ms"].number, "ms")
            measured("official_lossy_\(path)_nacks", report["stats"]["inbound"].list.reduce(0) { $0 + $1["nack_count"].number }, "NACKs")
            #expect(report["video"]["fps"].number >= 27 * leastShare)
            #expect(report["commands"]["rtt_ms"]["n"].number == 200)
        }

        @Test(
            "A page in Chromium connects by fetch, streams both ways, commands in JSON, uploads and plays a clip",
            .enabled(if: OtherPeer.chromium.isInstalled, "\(OtherPeer.chromium.missing)"))
        func chromium() async throws {
            let report = try await Self.withProbe { url in
                let options = ["--reactor", "--seconds", "\(Settings.seconds)", "--clip", "2"]
                let process = try ChildProcess("\(RuntimeProcess.peers)/browser-peer", [url] + options)
                let output = await process.finish().output
                if Settings.environment["REACTOR_INTEROP_LOG"] != nil { print(output) }
                return try Report(output)
            }
            let page = report["reactor"]
            #expect(report["errors"].list.isEmpty, "\(report["errors"])")
            #expect(page["descriptor"].description == "{model: {name: probe}, state: waiting, tracks: 4}")
            #expect(page["publish"].description == "[ok, ok]")
            #expect(page["echo"]["payload"].text == "grüße" && page["echo"]["size"].number == 5)
            #expect(page["video"]["width"].number == 320)
            #expect(page["schema"].number == 7)
            #expect(page["upload"]["size"].number == 100_000)
            #expect(page["upload"]["sha256"].text == "d69e68988157833272305aaf21f453c800346e8a3640db6578e260215542e5d4")
            #expect(page["upload"]["file"].text == "page.bin")
            #expect(page["channelAfterStop"].text == "closed")

            measured("chromium_frames", report["frames"].number, "frames")
            measured("chromium_latency_p50", report["latency"]["p50"].number, "ms")
            measured("chromium_open", page["steps"]["open"].number, "ms")
            let sizes = report["sizes"].list.map { $0.list.dropFirst().map(\.number) }
            #expect(sizes.contains([640, 360]) && sizes.contains([320, 180]))
            #expect(report["frames"].number >= 29 * leastShare * Settings.seconds)
            // The pattern that the encoder first scales down under load is coarse.
            #expect(report["unread"].number <= report["frames"].number / 10)
            #expect(report["counters"].list.count == 2)
            #expect(abs(report["audioHz"].number - 440) < 12)
            // What the model saw of the page's camera and microphone.
            #expect(page["messages"]["input_report"].number >= 1 && page["messages"]["hello"].number == 1)
            let input = page["input"]
            #expect(input["frames"].number >= 10 && input["undecoded"].number <= 2 && abs(input["mic_hz"].number - 880) <= 10)

            #expect(page["clip"]["seconds"].number >= 2 && page["clip"]["ranges"].number == 1)
            #expect(page["clip"]["width"].number >= 320 && page["clip"]["frames"].number >= 20)
        }

        // MARK: What has to come out

        /// What the vendor's runtime 3.10 gave.
        private static let sessionOutcomes = [
            "connect": "ok", "state_with_client": "streaming", "schema_version": "3.", "streams": "true", "pause": "ok",
            "paused": "[main_video]", "pause_stops": "true", "pause_leaves_audio": "true", "resume": "ok", "resume_starts": "true",
            "adopt": "ok", "adopted_same": "true", "both_stream": "true", "second_session": "[ConflictError, CONFLICT]",
            "adopt_unknown": "[InvalidStateError, INVALID_STATE]", "publish": "[Track]",
            "publish_taken": "[ReactorError, publish_refused]", "unpublish": "ok", "publish_freed": "ok", "broadcast": "5",
            "clip_zero": "[BadRequestError, BAD_REQUEST]", "disconnect_adopter": "ok", "state_after_adopter": "streaming",
            "state_orphaned": "orphaned", "adopt_orphan": "ok", "orphan_streams": "true", "stop": "200", "state_stopped": "ready",
            "client_after_stop": "disconnected", "next_session": "ok", "disconnect": "ok", "state_at_end": "ready",
            "tracks":
                "[[main_audio, audio, recvonly], [main_video, video, recvonly], [mic, audio, sendonly], [webcam, video, sendonly]]",
            "clip": "{audio: true, head: ftyp, kind: snap, size: [[640, 360]], streams: [audio, video], video: true}",
            "recording": "{audio: true, head: ftyp, kind: recording, size: [[640, 360]], streams: [audio, video], video: true}",
        ]
        private static let sessionErrors = [
            "c ConflictError CONFLICT", "d InvalidStateError INVALID_STATE", "b ReactorError publish_refused",
            "e DisconnectedError DISCONNECTED",
        ]

        /// Of the pictures; a quick run shares its machine, and the model of a debug build is slow.
        private var leastShare: Double { Settings.isFull ? 1 : Settings.isOptimized ? 0.8 : 0.4 }

        private static func expectHealthy(_ report: Report) {
            #expect(report["exception"].isMissing, "\(report["exception"].text)")
            #expect(report["connect_error"].isMissing, "\(report["connect_error"])")
            #expect(report["disconnect_error"].isMissing, "\(report["disconnect_error"])")
            #expect(report["errors"].list.isEmpty, "\(report["errors"])")
            #expect(report["status"].list.map { $0.list.last?.text ?? "" }.last == "disconnected")
        }

        // MARK: Running it

        private static func officialClient(
            _ arguments: [String], network: NetworkConditions = .perfect
        ) async throws -> Report {
            try await withProbe(network) { try await run("official-client", at: $0, arguments) }
        }

        private static func withProbe<R>(_ network: NetworkConditions = .perfect, _ body: (String) async throws -> R) async throws -> R {
            let runtime = try await LocalRuntime(model: ProbeModel(), network: network)
            do {
                let result = try await body(runtime.apiURL)
                await runtime.stop()
                return result
            } catch {
                await runtime.stop()
                throw error
            }
        }

        private static func run(_ script: String, at url: String, _ arguments: [String]) async throws -> Report {
            let process = try ChildProcess("\(RuntimeProcess.peers)/\(script)", ["--url", url] + arguments)
            let output = await process.finish().output
            if Settings.environment["REACTOR_INTEROP_LOG"] != nil { print(output) }
            return try Report(output)
        }
    }
}

/// A JSON report of a script, read leniently: what is not there reads as missing.
private struct Report: CustomStringConvertible {
    private let value: Any?

    init(_ output: String) throws {
        guard let start = output.range(of: "{\n"), let end = output.range(of: "\n}", options: .backwards),
            let object = try JSONSerialization.jsonObject(with: Data(output[start.lowerBound..<end.upperBound].utf8)) as? [String: Any]
        else { throw ChildProcess.Failure(description: "no report in: \(output.suffix(1500))") }
        value = object
    }

    private init(value: Any?) { self.value = value }

    subscript(_ key: String) -> Report { Report(value: (value as? [String: Any])?[key]) }

    var isMissing: Bool { value == nil || value is NSNull }
    var number: Double { (value as? NSNumber)?.doubleValue ?? .nan }
    var text: String { value as? String ?? "" }
    var isTrue: Bool { (value as? NSNumber)?.boolValue ?? false }
    var list: [Report] { (value as? [Any])?.map { Report(value: $0) } ?? [] }

    /// Without quotes, keys in order, so that it can be compared.
    var description: String {
        switch value {
        case let text as String: text
        case let list as [Any]: "[" + list.map { Report(value: $0).description }.joined(separator: ", ") + "]"
        case let object as [String: Any]:
            "{" + object.keys.sorted().map { "\($0): \(Report(value: object[$0]).description)" }.joined(separator: ", ") + "}"
        case let number as NSNumber: isTruth(number) ? (number.boolValue ? "true" : "false") : "\(number)"
        default: "missing"
        }
    }

    /// Foundation's JSON makes truth values and numbers the same class.
    private func isTruth(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }
}
