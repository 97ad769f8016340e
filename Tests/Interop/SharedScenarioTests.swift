import Foundation
import Reactor
import ReactorTesting
import Synchronization
import Testing

extension Interop {
    /// One list of scenarios, run by our client against the vendor's runtime and against ours: what an app can see is the same.
    @Suite("Shared scenarios", .timeLimit(.minutes(10)))
    struct SharedScenarioTests {
        struct Scenario: Sendable {
            var name: String
            /// What an app sees, as text.
            var run: @Sendable (_ url: String) async throws -> String

            init(_ name: String, _ run: @escaping @Sendable (String) async throws -> String) {
                self.name = name
                self.run = run
            }
        }

        @Test("Every scenario ends the same against both runtimes")
        func sameResults() async throws {
            let theirs = try await withRuntime { runtime in try await Self.results(runtime.url) }
            var configuration = LocalRuntime.Configuration()
            configuration.recordsSessions = false
            let runtime = try await LocalRuntime(model: ProbeModel(), configuration: configuration)
            let ours: [String]
            do {
                ours = try await Self.results(runtime.apiURL)
            } catch {
                await runtime.stop()
                throw error
            }
            await runtime.stop()
            for (scenario, (their, our)) in zip(Self.scenarios, zip(theirs, ours)) {
                print("SCENARIO \(scenario.name)\n  vendor: \(their)\n  ours:   \(our)")
                #expect(their == our, "\(scenario.name)")
                #expect(!their.isEmpty && !their.hasPrefix("threw"), "\(scenario.name): \(their)")
            }
        }

        private static func results(_ url: String) async throws -> [String] {
            var results: [String] = []
            for scenario in scenarios {
                do {
                    results.append(try await scenario.run(url))
                } catch {
                    results.append("threw \(describe(error))")
                }
                // Whatever a scenario left; the next begins with a runtime at rest.
                _ = try await PlainHTTP.send("POST", url + "/stop_session")
                _ = await eventually(within: 10) { await state(url) == "ready" }
            }
            return results
        }

        // MARK: The list

