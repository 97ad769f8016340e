import Dispatch
import Foundation
import PeerTestSupport
import RTCPeer
import ReactorCore
import Synchronization
import Testing

@testable import Reactor

/// Rules of sessions, against a loopback runtime.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct SessionRuleTests {
    @Test("R-4 handlers run on the client's serial queue, and never on the thread of the network")
    func queue() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let key = DispatchSpecificKey<Int>()
        client.state.hub.queue.setSpecific(key: key, value: 17)
        let seen = Mutex<[String: Int?]>([:])
        let note: @Sendable (String) -> Void = { name in seen.withLock { $0[name] = DispatchQueue.getSpecific(key: key) } }
        let subscriptions = [
            client.onStatus { _ in note("status") }, client.onMessage { _ in note("message") },
            client.onRuntimeMessage { _ in note("runtime") }, client.onError { _ in note("error") },
        ]
        try await client.connect()
        try await client.sendCommand("broadcast")
        try await client.sendCommand("notice")
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { seen.withLock { $0.count } == 4 })
        #expect(seen.withLock { $0 } == ["status": 17, "message": 17, "runtime": 17, "error": 17])
        withExtendedLifetime(subscriptions) {}
        client.close()
    }

    @Test(
        "R-7 the model's name goes out as it was given, with an owner or bare: the server knows what it means",
        arguments: ["owner/name", "name"])
    func modelName(_ name: String) async throws {
        let runtime = try FakeRuntime { $0.isLocal = false }
        let client = try Reactor(model: name, jwt: "t", apiURL: runtime.server.url)
        #expect(client.model == name)
        try await client.connect()
        let create = try #require(runtime.server.requests.first { $0.method == "POST" && $0.path.hasSuffix("/sessions") })
        #expect(try JSONValue(jsonText: create.text)["model"]?["name"]?.stringValue == name)
        try await client.disconnect()
    }

    @Test("R-15 a client made with an API key exchanges it, limited to its model, and uses the token from then on")
    func apiKey() async throws {
        let runtime = try FakeRuntime { options in
            options.isLocal = false
            options.override = { $0.path.hasSuffix("/tokens") ? [.reply(200, #"{"jwt":"minted"}"#)] : nil }
        }
        let client = try await Reactor(model: "owner/name", apiKey: "key-1", apiURL: runtime.server.url)
        let exchange = try #require(runtime.server.requests.first)
        #expect(exchange.method == "POST" && exchange.headers["reactor-api-key"] == "key-1" && runtime.server.requests.count == 1)
        let scope = try JSONValue(jsonText: exchange.text)["authorization_details"]?[0]
        #expect(scope?["resources"]?["models"]?["match"] == ["owner/name"])
        try await client.connect()
        #expect(runtime.server.requests.dropFirst().allSatisfy { $0.headers["authorization"] == "Bearer minted" })
        #expect(runtime.server.requests.dropFirst().allSatisfy { $0.headers["reactor-api-key"] == nil })
        try await client.disconnect()
        // Options of the caller's own are not narrowed.
        _ = try await Reactor(
            model: "owner/name", apiKey: "key-1", apiURL: runtime.server.url, options: TokenOptions(models: ["a/b"], expiresAfter: 9))
        let body = try JSONValue(jsonText: #require(runtime.server.requests.last).text)
        #expect(body["authorization_details"]?[0]?["resources"]?["models"]?["match"] == ["a/b"] && body["expires_after"] == 9)
    }

    @Test("R-77 fetchJWT returns a token without a client, and its options limit what it may do")
    func fetch() async throws {
        let server = try ScriptedServer(.reply(200, #"{"jwt":"minted"}"#))
        #expect(try await Reactor.fetchJWT(apiKey: "key-1", apiURL: server.url) == "minted")
        #expect(server.requests.last?.text == "null")
        let options = TokenOptions(
            models: ["a/b"], sessions: ["s1"], maxSessions: 2, maxSessionDuration: 60, expiresAfter: 300)
        #expect(try await Reactor.fetchJWT(apiKey: "key-1", apiURL: server.url, options: options) == "minted")
        let body = try JSONValue(jsonText: #require(server.requests.last).text)
        #expect(
            body == [
                "authorization_details": [
                    [
                        "type": "session", "resources": ["models": ["match": ["a/b"]], "sessions": ["bind": ["s1"]]],
                        "constraints": ["max_sessions": 2, "max_session_duration_seconds": 60],
                    ]
                ], "expires_after": 300,
            ])
        server.stop()
    }

    @Test("R-38 uploads travel beside the payload, by their parameters' names")
    func uploads() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let file = FileRef(uploadID: "u1", name: "a.png", mimeType: "image/png", size: 5)
        try await client.sendCommand("ack", ["strength": 2], uploads: ["image": file])
        let bytes = try await runtime.peer.run { core in core.messages.last { $0.channel == "data" }?.bytes }
        guard case .command(let command)? = try DataClientMessage(parsing: #require(bytes)).payload else {
            Issue.record("no command")
            return
        }
        #expect(command.data == ["strength": .number(2)])
        #expect(command.uploads == ["image": UploadReference(uploadID: "u1", name: "a.png", mimeType: "image/png", size: 5)])
        try await client.disconnect()
    }

    @Test("X-12 handlers on a track that turns out to be sent stay registered and never fire; one warning says so")
    func idleHandlers() async throws {
        let records = Mutex<[ReactorLogger.Record]>([])
        let runtime = try FakeRuntime()
        let client = try runtime.client {
            $0.logger = ReactorLogger(minimumLevel: .warning) { record in records.withLock { $0.append(record) } }
        }
        let webcam = try client.track("webcam")
        let fired = Mutex(0)
        let subscription = try webcam.onFrame { (_: VideoFrame) in fired.withLock { $0 += 1 } }
        // The handler's task has begun to wait.
        #expect(await eventually { webcam.remote.hasConsumers })
        try await client.connect()
        try await client.reconnect()
        for await _ in try client.track("main_video").videoFrames { break }
        #expect(!subscription.isCancelled && webcam.remote.hasConsumers && fired.withLock { $0 } == 0)
        let warnings = records.withLock { $0 }.filter { $0.metadata["track"] == "webcam" }
        #expect(warnings.count == 1 && warnings.first?.level == .warning)
        try await client.disconnect()
    }

    @Test("X-20 when connect() returns only status is promised: the event may still be on its way")
    func readyEvent() async throws {
        let runtime = try FakeRuntime()
        let queue = DispatchQueue(label: "test.held")
        let client = try runtime.client(eventQueue: queue)
        let seen = Mutex<[ReactorStatus]>([])
        let subscription = client.onStatus { status in seen.withLock { $0.append(status) } }
        queue.suspend()
        try await client.connect()
        #expect(client.status == .ready && seen.withLock { $0 }.isEmpty)
        queue.resume()
        #expect(await eventually { seen.withLock { $0 } == [.connecting, .waiting, .ready] })
        withExtendedLifetime(subscription) {}
        try await client.disconnect()
    }
}
