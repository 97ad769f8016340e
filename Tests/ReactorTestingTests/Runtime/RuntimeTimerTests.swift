import PeerTestSupport
import RTCBase
import RTCPeer
import Reactor
import ReactorCore
import Synchronization
import Testing

@testable import ReactorTesting

/// Limits in time, and what ends with them.
@Suite("RuntimeCore, time limits and endings")
struct RuntimeTimerTests {
    @Test("§5.7 a client that says nothing is dropped, its slots are free, and any frame counts as a word")
    func watchdog() async throws {
        try await withCore(TestModel(), { $0.pingTimeout = .milliseconds(400) }) { core in
            let silent = try await RawClient(core)
            let talking = try await RawClient(core)
            #expect(await silent.waitUntilOpen())
            #expect(await talking.waitUntilOpen())
            try await silent.control(.publishTrack(name: "webcam"), id: "p", kind: .request)
            #expect(await silent.reply("p") == .publishGranted)
            let talk = Task {
                while !Task.isCancelled {
                    // Nothing that can be read, and a word all the same.
                    try? await talking.peer.send([0xFF], channel: "data")
                    try? await Task.sleep(for: .milliseconds(20))
                }
            }
            #expect(await eventually { silent.isLost })
            #expect(await eventually { await core.connectionCount == 1 })
            #expect(await core.slots.holder(of: "webcam") == nil)
            #expect(await state(core) == "streaming")
            #expect(!talking.isLost)
            talk.cancel()
            await talk.value
            #expect(await eventually { await state(core) == "orphaned" })
        }
        try await withCore(TestModel(), { $0.pingTimeout = nil }) { core in
            let client = try await RawClient(core)
            #expect(await client.waitUntilOpen())
            #expect(await eventually { await core.nextConnectionDeadline == nil })
        }
    }

    @Test("§3.1 a session that nobody comes to ends by itself, and the next one starts")
    func orphanTimeout() async throws {
        try await withCore(TestModel(), { $0.orphanTimeout = .milliseconds(50) }) { core in
            #expect(await eventually { await state(core) == "ready" })
            _ = try await core.startSession(sessionID: "another")
            #expect(await state(core) == "waiting")
        }
    }

    @Test("§8.5 a stop tells its reason, 64 characters of it; moderation outranks it; shutting down has words of its own")
    func notices() async throws {
        try await withCore { core in
            for (moderates, reason, expected) in [
                (false, String(repeating: "x", count: 100), ServerMessage.Content.sessionEnded(reason: String(repeating: "x", count: 64))),
                (true, "not told", RuntimeCore.endNotice(moderates: true, reason: "")),
            ] as [(Bool, String, ServerMessage.Content?)] {
                if await state(core) == "ready" { _ = try await core.startSession(sessionID: nil) }
                let client = try await RawClient(core)
                #expect(await client.waitUntilOpen())
                try await core.stopSession(moderates: moderates, reason: reason)
                #expect(await eventually { client.isLost })
                #expect(client.messages.map(\.content) == [try #require(expected)])
                #expect(client.messages.allSatisfy { $0.channel == .control && $0.requestID.isEmpty })
            }
            _ = try await core.startSession(sessionID: nil)
            let client = try await RawClient(core)
            #expect(await client.waitUntilOpen())
            await core.shutDown()
            #expect(await eventually { client.isLost })
            #expect(client.messages.map(\.content) == [.sessionEnded(reason: "Session ended: the server is shutting down.")])
            await #expect(throws: RouteFailure(503, "the runtime is terminated")) { try await core.startSession(sessionID: nil) }
            #expect(await core.health().isHealthy == false)
        }
    }

    @Test("§8.5 a model that ends its session, and is cancelled by that, still waits until the clients have heard why")
    func endFromWithin() async throws {
        let waited = Mutex<Duration?>(nil)
        let model = TestModel { session in
            let begin = ContinuousClock.now
            await session.end(reason: "that was all")
            waited.withLock { $0 = begin.duration(to: .now) }
        }
        let core = RuntimeCore(
            model: model, settings: RuntimeSettings(), network: NetworkShaper(NetworkConditions(delay: .milliseconds(60))))
        _ = try await core.startSession(sessionID: nil)
        let client = try await RawClient(core)
        #expect(await eventually { client.isLost })
        #expect(client.messages.map(\.content) == [.sessionEnded(reason: "that was all")])
        #expect(await eventually { waited.withLock { $0 } != nil })
        // There and back.
        #expect(try #require(waited.withLock { $0 }) >= .milliseconds(120))
        await core.shutDown()
    }

    @Test("A connection that is gone leaves nothing behind, however often it comes back")
    func manyReconnects() async throws {
        try await withCore { core in
            for _ in 0..<3 {
                let client = try await RawClient(core)
                #expect(await client.waitUntilOpen())
                await client.peer.close()
            }
            #expect(await eventually { await core.commandTaskCount == 0 })
        }
    }

    @Test("§6.4 a PUT replaces the connection: the old one is closed, its slots are free, the session streams on")
    func replacement() async throws {
        let events = Log()
        try await withCore(TestModel(), { $0.onTransition = { events.append($0.event) } }) { core in
            let first = try await RawClient(core)
            #expect(await first.waitUntilOpen())
            try await first.control(.publishTrack(name: "webcam"), id: "p", kind: .request)
            #expect(await first.reply("p") == .publishGranted)
            let second = try await RawClient(core, id: first.connectionID)
            #expect(await second.waitUntilOpen())
            #expect(await eventually { first.isLost })
            #expect(await eventually { await state(core) == "streaming" })
            #expect(await core.connectionCount == 1)
            #expect(await core.slots.holder(of: "webcam") == nil)
            #expect(events.all.filter { $0.hasPrefix("connection_") } == ["connection_opened", "connection_closed", "connection_opened"])
            let other = try await RawClient(core)
            #expect(await other.waitUntilOpen())
            try await other.control(.publishTrack(name: "webcam"), id: "p", kind: .request)
            #expect(await other.reply("p") == .publishGranted)
        }
    }

    @Test("§6.3 a slot is refused to others, granted again to its holder, and refused for names that clients do not send")
    func slots() async throws {
        try await withCore { core in
            let holder = try await RawClient(core)
            let other = try await RawClient(core)
            #expect(await holder.waitUntilOpen())
            #expect(await other.waitUntilOpen())
            func claim(_ client: RawClient, _ name: String, _ id: String) async throws -> ServerMessage.Content? {
                try await client.control(.publishTrack(name: name), id: id, kind: .request)
                return await client.reply(id)
            }
            func refusal(_ text: String) -> ServerMessage.Content { .error(ErrorMessage(code: "publish_refused", message: text)) }
            #expect(try await claim(holder, "webcam", "1") == .publishGranted)
            #expect(try await claim(holder, "webcam", "2") == .publishGranted)
            #expect(try await claim(other, "webcam", "3") == refusal("track already published"))
            #expect(try await claim(other, "main_video", "4") == refusal("unknown track 'main_video'"))
            try await other.control(.unpublishTrack(name: "webcam"))
            #expect(try await claim(other, "webcam", "5") == refusal("track already published"))
            await holder.peer.close()
            #expect(await eventually { await core.connectionCount == 1 })
            #expect(try await claim(other, "webcam", "6") == .publishGranted)
        }
    }
}

/// Texts from any thread.
final class Log: Sendable {
    private let entries = SharedList<String>()
    func append(_ text: String) { entries.append(text) }
    var all: [String] { entries.all }
}