        static let scenarios: [Scenario] = [
            Scenario("connect and disconnect: statuses") { url in
                try await withClient(url, connects: false) { reactor in
                    let statuses = Recorder<ReactorStatus>()
                    let subscription = reactor.onStatus { statuses.add($0) }
                    try await reactor.connect()
                    _ = await eventually(within: 5) { statuses.values.last == .ready }
                    try await reactor.disconnect()
                    _ = await eventually(within: 5) { statuses.values.last == .disconnected }
                    subscription.cancel()
                    let atRest = await eventually(within: 10) { await state(url) == "ready" }
                    return "\(statuses.values.map(\.rawValue)) id \(String(describing: reactor.sessionID)) at rest \(atRest)"
                }
            },
            Scenario("the tracks") { url in
                try await withClient(url) { reactor in
                    let tracks = reactor.tracks.map { "\($0.name) \($0.kind?.rawValue ?? "") \($0.direction?.rawValue ?? "")" }
                    return "\(tracks.sorted()) paused \(reactor.pausedTracks.sorted()) \(reactor.sessionID ?? "")"
                }
            },
            Scenario("a command's reply") { url in
                try await withClient(url) { reactor in
                    let reply = try await reactor.sendCommand("echo", ["payload": "grüße 👋"])
                    return "\(reply?.type ?? "") \(reply?.data?["payload"]?.stringValue ?? "") \(reply?.data?["size"]?.intValue ?? -1)"
                }
            },
            Scenario("a command without a reply, and its messages in order") { url in
                try await withClient(url) { reactor in
                    let messages = Recorder<String>()
                    let subscription = reactor.onMessage { message in
                        guard message["type"]?.stringValue == "filler" else { return }
                        messages.add("\(message["data"]?["index"]?.intValue ?? -1)")
                    }
                    let reply = try await reactor.sendCommand("emit", ["count": 20, "size": 1000])
                    _ = await eventually(within: 5) { messages.values.count == 20 }
                    subscription.cancel()
                    return "\(String(describing: reply)) \(messages.values)"
                }
            },
            Scenario("fifty commands at once, each with its own reply") { url in
                try await withClient(url) { reactor in
                    try await withThrowingTaskGroup(of: Bool.self) { group in
                        for index in 0..<50 {
                            group.addTask {
                                let reply = try await reactor.sendCommand("echo", ["payload": .string("\(index)")])
                                return reply?.data?["payload"]?.stringValue == "\(index)"
                            }
                        }
                        return "\(try await group.reduce(0) { $0 + ($1 ? 1 : 0) })"
                    }
                }
            },
            Scenario("a command that the model refuses") { url in
                try await withClient(url) { await failure { try await $0.sendCommand("fail", ["code": "nope", "message": "no"]) }($0) }
            },
            Scenario("a command whose handler fails") { url in
                try await withClient(url) { await failure { try await $0.sendCommand("fail", ["code": "crash"]) }($0) }
            },
            Scenario("a command that does not exist") { url in
                try await withClient(url) { await failure { try await $0.sendCommand("no_such_command") }($0) }
            },
            Scenario("an argument out of range") { url in
                try await withClient(url) { await failure { try await $0.sendCommand("set_video", ["width": -1]) }($0) }
            },
            Scenario("an argument that is not among the choices") { url in
                try await withClient(url) { await failure { try await $0.sendCommand("set_video", ["source": "radio"]) }($0) }
            },
            Scenario("a missing argument") { url in
                // The vendor's runtime does not say which one.
                try await withClient(url) { await failure { try await $0.sendCommand("set_prompt") }($0).replacing("prompt: ", with: "") }
            },
            Scenario("a text that is too long") { url in
                try await withClient(url) { reactor in
                    await failure { try await $0.sendCommand("set_prompt", ["prompt": .string(String(repeating: "x", count: 2001))]) }(
                        reactor)
                }
            },
            Scenario("a message of 2 MB there and back") { url in
                try await withClient(url) { reactor in
                    let payload = String(repeating: "y", count: 2_000_000)
                    let reply = try await reactor.sendCommand("echo", ["payload": .string(payload)])
                    return "\(reply?.data?["payload"]?.stringValue == payload)"
                }
            },
            Scenario("the schema") { url in
                try await withClient(url) { reactor in
                    let schema = try await reactor.requestSchema()
                    let paths = schema["paths"]?.objectValue?.keys.sorted() ?? []
                    return "\(schema["openapi"]?.stringValue?.prefix(2) ?? "") \(paths)"
                }
            },
            Scenario("an upload") { url in
                try await withClient(url) { reactor in
                    let file = try await reactor.uploadData(
                        Data(repeating: 7, count: 70_000), name: "a b.bin", mimeType: "application/x-test")
                    let reply = try await reactor.sendCommand("set_image", [:], uploads: ["image": file])
                    let data = reply?.data
                    return
                        "\(file.size) \(file.name) \(file.mimeType) \(data?["size"]?.intValue ?? -1) \(data?["file"]?.stringValue ?? "") "
                        + "\(data?["mime_type"]?.stringValue ?? "") \(data?["sha256"]?.stringValue ?? "")"
                }
            },
            Scenario("pictures with their data, and sound") { url in
                try await withClient(url) { reactor in
                    try await reactor.sendCommand("set_video", ["width": 320, "height": 180, "fps": 30, "source": "pattern"])
                    for await frame in try reactor.track("main_video").videoFrames where frame.width == 320 {
                        let tag = try JSONSerialization.jsonObject(with: frame.userData ?? Data()) as? [String: Any]
                        let isReadable = CounterBlocks(frame) != nil
                        let block = try await reactor.track("main_audio").audioFrames.first { _ in true }
                        return
                            "\(frame.width)x\(frame.height) \(isReadable) \(tag?.keys.sorted() ?? []) stamped \(frame.captureTimeUs > 0) "
                            + "\(block?.sampleRate ?? 0) \(block?.channels ?? 0) \(block?.samples.count ?? 0)"
                    }
                    return "no frames"
                }
            },
            Scenario("pause and resume") { url in
                try await withClient(url) { reactor in
                    let track = try reactor.track("main_video")
                    let frames = Mutex(0)
                    let subscription = try track.onFrame { (_: VideoFrame) in frames.withLock { $0 += 1 } }
                    let begins = await eventually(within: 20) { frames.withLock { $0 } > 3 }
                    try await track.pause()
                    let paused = reactor.pausedTracks
                    try await track.resume()
                    let before = frames.withLock { $0 }
                    let resumes = await eventually(within: 20) { frames.withLock { $0 } > before + 3 }
                    subscription.cancel()
                    return "\(begins) \(paused) \(resumes) \(reactor.pausedTracks)"
                }
            },
            Scenario("a second session while one runs") { url in
                try await withClient(url) { _ in
                    try await withClient(url, connects: false) { await failure { try await $0.connect() }($0) }
                }
            },
            Scenario("a session that does not exist") { url in
                try await withClient(url, connects: false) { reactor in
                    await failure { try await $0.connect(sessionID: RuntimeProcess.sessionID) }(reactor)
                }
            },
            Scenario("a session of another id") { url in
                try await withClient(url) { _ in
                    try await withClient(url, connects: false) { reactor in
                        await failure { try await $0.connect(sessionID: "11111111-1111-1111-1111-111111111111") }(reactor)
                    }
                }
            },
            Scenario("an adopted session survives the adopter's disconnect; its track has one publisher") { url in
                try await withClient(url) { first in
                    try await first.track("webcam").publish()
                    return try await withClient(url, connects: false) { second in
                        try await second.connect(sessionID: first.sessionID)
                        let refused = await failure { try await $0.track("webcam").publish() }(second)
                        try first.track("webcam").unpublish()
                        let isFreed = await eventually(within: 5) { (try? await second.track("webcam").publish()) != nil }
                        try await second.disconnect()
                        let reply = try await first.sendCommand("echo", ["payload": "still here"])
                        return "\(refused) freed \(isFreed) \(reply?.data?["payload"]?.stringValue ?? "") \(await state(url))"
                    }
                }
            },
            Scenario("reconnect") { url in
                try await withClient(url) { reactor in
                    let id = reactor.sessionID
                    try await reactor.track("webcam").publish()
                    let statuses = Recorder<ReactorStatus>()
                    let subscription = reactor.onStatus { statuses.add($0) }
                    try await reactor.reconnect()
                    _ = await eventually(within: 5) { statuses.values.last == .ready }
                    subscription.cancel()
                    let isPublished = try reactor.track("webcam").published
                    let frame = try await reactor.track("main_video").videoFrames.first { _ in true }
                    return "\(reactor.sessionID == id) \(statuses.values.map(\.rawValue)) published \(isPublished) video \(frame != nil)"
                }
            },
            Scenario("clips of a runtime that does not record") { url in
                try await withClient(url) { reactor in
                    let clip = await failure { try await $0.requestClip(.seconds(3)) }(reactor)
                    let recording = await failure { try await $0.requestRecording() }(reactor)
                    return "\(clip) / \(recording)"
                }
            },
            Scenario("the session is stopped from outside") { url in
                try await withClient(url) { reactor in
                    let errors = Recorder<ReactorError>()
                    let subscription = reactor.onError { errors.add($0) }
                    _ = try await PlainHTTP.send("POST", url + "/stop_session")
                    let isOver = await eventually(within: 15) { reactor.status == .disconnected && !errors.values.isEmpty }
                    subscription.cancel()
                    let again = await failure { try await $0.reconnect() }(reactor)
                    return "\(isOver) \(errors.values.map(\.code.rawValue)) reconnect: \(again)"
                }
            },
            Scenario("orphaned by close(), adopted again") { url in
                try await withClient(url) { $0.close() }
                let isOrphaned = await eventually(within: 20) { await state(url) == "orphaned" }
                return try await withClient(url, connects: false) { reactor in
                    try await reactor.connect(sessionID: RuntimeProcess.sessionID)
                    _ = await eventually(within: 10) { await state(url) == "streaming" }
                    return "\(isOrphaned) \(await state(url)) \(reactor.status.rawValue)"
                }
            },
        ]

        // MARK: Parts

        private static func withClient<R>(_ url: String, connects: Bool = true, _ body: (Reactor) async throws -> R) async throws -> R {
            let reactor = try client(url)
            defer { reactor.close() }
            if connects {
                try await reactor.connect()
                // The vendor's runtime tells a moment later.
                _ = await eventually(within: 10) { await state(url) == "streaming" }
            }
            return try await body(reactor)
        }

        /// What a call throws.
        private static func failure<R>(_ call: @escaping (Reactor) async throws -> R) -> (Reactor) async -> String {
            { reactor in
                do {
                    _ = try await call(reactor)
                    return "nothing"
                } catch {
                    return describe(error)
                }
            }
        }

        private static func describe(_ error: any Error) -> String {
            guard let error = error as? ReactorError else { return "\(error)" }
            return "\(error.code.rawValue): \(error.message)"
        }

        private static func state(_ url: String) async -> String {
            guard let reply = try? await PlainHTTP.send("GET", url + "/session"),
                let object = try? JSONSerialization.jsonObject(with: Data(reply.body)) as? [String: Any]
            else { return "unknown" }
            return object["state"] as? String ?? "unknown"
        }
    }
}
