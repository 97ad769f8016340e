import PeerTestSupport
import Synchronization
import Testing

@testable import Reactor

/// Commands, replies, messages and tokens, against a loopback runtime.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct ClientMessageTests {
    @Test("R-35 every call gets its own reply, also when they come in reverse order")
    func replies() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let peer = try runtime.peer
        var calls: [Task<CommandReply?, any Error>] = []
        for number in 1...5 {
            calls.append(Task { try await client.sendCommand("hold", ["n": .number(Double(number))]) })
            // The order of the ids is the order of the calls.
            #expect(await eventually { await peer.run { core in core.messages.count { $0.channel == "data" } } == number })
        }
        try await client.sendCommand("release")
        for (index, call) in calls.enumerated() {
            let reply = try await call.value
            #expect(reply?.type == "held")
            #expect(reply?.data?["id"] == .string("data_\(index + 1)"))
        }
        try await client.disconnect()
    }

    @Test("R-39 an acknowledgement without a message is nil; R-36 a refusal keeps the platform's code; neither is an error event")
    func acknowledgementAndRefusal() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let trace = Trace(client)
        #expect(try await client.sendCommand("ack") == nil)
        let error = await failure { try await client.sendCommand("refuse") }
        #expect(error?.code.rawValue == "invalid_command")
        #expect(error?.operation == "send_command")
        #expect(error?.recoverable == false)
        #expect(error?.message.contains("no such thing") == true)
        // A NaN and a payload that is no object are refused before anything is sent.
        #expect(await failure { try await client.sendCommand("echo", ["x": .number(.nan)]) }?.code == .decodeFailed)
        #expect(await failure { try await client.sendCommand("echo", [1, 2]) }?.code == .decodeFailed)
        #expect(await failure { try await client.sendCommand("echo", arguments: ["x": Double.nan]) }?.code == .decodeFailed)
        #expect(await failure { try await client.sendCommand("echo", arguments: [1, 2]) }?.code == .decodeFailed)
        #expect(trace.all.isEmpty)
        try await client.disconnect()
    }

    @Test("R-41, R-42 the typed form puts the same bytes on the wire as the literal form")
    func typedForm() async throws {
        struct Prompt: Encodable, Sendable {
            var prompt: String
            var strength: Double
        }
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let typed = try await client.sendCommand("echo", arguments: Prompt(prompt: "a forest", strength: 0.5))
        let literal = try await client.sendCommand("echo", ["prompt": "a forest", "strength": 0.5])
        #expect(typed?.data == literal?.data)
        let sent = try await runtime.peer.run { core in core.messages.filter { $0.channel == "data" }.map(\.bytes) }
        // They differ in the last digit of the request id: field 1, "data_1" and "data_2".
        #expect(sent.map { Array($0.prefix(8)) } == ["data_1", "data_2"].map { [0x0A, 6] + Array($0.utf8) })
        #expect(sent.count == 2 && sent[0].dropFirst(8) == sent[1].dropFirst(8) && sent[0].count > 30)
        try await client.disconnect()
    }

    @Test("X-17 a message over the limit throws messageTooLarge and sends nothing; the session goes on")
    func tooLarge() async throws {
        let runtime = try FakeRuntime { $0.peer.chunkingMaxBytes = nil }
        let client = try runtime.client()
        try await client.connect()
        let text = String(repeating: "x", count: 300_000)
        #expect(await failure { try await client.sendCommand("echo", ["text": .string(text)]) }?.code == .messageTooLarge)
        #expect(try await client.sendCommand("echo", ["text": "x"])?.data?["text"] == "x")
        #expect(try await runtime.peer.run { core in core.messages.count { $0.channel == "data" } } == 1)
        try await client.disconnect()
    }

    @Test("§5.8 a command of a megabyte travels in chunks, there and back")
    func largeCommand() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let text = String(repeating: "abcdefgh", count: 1 << 17)
        #expect(try await client.sendCommand("echo", ["text": .string(text)])?.data?["text"] == .string(text))
        try await client.disconnect()
    }

    @Test("§9.4 a command without a reply ends at its limit; the late reply becomes a message; no error event")
    func timeout() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client { $0.commandTimeout = .milliseconds(200) }
        try await client.connect()
        let trace = Trace(client)
        let messages = client.messages
        let error = await failure { try await client.sendCommand("late") }
        #expect(error?.code == .requestTimeout)
        #expect(error?.recoverable == true)
        try await client.sendCommand("release")
        var iterator = messages.makeAsyncIterator()
        #expect(await iterator.next()?["type"] == "late")
        #expect(trace.all.isEmpty)
        try await client.disconnect()
    }

    @Test("R-46 requestSchema() returns the running model's document")
    func schema() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        #expect(try await client.requestSchema()["openapi"] == "3.1.0")
        try await client.disconnect()
    }

    @Test("R-67, R-68, R-70, R-73 messages of the model and of the platform are kept apart, in handlers and streams")
    func kinds() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let (messages, runtimeMessages) = (client.messages, client.runtimeMessages)
        let model = Mutex<[JSONValue]>([])
        let platform = Mutex<[JSONValue]>([])
        let first = client.onMessage { value in model.withLock { $0.append(value) } }
        let second = client.onRuntimeMessage { value in platform.withLock { $0.append(value) } }
        try await client.sendCommand("broadcast", ["score": 7])
        try await client.sendCommand("notice")
        let news: JSONValue = ["type": "news", "data": ["score": 7]]
        let ended: JSONValue = ["type": "sessionEnded", "data": ["reason": "maintenance"]]
        #expect(await eventually { model.withLock { $0 } == [news] && platform.withLock { $0 } == [ended] })
        client.close()
        var streamed: [JSONValue] = []
        for await value in messages { streamed.append(value) }
        for await value in runtimeMessages { streamed.append(value) }
        #expect(streamed == [news, ended])
        withExtendedLifetime((first, second)) {}
    }

    @Test("§8.5, §9.3 a session whose end was announced: the loss says so")
    func announcedEnd() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let errors = client.errors
        try await client.sendCommand("notice")
        try runtime.peer.post { $0.sayGoodbye() }
        var iterator = errors.makeAsyncIterator()
        let error = await iterator.next()
        #expect(error?.code == .disconnected)
        #expect(error?.message.contains("sessionEnded") == true)
        #expect(client.status == .disconnected)
        client.close()
    }

    @Test("§5.2 what the server says on connect arrives, in both encodings, before anything was asked")
    func firstMessages() async throws {
        let runtime = try FakeRuntime {
            let v0 = #"{"scope":"application","data":{"type":"welcome","data":{"seed":1}}}"#
            $0.greeting = [
                AnsweringCore.Message(channel: "data", isText: true, bytes: Array(v0.utf8)),
                AnsweringCore.Message(channel: "data", bytes: [0x10, 0x03, 0x52, 0x06, 0x0A, 0x04] + Array("late".utf8)),
            ]
        }
        let client = try runtime.client()
        let messages = client.messages
        try await client.connect()
        var iterator = messages.makeAsyncIterator()
        #expect(await iterator.next() == ["type": "welcome", "data": ["seed": 1]])
        #expect(await iterator.next()?["type"] == "late")
        try await client.disconnect()
    }

    @Test("PB-05 bytes that are no messages are dropped; the session goes on")
    func garbage() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        #expect(try await client.sendCommand("garbage") == nil)
        #expect(try await client.sendCommand("echo", ["ok": true])?.data?["ok"] == true)
        #expect(client.status == .ready)
        try await client.disconnect()
    }

    @Test("8.4 a command on a channel the server closed throws invalidState and is an error event")
    func closedChannel() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let trace = Trace(client)
        try runtime.peer.post { $0.closeChannel("data") }
        let peer = try runtime.peer
        #expect(await eventually { await peer.run { $0.closedLabels } == ["data"] })
        #expect(await failure { try await client.sendCommand("echo") }?.code == .invalidState)
        #expect(await eventually { trace.all == ["error INVALID_STATE"] })
        try await client.disconnect()
    }

    // MARK: Tokens

    @Test("TOK-03, R-8 a provider that takes its time: every request carries its token")
    func slowProvider() async throws {
        let runtime = try FakeRuntime { $0.isLocal = false }
        let client = try runtime.client(
            tokens: TokenClosure { _, _ in
                try await Task.sleep(for: .milliseconds(50))
                return "token-1"
            })
        try await client.connect()
        #expect(client.sessionID == FakeRuntime.hostedID)
        try await client.disconnect()
        let requests = runtime.server.requests
        #expect(requests.count >= 6)
        for request in requests {
            #expect(request.headers["authorization"] == "Bearer token-1", "\(request.method) \(request.path)")
            #expect(request.headers["reactor-api-version"] == "1")
        }
        #expect(runtime.endCount == 1)
    }

    @Test("TOK-01 a token that has run out is asked for again on a 401 and at each reconnect, once")
    func renewedToken() async throws {
        let accepted = SharedBox<Word>()
        accepted.value = Word("t1")
        let asked = Counter()
        let runtime = try FakeRuntime {
            $0.isLocal = false
            $0.override = { request in
                request.headers["authorization"] == "Bearer \(accepted.value?.text ?? "")" ? nil : [.reply(401, "expired")]
            }
        }
        let current = SharedBox<Word>()
        current.value = Word("t1")
        let client = try runtime.client(
            tokens: TokenClosure { _, _ in
                _ = asked.next()
                return current.value?.text ?? ""
            })
        try await client.connect()
        // The old token has run out; the provider knows the new one.
        accepted.value = Word("t2")
        current.value = Word("t2")
        let before = asked.value
        try await client.reconnect()
        #expect(client.status == .ready)
        #expect(asked.value > before)
        // Nobody has a good token now: one retry, then the typed error.
        accepted.value = Word("t3")
        let error = await failure { try await client.reconnect() }
        #expect(error?.code == .unauthorized)
        #expect(error?.message.contains("t2") == false)
        client.close()
    }

    private final class Word: Sendable {
        let text: String
        init(_ text: String) { self.text = text }
    }
}
