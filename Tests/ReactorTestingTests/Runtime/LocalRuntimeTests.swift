import Foundation
import PeerTestSupport
import Reactor
import Synchronization
import Testing

@testable import ReactorTesting

/// Our own client against the runtime, over real sockets.
@Suite("LocalRuntime")
struct LocalRuntimeTests {
    // MARK: Sessions

    @Test("R-16, R-27 connect starts a session, disconnect ends it, and the next one starts at once")
    func sessions() async throws {
        let model = TestModel { _ in try await untilCancelled() }
        try await withRuntime(model) { runtime in
            let client = try Reactor(model: "test", runtime: runtime)
            for _ in 0..<3 {
                try await client.connect()
                #expect(client.status == .ready)
                #expect(client.tracks.map(\.name) == ["webcam", "mic", "main_video", "main_audio"])
                #expect(await runtime.state == "streaming")
                #expect(try await runtime.session.connectionCount == 1)
                try await client.disconnect()
                #expect(await runtime.state == "ready")
                #expect(await runtime.sessions.isEmpty)
            }
            #expect(
                await eventually {
                    model.entries == ["run", "run ended", "run", "run ended", "run", "run ended"].sorted(like: model.entries)
                })
        }
    }

    @Test("R-17, R-18, §6.5 a second client joins by id; its disconnect leaves the session to the first")
    func secondClient() async throws {
        try await withRuntime(TestModel()) { runtime in
            let owner = try await runtime.connectedClient()
            let guest = try Reactor(model: "test", runtime: runtime)
            try await guest.connect(sessionID: owner.sessionID)
            #expect(try await runtime.session.connectionCount == 2)
            let heard = ClientLog(guest)
            try await owner.sendCommand("shout", ["n": 1])
            #expect(await heard.contains("shout"))
            try await guest.disconnect()
            #expect(await eventually { (try? await runtime.session.connectionCount) == 1 })
            #expect(await runtime.state == "streaming")
            #expect(try await owner.sendCommand("echo", ["a": 1])?.data == ["a": 1])
            let late = try Reactor(model: "test", runtime: runtime)
            await #expect(throws: ReactorError.self) { try await late.connect() }
            try await owner.disconnect()
        }
    }

    @Test("R-22, R-25, R-26, §6.4 reconnect replaces the connection under its id: received tracks flow, published ones are free")
    func reconnect() async throws {
        let source = GreySource()
        try await withRuntime(TestModel(run: source.run)) { runtime in
            let client = try await runtime.connectedClient()
            try await client.track("webcam").publish()
            let id = client.sessionID
            try await client.reconnect()
            #expect(client.sessionID == id && client.status == .ready)
            #expect(try await runtime.session.connectionCount == 1)
            let frame = try await client.track("main_video").videoFrames.first(within: .seconds(10)) { _ in true }
            #expect(frame != nil)
            #expect(try client.track("webcam").published == false)
            try await client.track("webcam").publish()
            let other = try Reactor(model: "test", runtime: runtime)
            try await other.connect(sessionID: id)
            await #expect(throws: ReactorError.self) { try await other.track("webcam").publish() }
            other.close()
        }
    }

    @Test("§3.1 a session whose client vanished is orphaned, takes it back, and ends when nobody comes")
    func orphan() async throws {
        try await withRuntime(TestModel()) { runtime in
            let client = try await runtime.connectedClient()
            let id = client.sessionID
            client.close()
            #expect(await eventually { await runtime.state == "orphaned" })
            let second = try Reactor(model: "test", runtime: runtime)
            try await second.connect(sessionID: id)
            #expect(await runtime.state == "streaming")
            second.close()
        }
        try await withRuntime(TestModel(), { $0.orphanTimeout = .milliseconds(200) }) { runtime in
            let client = try await runtime.connectedClient()
            client.close()
            #expect(await eventually { await runtime.state == "ready" })
            #expect(await runtime.sessions.isEmpty)
        }
    }

    @Test("§9.3 stop says goodbye, closes at once and leaves nothing behind")
    func stop() async throws {
        let runtime = try await LocalRuntime(model: TestModel { _ in try await untilCancelled() })
        let client = try await runtime.connectedClient()
        let log = ClientLog(client)
        await runtime.stop()
        #expect(await log.contains("Session ended: the server is shutting down."))
        #expect(await eventually { client.status == .disconnected })
        let after = try Reactor(model: "test", runtime: runtime)
        await #expect(throws: ReactorError.self) { try await after.connect() }
        await runtime.stop()
        client.close()
    }

    @Test("A released runtime stops by itself")
    func release() async throws {
        var runtime: LocalRuntime? = try await LocalRuntime(model: TestModel())
        let client = try await runtime?.connectedClient()
        weak let weakRuntime = runtime
        runtime = nil
        #expect(weakRuntime == nil)
        #expect(await eventually { client?.status == .disconnected })
        client?.close()
    }

    @Test("Several runtimes in one process do not know of each other")
    func severalRuntimes() async throws {
        try await withRuntime(TestModel()) { first in
            try await withRuntime(TestModel()) { second in
                #expect(first.apiURL != second.apiURL)
                let one = try await first.connectedClient()
                let two = try await second.connectedClient()
                let log = ClientLog(two)
                try await one.sendCommand("shout")
                try await two.sendCommand("shout", ["n": 2])
                #expect(await log.contains("\"n\":2"))
                #expect(log.all.count { $0.contains("shout") } == 1)
                try await one.disconnect()
                #expect(two.status == .ready)
                try await two.disconnect()
            }
        }
    }

    @Test("A model whose tracks or commands cannot be declared is refused")
    func badModels() async throws {
        let track = LocalTrack("a", kind: .video, direction: .recvonly)
        for model in [
            TestModel(tracks: [track, track]), TestModel(tracks: [LocalTrack("", kind: .audio, direction: .sendonly)]),
            TestModel(commands: [LocalCommand("a"), LocalCommand("a")]),
            TestModel(commands: [LocalCommand("a", parameters: [LocalParameter("b", .boolean), LocalParameter("b", .list)])]),
        ] {
            await #expect(throws: ReactorError.self) { try await LocalRuntime(model: model) }
        }
    }

    // MARK: Commands and messages

    @Test("R-35, R-36, R-39 replies, acknowledgements and refusals as the client's API shows them")
    func commands() async throws {
        let commands = [
            LocalCommand("echo", "Says it again.", parameters: [LocalParameter("count", .integer(1...5), default: 2)]),
            LocalCommand("ack"), LocalCommand("refuse"),
        ]
        try await withRuntime(TestModel(commands: commands)) { runtime in
            let client = try await runtime.connectedClient()
            #expect(try await client.sendCommand("echo") == CommandReply(type: "echoed", data: ["count": 2]))
            #expect(try await client.sendCommand("ack") == nil)
            for (name, arguments, code) in [
                ("nope", nil, "invalid_command"), ("echo", ["count": 9], "invalid_command"), ("refuse", nil, "not_today"),
            ] as [(String, JSONValue?, String)] {
                let error = await #expect(throws: ReactorError.self) { try await client.sendCommand(name, arguments) }
                #expect(error?.code.rawValue == code)
            }
            let schema = try await client.requestSchema()
            #expect(schema["info"]?["title"] == "test")
            let operation = schema["paths"]?["/events/echo"]?["post"]
            #expect(operation?["operationId"] == "echo" && operation?["summary"] == "Says it again.")
            let property = operation?["requestBody"]?["content"]?["application/json"]?["schema"]?["properties"]?["count"]
            #expect(property == ["type": "integer", "minimum": 1, "maximum": 5, "default": 2, "x-reactor-moderate": false])
            #expect(schema["x-reactor"]?["tracks"]?[0] == ["name": "webcam", "kind": "video", "direction": "in"])
            try await client.disconnect()
        }
    }

    @Test("R-43, §3.3 a command reads the file that was uploaded for it")
    func uploads() async throws {
        struct Reader: LocalModel {
            let tracks: [LocalTrack] = []
            let commands: [LocalCommand]? = [LocalCommand("read", parameters: [LocalParameter("file", .upload)])]
            func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
                let file = try await session.upload(arguments["file"])
                return CommandReply(type: file.name, data: ["type": .string(file.mimeType), "size": .number(Double(file.data.count))])
            }
        }
        try await withRuntime(Reader(), { $0.uploadTimeout = .milliseconds(50) }) { runtime in
            let client = try await runtime.connectedClient()
            let file = FileRef(uploadID: "up1", name: "a.txt", mimeType: "text/plain", size: 5)
            let missing = await #expect(throws: ReactorError.self) { try await client.sendCommand("read", uploads: ["file": file]) }
            #expect(missing?.code == .unresolvedUpload)
            let store = runtime.core.uploads
            _ = try store.reserve(name: "a.txt", mimeType: "text/plain", sizeBytes: 5, id: "up1")
            let late = await #expect(throws: ReactorError.self) { try await client.sendCommand("read", uploads: ["file": file]) }
            #expect(late?.code == .unresolvedUpload)
            let receiver = try store.receive(id: "up1", contentLength: 5)
            Array("hello".utf8).withUnsafeBytes { _ = receiver.append($0) }
            try store.finish(receiver)
            let reply = try await client.sendCommand("read", uploads: ["file": file])
            #expect(reply == CommandReply(type: "a.txt", data: ["type": "text/plain", "size": 5]))
            try await client.disconnect()
            #expect(store.count == 0, "files live as long as the session")
        }
    }

    @Test("§8.5 a warning, a reason, and the end by moderation reach the client as runtime messages")
    func notices() async throws {
        try await withRuntime(TestModel()) { runtime in
            var client = try await runtime.connectedClient()
            var log = ClientLog(client)
            try await runtime.session.moderate("mind your words", command: "set_prompt", categories: ["rude"])
            #expect(await log.contains(#""action":"warn","categories":["rude"],"command":"set_prompt""#))
            #expect(client.status == .ready)
            try await runtime.session.end(reason: "enough")
            #expect(await log.contains(#"{"data":{"reason":"enough"},"type":"sessionEnded"}"#))
            #expect(await eventually { client.status == .disconnected })
            client.close()

            client = try await runtime.connectedClient()
            log = ClientLog(client)
            try await runtime.session.end(reason: "not told", moderated: true)
            #expect(await log.contains("Session terminated due to policy violation."))
            #expect(!log.all.contains { $0.contains("not told") })
            client.close()
        }
    }

    @Test("A handler may end the session it runs in, and everything throws afterwards")
    func endFromHandler() async throws {
        try await withRuntime(TestModel()) { runtime in
            let client = try await runtime.connectedClient()
            let session = try await runtime.session
            _ = try? await client.sendCommand("end")
            #expect(await eventually { await runtime.state == "ready" })
            for call in [
                { try await session.send(["type": "x"]) }, { try await session.pushVideo(greyFrame(1), to: "main_video") },
                { try await session.pushAudio([1], to: "main_audio") }, { try await session.moderate("x") },
            ] as [@Sendable () async throws -> Void] {
                let error = await #expect(throws: ReactorError.self) { try await call() }
                #expect(error?.code == .sessionTerminal)
            }
            #expect(await session.connectionCount == 0)
            await session.end()
            await session.dropConnection()
            client.close()
        }
    }

    @Test("Messages of another shape are refused")
    func badMessages() async throws {
        try await withRuntime(TestModel()) { runtime in
            let client = try await runtime.connectedClient()
            let session = try await runtime.session
            for message in [[], ["data": [:]], ["type": 1], ["type": "x", "data": 3], ["type": "x", "data": ["y": .number(.nan)]]]
                as [JSONValue]
            {
                let error = await #expect(throws: ReactorError.self) { try await session.send(message) }
                #expect(error?.code == .badRequest)
            }
            client.close()
        }
    }

    @Test(
        "A model that cannot be declared is refused at once",
        arguments: [
            TestModel(tracks: [LocalTrack("", kind: .video, direction: .recvonly)]),
            TestModel(tracks: [LocalTrack("a", kind: .video, direction: .recvonly), LocalTrack("a", kind: .audio, direction: .recvonly)]),
            TestModel(tracks: [LocalTrack("a", kind: .video, direction: .recvonly, rate: .nan)]),
            TestModel(tracks: [LocalTrack("a", kind: .audio, direction: .sendonly, rate: 0)]),
            TestModel(commands: [LocalCommand("c"), LocalCommand("c")]),
            TestModel(commands: [LocalCommand("c", parameters: [LocalParameter("p", .number(nil), default: .number(.infinity))])]),
        ])
    func undeclarable(model: TestModel) async {
        let error = await #expect(throws: ReactorError.self) { try await LocalRuntime(model: model) }
        #expect(error?.code == .badRequest)
    }

    // MARK: Losing clients

    @Test("A dropped connection is seen by the client; the session stays and takes it back")
    func dropConnection() async throws {
        try await withRuntime(TestModel()) { runtime in
            let client = try await runtime.connectedClient()
            let session = try await runtime.session
            await session.dropConnection()
            #expect(await eventually { client.status == .disconnected })
            #expect(await runtime.state == "orphaned")
            try await client.reconnect()
            #expect(try await runtime.session === session)
            try await client.disconnect()
        }
    }

    @Test("What a model's run throws is logged and ends nothing")
    func failingRun() async throws {
        let records = Mutex<[String]>([])
        struct Boom: Error {}
        try await withRuntime(
            TestModel { _ in throw Boom() },
            { $0.logger = ReactorLogger(minimumLevel: .error) { record in records.withLock { $0.append(record.message) } } }
        ) { runtime in
            let client = try await runtime.connectedClient()
            #expect(await eventually { records.withLock { $0 } == ["the model's run(in:) failed"] })
            #expect(try await client.sendCommand("echo") != nil)
            try await client.disconnect()
        }
    }
}

extension [String] {
    /// A run that ends and the next one that begins are different tasks: either may be first to write.
    fileprivate func sorted(like other: [String]) -> [String] { other.sorted() == sorted() ? other : self }
}
