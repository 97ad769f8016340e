import PeerTestSupport
import RTCBase
import RTCPeer
import Reactor
import ReactorCore
import Synchronization
import Testing

@testable import ReactorTesting

/// The runtime below HTTP, with a client of its own kind.
@Suite("RuntimeCore")
struct RuntimeCoreTests {
    private func error(_ content: ServerMessage.Content?) -> ErrorMessage? {
        if case .error(let error) = content { error } else { nil }
    }

    @Test("A client connects, a command is answered under its id, and a plain stop closes the connection without a word")
    func connectAndCommand() async throws {
        let model = TestModel()
        try await withCore(model) { core in
            let client = try await RawClient(core)
            #expect(await client.waitUntilOpen())
            try await client.command("echo", .object(["x": .number(1)]))
            #expect(await client.reply("data_1") == .model(ModelMessage(type: "echoed", data: .object(["x": .number(1)]))))
            #expect(await state(core) == "streaming")
            #expect(await eventually { Set(model.entries).isSuperset(of: ["run", "echo"]) })
            try await core.stopSession(moderates: false, reason: "")
            #expect(await state(core) == "ready")
            #expect(await eventually { client.isLost })
            #expect(client.messages.count == 1)
        }
    }

    // MARK: Commands

    @Test("§8.3 refusals of contract and model, failures of handlers, and acknowledgements reach the sender")
    func commandErrors() async throws {
        let commands = ["ack", "refuse", "fail", "list"].map { LocalCommand($0) }
        try await withCore(TestModel(commands: commands)) { core in
            let client = try await RawClient(core)
            #expect(await client.waitUntilOpen())
            for name in ["nope", "refuse", "fail", "list", "ack"] { try await client.command(name, id: name) }
            #expect(error(await client.reply("nope")) == ErrorMessage(code: "invalid_command", message: "unknown command"))
            #expect(error(await client.reply("refuse")) == ErrorMessage(code: "not_today", message: "come back later"))
            #expect(error(await client.reply("fail"))?.code == "internal_error")
            #expect(error(await client.reply("list"))?.message == "the model's reply is not a JSON object")
            #expect(await client.reply("ack") == .acknowledgement)
        }
    }

    @Test("§5.5 a request without an id, and a command as a notification, are answered under an id of the runtime's")
    func mintedIDs() async throws {
        try await withCore { core in
            let client = try await RawClient(core)
            #expect(await client.waitUntilOpen())
            try await client.command("echo", id: "")
            try await client.command("echo", id: "", kind: .notification)
            try await client.control(.requestSchema, kind: .request)
            #expect(await eventually { client.messages.count == 3 })
            let ids = Set(client.messages.map(\.requestID))
            #expect(ids.count == 3)
            #expect(ids.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
        }
    }

    @Test("connection ids come back after a long while, never one of late or one that is in use")
    func connectionIDs() async throws {
        try await withCore { core in
            let client = try await RawClient(core)
            var recent: [Int] = [client.connectionID]
            for _ in 0..<7000 {
                let id = try #require(try await core.registerConnection()["connection_id"]?.intValue)
                #expect(5000...9999 ~= id && id != client.connectionID && !recent.suffix(RecentIDs.most).contains(id))
                recent.append(id)
            }
        }
    }

    @Test("Commands of a client are carried out in order, one at a time, while its other requests are answered at once")
    func commandOrder() async throws {
        let model = TestModel()
        try await withCore(model) { core in
            let client = try await RawClient(core)
            #expect(await client.waitUntilOpen())
            try await client.command("slow", id: "1")
            try await client.command("echo", id: "2")
            try await client.control(.requestSchema, id: "schema", kind: .request)
            #expect(await client.reply("2") != nil)
            #expect(client.messages.map(\.requestID) == ["schema", "1", "2"])
            #expect(model.entries.filter { !$0.hasPrefix("run") } == ["slow", "slow done", "echo"])
        }
    }

    @Test("§6.5 replies go to the sender, broadcasts to everybody")
    func broadcasts() async throws {
        try await withCore { core in
            let sender = try await RawClient(core)
            let other = try await RawClient(core)
            #expect(await sender.waitUntilOpen())
            #expect(await other.waitUntilOpen())
            try await sender.command("shout", .object(["n": .number(7)]))
            #expect(await sender.reply("data_1") == .acknowledgement)
            let news = ServerMessage.Content.model(ModelMessage(type: "shout", data: .object(["n": .number(7)])))
            #expect(await eventually { other.messages.map(\.content) == [news] })
            #expect(sender.messages.map(\.content) == [news, .acknowledgement])
        }
    }

    @Test("§5.7 a reply above the client's limit is dropped and counted, and the caller hears of it")
    func hugeReply() async throws {
        try await withCore { core in
            let client = try await RawClient(core, chunks: false)
            #expect(await client.waitUntilOpen())
            try await client.command("huge")
            #expect(error(await client.reply("data_1"))?.code == "internal_error")
            #expect(await core.drops[.messageTooLarge] == 1)
        }
    }

    @Test("PB-05 what cannot be read is counted, and the channels go on")
    func garbage() async throws {
        try await withCore { core in
            let client = try await RawClient(core)
            #expect(await client.waitUntilOpen())
            try await client.peer.send([0xFF, 0xFF, 0xFF], channel: "data")
            try await client.peer.send([0x0A, 0x7F], channel: "control")
            try await client.peer.send([], channel: "control")
            try await client.peer.send(Array("{}".utf8), isText: true, channel: "data")
            try await client.command("ack")
            #expect(await client.reply("data_1") == .acknowledgement)
            #expect(await core.drops[.malformedMessage] == 3)
            let told = await core.metrics().first { $0.labels == ["reason": "malformedMessage"] }
            #expect(told?.name == "reactor_session_discarded_total" && told?.value == 3)
        }
    }

    @Test("§12 the model hears of every client that connects, and greets it before its first command is answered")
    func greetings() async throws {
        let greeted = Mutex(0)
        let model = TestModel(connected: { session in
            greeted.withLock { $0 += 1 }
            try await Task.sleep(for: .milliseconds(30))
            try await session.send(["type": "welcome"])
            throw LocalCommandError(code: "odd", message: "is logged, and changes nothing")
        })
        try await withCore(model) { core in
            let welcome = ServerMessage.Content.model(ModelMessage(type: "welcome", data: .null))
            let first = try await RawClient(core)
            #expect(await first.waitUntilOpen())
            try await first.command("ack", id: "1")
            #expect(await first.reply("1") == .acknowledgement)
            #expect(first.messages.map(\.content) == [welcome, .acknowledgement])
            let second = try await RawClient(core)
            #expect(await eventually { second.messages.map(\.content) == [welcome] })
            #expect(greeted.withLock { $0 } == 2 && model.entries.filter { $0 == "run" }.count == 1)
        }
    }

    // MARK: Encodings

    @Test("§5.9 a client whose first frame is JSON gets JSON; command acknowledgements and errors have none")
    func legacyClient() async throws {
        let model = TestModel(commands: [LocalCommand("echo", parameters: [LocalParameter("a", .boolean)]), LocalCommand("ack")])
        try await withCore(model) { core in
            let client = try await RawClient(core, greets: false)
            #expect(await client.waitUntilOpen())
            func say(_ text: String, _ channel: String = "data") async throws {
                try await client.peer.send(Array(text.utf8), isText: true, channel: channel)
            }
            try await say(#"{"scope":"application","data":{"type":"ack","data":{}}}"#)
            try await say(#"{"scope":"application","data":{"type":"nope","data":{}}}"#)
            try await say(#"{"scope":"runtime","data":{"type":"ping","data":{}}}"#)
            try await say(#"{"scope":"runtime","data":{"type":"requestClip","data":{"duration_seconds":3}}}"#)
            try await say(#"{"type":"request","method":"publish_track","request_id":"r1","data":{"name":"webcam"}}"#, "control")
            try await say(#"{"type":"request","method":"publish_track","request_id":"r2","data":{"name":"nope"}}"#, "control")
            try await say(#"{"scope":"application","data":{"type":"echo","data":{"a":true}}}"#)
            #expect(await eventually { client.texts.count == 4 })
            #expect(client.frames.count == 4)
            #expect(
                Set(client.texts) == [
                    #"{"data":{"data":{"a":true},"type":"echoed"},"scope":"application"}"#,
                    #"{"data":{"data":{"reason":"recorder disabled or encoder crashed"},"type":"clipFailed"},"scope":"runtime"}"#,
                    #"{"data":{},"method":"publish_track","request_id":"r1","type":"response"}"#,
                    #"{"error":{"code":"publish_refused","message":"unknown track 'nope'"},"method":"publish_track","request_id":"r2","type":"response"}"#,
                ])
            #expect(client.messages.count == 4, "our own client reads them too")
        }
    }

    @Test("§5.1 what a model says at once waits for the client's first frame, and goes in that frame's encoding")
    func welcomeInJSON() async throws {
        let model = TestModel { session in try await session.send(["type": "welcome"]) }
        try await withCore(model) { core in
            let client = try await RawClient(core, greets: false)
            #expect(await eventually { model.entries.contains("run ended") })
            #expect(client.frames.isEmpty)
            try await client.peer.send(Array(#"{"scope":"runtime","data":{"type":"ping","data":{}}}"#.utf8), isText: true, channel: "data")
            #expect(await eventually { client.texts == [#"{"data":{"data":{},"type":"welcome"},"scope":"application"}"#] })
        }
    }

    @Test("§5.2 a client that says nothing is spoken to in protobuf, until its first frame says otherwise")
    func firstEncoding() async throws {
        let model = TestModel { session in try await session.send(["type": "welcome"]) }
        try await withCore(model) { core in
            let client = try await RawClient(core, greets: false)
            #expect(await eventually { client.messages.map(\.content) == [.model(ModelMessage(type: "welcome", data: .null))] })
            #expect(client.texts.isEmpty)
            try await client.peer.send(
                Array(#"{"scope":"application","data":{"type":"echo","data":{}}}"#.utf8), isText: true, channel: "data")
            #expect(await eventually { client.texts == [#"{"data":{"data":{},"type":"echoed"},"scope":"application"}"#] })
        }
    }

    // MARK: Signalling

    @Test("§3.2 ids are minted from 5000 to 9999, with the tracks as the model sees them")
    func registration() async throws {
        try await withCore { core in
            let body = try await core.registerConnection()
            #expect((5000...9999).contains(body["connection_id"]?.intValue ?? 0))
            #expect(
                body["track_map"]?["webcam"]
                    == .object(["kind": "video", "direction": "in", "rate": .number(30)]))
            #expect(body["track_map"]?["main_audio"]?["direction"] == "out")
        }
    }

    @Test("§12, 9 an answer can be read as often as wanted, and an offer that cannot be answered fails with a 4xx")
    func answers() async throws {
        try await withCore { core in
            let client = try await RawClient(core, id: 1002)
            let first = try await core.answer(connection: 1002)
            let second = try await core.answer(connection: 1002)
            #expect(first != nil && first == second)
            #expect(try await core.answer(connection: 2222) == nil)
            #expect(await client.waitUntilOpen())

            try await core.offer(OfferRequest(sdp: "garbage", trackMapping: []), connection: 5001)
            let failure = await #expect(throws: RouteFailure.self) { try await core.answer(connection: 5001) }
            #expect(failure?.status == 422)
            // The id is good for another try.
            let again = try await RawClient(core, id: 5001)
            #expect(await again.waitUntilOpen())
        }
    }

    @Test("The same offer twice on one id is one negotiation: its answer stays the same")
    func repeatedOffer() async throws {
        try await withCore { core in
            let client = try await RawClient(core)
            let answer = try await core.answer(connection: client.connectionID)
            let offer = await core.offerText(client.connectionID)
            try await core.offer(OfferRequest(sdp: offer, trackMapping: []), connection: client.connectionID)
            #expect(try await core.answer(connection: client.connectionID) == answer)
            #expect(await client.waitUntilOpen())
        }
    }

    @Test("§3.2 more than 64 connections are refused with 503 until one is gone; half-open ones are reaped")
    func connectionLimit() async throws {
        let limit = RuntimeCore.mostConnections
        try await withCore(TestModel(tracks: []), { $0.negotiationTimeout = .seconds(600) }) { core in
            let offer = try await RawClient.makeOffer()
            // A negotiation that failed takes no place, and gives none.
            try await core.offer(OfferRequest(sdp: "garbage", trackMapping: []), connection: 4000)
            #expect(await core.offerText(4000).isEmpty)
            for id in 0..<limit {
                try await core.offer(OfferRequest(sdp: offer, trackMapping: []), connection: 2000 + id)
            }
            let failure = await #expect(throws: RouteFailure.self) {
                try await core.offer(OfferRequest(sdp: offer, trackMapping: []), connection: 4000)
            }
            #expect(failure?.status == 503 && failure?.detail == "Connection limit reached")
        }
        try await withCore(TestModel(tracks: []), { $0.negotiationTimeout = .milliseconds(100) }) { core in
            let offer = try await RawClient.makeOffer()
            try await core.offer(OfferRequest(sdp: offer, trackMapping: []), connection: 2000)
            #expect(await eventually { await core.connectionCount == 0 })
        }
    }

    @Test("§3.2 candidates before the offer are kept, 256 for each of 128 ids, the others counted")
    func earlyCandidates() async throws {
        try await withCore { core in
            let candidate = IceCandidatesBody.Candidate(text: "candidate:1 1 udp 1 192.0.2.1 9 typ host", mid: "0", mLineIndex: 0)
            let end = IceCandidatesBody.Candidate(text: "", mid: nil, mLineIndex: nil)
            try await core.addCandidates(Array(repeating: candidate, count: 300) + [end], isFinal: true, connection: 1001)
            #expect(await core.earlyCandidates[1001]?.count == 256)
            #expect(await core.drops[.unusableCandidate] == 44)
            for id in 1002..<1200 { try await core.addCandidates([candidate], isFinal: false, connection: id) }
            #expect(await core.earlyCandidates.count == 128)
            // They are added to the connection of their id, and do it no harm.
            let client = try await RawClient(core, id: 1001)
            #expect(await core.earlyCandidates[1001] == nil)
            #expect(await client.waitUntilOpen())
        }
    }

    @Test("Routes of a session that is not there, or not this one")
    func sessionGuard() async throws {
        try await withCore { core in
            try await core.requireSession(RuntimeBodies.sessionID)
            await #expect(throws: RouteFailure(404, "Unknown session")) {
                try await core.requireSession("11111111-1111-1111-1111-111111111111")
            }
            await #expect(throws: RouteFailure(409, "cannot start session while waiting")) { try await core.startSession(sessionID: nil) }
            try await core.stopSession(moderates: false, reason: "")
            await #expect(throws: RouteFailure(400, "No session running")) { try await core.requireSession(RuntimeBodies.sessionID) }
            await #expect(throws: RouteFailure(409, "cannot stop session while ready")) {
                try await core.stopSession(moderates: false, reason: "")
            }
            await #expect(throws: RouteFailure(400, "No session running")) {
                try await core.offer(OfferRequest(sdp: "", trackMapping: []), connection: 5000)
            }
        }
    }
}

extension RuntimeCore {
    func offerText(_ id: Int) -> String { connections[id]?.offer ?? "" }
    var connectionCount: Int { connections.count }
    var commandTaskCount: Int { session?.commandTasks.count ?? 0 }
    var nextConnectionDeadline: MonotonicTime? { connections.values.compactMap(nextDeadline).min() }
}
